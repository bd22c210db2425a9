"""How well notes are recalled."""

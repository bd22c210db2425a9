"""How fast."""

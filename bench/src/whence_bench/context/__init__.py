"""How well symbols are ranked for a task."""

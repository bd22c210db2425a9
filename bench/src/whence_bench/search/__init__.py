"""How well files are ranked."""

"""How the page feels."""

"""Signals of a file, its path and the text of its units."""

"""Signals read off a file, its path, or the words of its units."""

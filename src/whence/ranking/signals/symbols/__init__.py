"""Signals of a symbol and its place in the graph."""

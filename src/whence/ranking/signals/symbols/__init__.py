"""Signals read off a symbol and its place in the graph."""

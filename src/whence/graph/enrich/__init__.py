"""Edges from outside the parser: language servers and traces."""

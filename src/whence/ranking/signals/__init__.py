"""Signals that rank code, one file each; memory has those that rank notes."""

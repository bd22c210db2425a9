"""Signals that rank notes, one file each."""

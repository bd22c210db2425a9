"""Signals that rank code, one file each; those of notes live with memory."""

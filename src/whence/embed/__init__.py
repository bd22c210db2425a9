"""Encoders: text in, vectors out."""

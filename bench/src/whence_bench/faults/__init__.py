"""Fault injection: kills, corruption, crowds, fuzzing."""

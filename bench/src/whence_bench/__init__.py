"""Benchmarks of whence."""

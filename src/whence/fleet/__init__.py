"""Search over many repositories on a distributed engine."""

"""Job 1: ranked code search."""

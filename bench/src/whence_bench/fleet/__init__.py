"""Many repositories on one engine."""

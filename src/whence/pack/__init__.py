"""What fits? What of a result is shown."""

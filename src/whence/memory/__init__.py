"""Job 3: notes that are remembered and recalled."""

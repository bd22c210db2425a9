"""Which units could answer? Each retriever adds candidates with its own raw score."""

"""Which units could answer: term statistics and the retrievers that search and context share."""

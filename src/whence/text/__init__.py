"""Text as such: tokens, stop words, BM25, dates, secrets, injected instructions."""

"""Candidates for an answer: term statistics, filters, and the retrievers that search and context share."""

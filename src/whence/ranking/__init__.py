"""Ranking of candidates: the pool, the signals, and the ledger that they fill."""

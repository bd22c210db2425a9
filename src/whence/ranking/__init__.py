"""Which candidate comes first: the pool, the ledger and the signals that fill it."""

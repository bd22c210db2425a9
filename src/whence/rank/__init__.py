"""Which comes first, and why? Signals write a ledger; the score is what the ledger adds up to."""

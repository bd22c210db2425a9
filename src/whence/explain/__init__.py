"""Why this, why not that? Reads the ledger of an answer; never searches in another way."""

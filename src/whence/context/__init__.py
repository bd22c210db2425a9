"""Job 2: a token-budgeted pack of the symbols a task needs."""

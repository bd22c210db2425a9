"""What every front end shares: the index as one object, sessions, presenters, budgets."""

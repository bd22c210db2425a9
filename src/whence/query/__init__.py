"""What a query asks: operators, paste cleanup, the plan."""

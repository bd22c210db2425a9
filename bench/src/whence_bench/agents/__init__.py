"""What an agent pays."""

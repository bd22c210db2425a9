"""What use taught: verdicts, sessions, learned vocabulary."""

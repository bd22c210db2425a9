"""What did use teach? Kept beside the index and apart from it, and switched off by one setting."""

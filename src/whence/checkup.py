"""Whether everything here works, and how well it finds."""

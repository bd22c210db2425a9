"""Whether everything here works, and how well it finds. Nothing is repaired by looking at it."""

"""Following a tree: what changed is taken in as it happens."""

"""What is near? Walks and paths over a compact adjacency."""

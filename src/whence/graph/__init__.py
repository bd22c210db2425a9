"""The symbol graph: how edges are built, and the questions it answers."""

"""Import rules, one module per language family."""

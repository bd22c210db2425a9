"""Values, errors, settings and ranking profiles that every room may use."""

"""The page: `whence ui`."""

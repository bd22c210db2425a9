"""Which files are there? Walking, ignore rules, decoding, and what git knows."""

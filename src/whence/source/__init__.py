"""Which files are there: walking, ignore rules, decoding, git."""

"""The classic rules (K, N, W, S): keywords, channels, seeds, walk."""

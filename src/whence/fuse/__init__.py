"""What do the retrievers say together? One pool of candidates, raw scores kept."""

"""What a server answers from: a desk for each folder."""

"""What was known before? Notes as Markdown files, and the index over them."""

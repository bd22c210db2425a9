"""What is in a file: its language, units, references and endpoints."""

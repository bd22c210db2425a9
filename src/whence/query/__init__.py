"""What is asked? A query's words, their weight, and what kind of question it is."""

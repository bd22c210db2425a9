"""What is in the files? Languages, units of code, and the words they are made of."""

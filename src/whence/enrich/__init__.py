"""What do others know of it? Language servers and running programs, as edges between symbols."""

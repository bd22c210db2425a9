"""How is it kept? The truth in SQLite, and derived files of one snapshot beside it."""

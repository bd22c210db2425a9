"""Files on disk: SQLite, array files, postings, atomic writes, locks."""

"""The floor that recall is held against: plain full-text search of SQLite over the same notes, in a process of its own.

`python -m whence_bench.memory.peer DATABASE QUESTION` loads nothing but what such a search needs.
"""

from __future__ import annotations

import re
import sqlite3
import sys
from collections.abc import Iterable

_WORD = re.compile(r"\w+")
_MAKE = "CREATE VIRTUAL TABLE notes USING fts5(key UNINDEXED, project UNINDEXED, text, tokenize = 'porter unicode61')"
_ASK = "SELECT key FROM notes WHERE notes MATCH ? ORDER BY bm25(notes) LIMIT ?"
_ASK_PROJECT = "SELECT key FROM notes WHERE notes MATCH ? AND project = ? ORDER BY bm25(notes) LIMIT ?"


def make(path: str, notes: Iterable[tuple[str, str, str]]) -> None:
    """A table of (key, project, text)."""
    db = sqlite3.connect(path)
    with db:
        db.execute(_MAKE)
        db.executemany("INSERT INTO notes VALUES (?, ?, ?)", notes)
    db.close()


def ask(db: sqlite3.Connection, words: Iterable[str], count: int, project: str = "") -> list[str]:
    """The keys of the notes that hold any of the words, by BM25."""
    wanted = " OR ".join(f'"{word}"' for word in words)
    if not wanted:
        return []
    found = db.execute(_ASK_PROJECT, (wanted, project, count)) if project else db.execute(_ASK, (wanted, count))
    return [key for (key,) in found]


if __name__ == "__main__":
    for found in ask(sqlite3.connect(sys.argv[1]), _WORD.findall(sys.argv[2]), 10):
        print(found)

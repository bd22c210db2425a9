"""The tables of the truth. Every row carries its checksum, which the database works out when it is written.

SQLite has no checksums of its own: a flipped bit inside a value would be read as another value.
"""

from __future__ import annotations

import sqlite3
import zlib
from typing import Any

_STATE = "size INTEGER, mtime_ns INTEGER, ctime_ns INTEGER, inode INTEGER, asked_ns INTEGER"
_STAMP = "size INTEGER NOT NULL, checksum INTEGER NOT NULL, mtime_ns INTEGER NOT NULL, inode INTEGER NOT NULL"
_SEEN = "confidence REAL NOT NULL, line INTEGER NOT NULL, seen REAL NOT NULL, count INTEGER NOT NULL"
#: Each table: its columns, and those that are its key.
_TABLES = {
    "meta": ("key TEXT, value TEXT NOT NULL", "key"),
    "segments": (f"id INTEGER, name TEXT NOT NULL, files INTEGER NOT NULL, bytes INTEGER NOT NULL, {_STAMP}", "id"),
    "vectors": (f"segment INTEGER, model TEXT NOT NULL, name TEXT NOT NULL, {_STAMP}", "segment"),
    "files": (f"path BLOB, {_STATE}, hash BLOB, reason TEXT, language TEXT, segment INTEGER, row INTEGER, hidden INTEGER", "path"),
    # Rows of segments that are no longer what is on disk; should it be again, they are taken back.
    "dead": ("segment INTEGER, row INTEGER, path BLOB, hash BLOB, language TEXT", "segment, row"),
    "places": (f"path BLOB, kind TEXT NOT NULL, {_STATE}", "path"),
    "skipped": ("path BLOB, reason TEXT NOT NULL", "path"),
    "edges": (
        f"path BLOB, provenance TEXT, source TEXT, target TEXT, kind TEXT, {_SEEN}",
        "path, provenance, source, target, kind",
    ),
}
TABLES = frozenset(_TABLES)


def names_of(columns: str) -> str:
    """The names of columns, as a table is described by them."""
    return ", ".join(column.split()[0] for column in columns.split(","))


def with_checksum(columns: str) -> str:
    """Columns of a table, and one more for the checksum of all of them."""
    return f"{columns}, row_sum INTEGER GENERATED ALWAYS AS (row_sum({names_of(columns)})) STORED"


def altered_rows(db: sqlite3.Connection, table: str, columns: str) -> list[str]:
    """That rows of a table are not what was written, where some are not."""
    sql = f"SELECT count(*) FROM {table} WHERE row_sum IS NOT row_sum({names_of(columns)})"  # noqa: S608  -- names of our own tables
    (wrong,) = db.execute(sql).fetchone()
    return [f"{wrong} of the rows of {table} are not what was written"] if wrong else []


SCHEMA = (
    "".join(
        f"CREATE TABLE IF NOT EXISTS {name} ({with_checksum(columns)}, PRIMARY KEY ({key})) WITHOUT ROWID;\n"
        for name, (columns, key) in _TABLES.items()
    )
    + "CREATE INDEX IF NOT EXISTS dead_paths ON dead (path);\n"
)


def add_checksums(db: sqlite3.Connection) -> None:
    """Teach a connection how the checksum of a row is made."""
    db.create_function("row_sum", -1, _row_sum, deterministic=True)


def _row_sum(*values: Any) -> int:
    return zlib.crc32(repr(values).encode("utf-8", "surrogatepass"))


def is_sound(table: str) -> str:
    """The condition that a row of a table is what was written."""
    return f"row_sum IS row_sum({names_of(_TABLES[table][0])})"


def trouble_in(db: sqlite3.Connection) -> list[str]:
    """What is wrong with a database: its pages, its rows, and whether they fit together."""
    found = [" ".join(text.split()) for (text,) in db.execute("PRAGMA integrity_check(3)") if text != "ok"]
    for name, (columns, _) in _TABLES.items():
        found += altered_rows(db, name, columns)
    uncovered = db.execute(
        "SELECT count(*) FROM segments AS s WHERE files != (SELECT count(*) FROM files WHERE segment = s.id AND row >= 0)"
        " + (SELECT count(*) FROM dead WHERE segment = s.id)"
    ).fetchone()[0]
    return found + ([f"{uncovered} segments hold files that nothing lists"] if uncovered else [])

"""Databases looked at from outside: whether one is whole, without opening it as whence does, which would mend it."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from whence.index.schema import add_checksums

#: A writer that is at work is waited for so long.
BUSY_SECONDS = 2.0
#: Lines of trouble that SQLite lists at most.
MOST_TROUBLE = 5
#: The column that holds the checksum of a row.
CHECKSUM = "row_sum"


@dataclass(frozen=True, slots=True)
class Checked:
    """What SQLite says of a file: nothing when it is whole; whether it was only busy."""

    trouble: str = ""
    busy: bool = False


def check_database(path: Path) -> Checked:
    """Whether a database is whole. One that is being written is not taken for a damaged one."""
    before = _state(path)
    found = _checked(path)
    if found.trouble and _state(path) != before:  # a writer came by: what was read was neither the old nor the new
        found = _checked(path)
    return found


def _checked(path: Path) -> Checked:
    if not path.is_file():
        return Checked("it is no file")
    if not path.stat().st_size:
        return Checked("it is empty")
    try:
        with opened(path) as db:
            add_checksums(db)
            said = [str(text) for (text,) in db.execute(f"PRAGMA integrity_check({MOST_TROUBLE})")]
            trouble = list(_altered_rows(db)) if said == ["ok"] else said
    except sqlite3.OperationalError as error:
        return Checked(str(error), busy="locked" in str(error) or "busy" in str(error))
    except UnicodeDecodeError:
        return Checked("it holds what is no text")
    except sqlite3.Error as error:
        return Checked(str(error))
    return Checked("; ".join(trouble))


def _altered_rows(db: sqlite3.Connection) -> Iterator[str]:
    """Tables with rows that are not what was written, as far as their rows have checksums: SQLite takes a flipped bit for a value."""
    for (table,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'").fetchall():
        columns = [(row[1], row[6]) for row in db.execute(f'PRAGMA table_xinfo("{table}")')]
        if any(name == CHECKSUM and hidden for name, hidden in columns):
            summed = ", ".join(f'"{name}"' for name, hidden in columns if not hidden)
            wrong = db.execute(f'SELECT count(*) FROM "{table}" WHERE {CHECKSUM} IS NOT row_sum({summed})').fetchone()[0]  # noqa: S608
            if wrong:
                yield f"{wrong} of the rows of {table} are not what was written"


@contextmanager
def opened(path: Path) -> Iterator[sqlite3.Connection]:
    """A database, to be read only, for a while."""
    with closing(connected(path)) as db:
        yield db


def connected(path: Path) -> sqlite3.Connection:
    """A database, to be read only. What a writer has in its log is seen where there is a log that can be read; it stays there."""
    address = f"file:{''.join(f'%{byte:02X}' for byte in os.fsencode(path))}"
    if has_log(path):
        db = _connection(f"{address}?mode=ro")
        try:
            db.execute("SELECT count(*) FROM sqlite_master").fetchone()
            return db
        except (sqlite3.Error, UnicodeDecodeError) as error:
            db.close()
            if "unable to open" not in str(error) and "readonly" not in str(error):
                raise  # else nothing can be written here, and so no log be opened
    return _connection(f"{address}?mode=ro&immutable=1")


def has_log(path: Path) -> bool:
    """Whether a writer left something that is not in the database itself yet: one at work, or one that was killed."""
    try:
        return path.with_name(path.name + "-wal").stat().st_size > 0
    except OSError:
        return False


def _connection(address: str) -> sqlite3.Connection:
    return sqlite3.connect(address, uri=True, timeout=BUSY_SECONDS, isolation_level=None)


def _state(path: Path) -> tuple[int, int, int, bool]:
    found = path.stat()
    return found.st_size, found.st_mtime_ns, found.st_ino, has_log(path)

"""The tables of the truth. Every row carries its checksum, which the database works out when it is written.

SQLite has no checksums of its own: a flipped bit inside a value would be read as another value.
"""

from __future__ import annotations

import os
import sqlite3
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import RLock
from typing import Any, TypeVar

from whence.core.errors import IndexBusy, IndexDamaged, StorageError

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


def column_names(columns: str) -> str:
    """The names of columns, as a table is described by them."""
    return ", ".join(column.split()[0] for column in columns.split(","))


def with_checksum(columns: str) -> str:
    """Columns of a table, and one more for the checksum of all of them."""
    return f"{columns}, row_sum INTEGER GENERATED ALWAYS AS (row_sum({column_names(columns)})) STORED"


def altered_rows(db: sqlite3.Connection, table: str, columns: str) -> list[str]:
    """That rows of a table are not what was written, where some are not."""
    sql = f"SELECT count(*) FROM {table} WHERE row_sum IS NOT row_sum({column_names(columns)})"  # noqa: S608  -- names of our own tables
    (wrong,) = db.execute(sql).fetchone()
    return [f"{wrong} of the rows of {table} are not what was written"] if wrong else []


SCHEMA = (
    "".join(
        f"CREATE TABLE IF NOT EXISTS {name} ({with_checksum(columns)}, PRIMARY KEY ({key})) WITHOUT ROWID;\n"
        for name, (columns, key) in _TABLES.items()
    )
    + "CREATE INDEX IF NOT EXISTS dead_paths ON dead (path);\n"
)


def register_row_sum(db: sqlite3.Connection) -> None:
    """Teach a connection how the checksum of a row is made."""
    db.create_function("row_sum", -1, _row_sum, deterministic=True)


def _row_sum(*values: Any) -> int:
    return zlib.crc32(repr(values).encode("utf-8", "surrogatepass"))


def is_sound(table: str) -> str:
    """The condition that a row of a table is what was written."""
    return f"row_sum IS row_sum({column_names(_TABLES[table][0])})"


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


BUSY_SECONDS = 10.0
#: Connections that came with a process that was split off: to close them is for the process that opened them.
_HANDED_ON: list[sqlite3.Connection] = []
_T = TypeVar("_T")
_PLAIN = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/._-")


class Database:
    """An open database. A process that is split off opens its own; threads take turns."""

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        self.path, self.read_only = path, read_only
        self._handed_on = 0  # how often a process was split off, from here back to the first
        self._open()

    def _open(self) -> None:
        """Open the file, and make what it should hold where it is new."""
        self._process, self._alone = os.getpid(), RLock()  # threads may share it, and take turns
        _check_kinds(self.path)
        try:
            self._opened = self._connected()
            register_row_sum(self._db)
            new = not self._check_tables()
            if not self.read_only:
                self._db.execute("PRAGMA journal_mode = WAL")
                self._db.execute("PRAGMA synchronous = NORMAL")
            if new and not self.read_only:  # all tables at once: another process must never see some of them
                self._db.executescript(f"BEGIN IMMEDIATE; {SCHEMA} COMMIT;")
            self._db.execute("SELECT 1 FROM meta LIMIT 1").fetchone()
            self._file = _file_of(self.path)
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise storage_error(self.path, error) from error

    def _connected(self) -> sqlite3.Connection:
        mode = "ro&immutable=1" if self.read_only else "rwc"  # a log cannot be opened where nothing can be written
        address = f"file:{_quoted(os.fsencode(self.path))}?mode={mode}"
        if not self.read_only:
            _make_private(self.path)
        return sqlite3.connect(address, uri=True, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)

    def _check_tables(self) -> bool:
        """Whether the tables are there; a database has all of them or, when it is new, none."""
        found = {name for (name,) in self._db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if found and not found >= TABLES:
            raise IndexDamaged(f"{self.path.name} is damaged: it lacks {', '.join(sorted(TABLES - found))}")
        return bool(found)

    @property
    def _db(self) -> sqlite3.Connection:
        """The database, opened by this very process: one that was split off has its parent's files, but none of its locks."""
        if self._process != os.getpid():
            _HANDED_ON.append(self._opened)
            self._handed_on += 1
            self._open()
        return self._opened

    def close(self) -> None:
        """Let go of the file."""
        if self._process == os.getpid():
            self._opened.close()

    def is_current(self) -> bool:
        """Whether the file of its name is still the one that is open here: another process may have made it anew."""
        return self._file is not None and self._file == _file_of(self.path)

    def changes(self) -> int:
        """A number that moves when another process has written the database."""
        return int(self._rows("PRAGMA data_version")[0][0]) + (self._handed_on << 40)  # each connection counts for itself

    def own_changes(self) -> int:
        """A number that moves when this process has written the database."""
        return self._db.total_changes

    @contextmanager
    def read_transaction(self) -> Iterator[None]:
        """See one moment of the database, whatever others write meanwhile."""
        with self._alone:
            self._rows("BEGIN")
            try:
                yield
            finally:
                self._rows("COMMIT")

    def read_consistently(self, read: Callable[[], _T]) -> _T:
        """Read from one moment of the database and from the files that it lists.

        A file that is missing is no damage where another process wrote meanwhile, which removes what it has replaced.
        """
        while True:
            moment = self.changes()
            try:
                with self.read_transaction():
                    return read()
            except IndexDamaged:
                if self.changes() == moment:
                    raise

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All or nothing."""
        with self._alone:
            try:
                self._db.execute("BEGIN IMMEDIATE")
                try:
                    yield
                except BaseException:
                    self._db.execute("ROLLBACK")
                    raise
                self._db.execute("COMMIT")
            except (sqlite3.Error, UnicodeDecodeError) as error:
                raise storage_error(self.path, error) from error

    def _rows(self, sql: str, values: Iterable[Any] = ()) -> list[Any]:
        try:
            with self._alone:
                return self._db.execute(sql, tuple(values)).fetchall()
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise storage_error(self.path, error) from error


def _file_of(path: Path) -> tuple[int, int] | None:
    """Which file bears a name; None when there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _check_kinds(path: Path) -> None:
    """A database and its log are files: to open a FIFO is to wait for its writer, and a link leads anywhere."""
    if path.exists() and not path.is_file():
        raise StorageError(f"{path} is no file", hint="move it away; the index is made again")
    for log in (path.with_name(f"{path.name}-wal"), path.with_name(f"{path.name}-shm")):
        if os.path.lexists(log) and (log.is_symlink() or not log.is_file()):
            raise StorageError(f"{log} is no file", hint="move it away")


def _make_private(path: Path) -> None:
    """A database is its owner's alone, and so are the files that SQLite makes beside it.

    One that is there is not opened: to close it would take away the locks that SQLite holds on it in this process.
    """
    with suppress(OSError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))


def _quoted(path: bytes) -> str:
    """A path for a file: address, without loading a library for it."""
    return "".join(chr(byte) if chr(byte) in _PLAIN else f"%{byte:02X}" for byte in path)


def storage_error(path: Path, error: sqlite3.Error | UnicodeDecodeError) -> StorageError:
    """What SQLite says, told apart by what can be done about it; it may quote what is damaged, which is no text then."""
    text = str(error)
    if isinstance(error, UnicodeDecodeError):
        return IndexDamaged(f"{path.name} is damaged: it holds what is no text")
    if "locked" in text or "busy" in text:  # by another program: ours wait for one another, and none holds it for long
        return IndexBusy(f"{path.name} is in use by another process: {text}", hint="try again; nothing was changed")
    signs = ("malformed", "not a database", "no such", "has no column", "decode", "user-defined function")
    if isinstance(error, sqlite3.DatabaseError) and any(sign in text for sign in signs):
        return IndexDamaged(f"{path.name} is damaged: {text}")
    hint = (
        "free some space and run it again"
        if "full" in text
        else "set WHENCE_DATA_DIR to a folder you can write to"
        if "readonly" in text or "unable to open" in text
        else ""
    )
    return StorageError(f"{path}: {text}", hint=hint)

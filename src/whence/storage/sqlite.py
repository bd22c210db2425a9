"""SQLite as every store here uses it: checksums on rows, private files, one error for each thing a user can do about it.

SQLite has no checksums of its own: without them a flipped bit inside a value would be read as another value.
"""

from __future__ import annotations

import os
import sqlite3
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import RLock
from typing import Any, TypeVar

from whence.core.errors import IndexBusy, IndexDamaged, StorageError

BUSY_SECONDS = 10.0
#: Fewer values than any SQLite accepts in one statement.
VALUES_AT_ONCE = 500
CHECKSUM = "row_sum"
#: Connections inherited from a parent process. They are kept, not closed: closing is up to the parent.
_INHERITED: list[sqlite3.Connection] = []
_T = TypeVar("_T")
_PLAIN = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/._-")
_DAMAGE = ("malformed", "not a database", "no such", "has no column", "decode", "user-defined function")

SqliteError = sqlite3.Error | UnicodeDecodeError  # SQLite quotes damaged values, which need not be text
SQLITE_ERRORS = (sqlite3.Error, UnicodeDecodeError)


# Tables whose rows have checksums.
def column_names(columns: str) -> str:
    """The names in a list of column definitions."""
    return ", ".join(column.split()[0] for column in columns.split(","))


def with_checksum(columns: str) -> str:
    """Column definitions, plus a generated column with the checksum of all of them."""
    return f"{columns}, {CHECKSUM} INTEGER GENERATED ALWAYS AS ({CHECKSUM}({column_names(columns)})) STORED"


def schema_of(tables: Mapping[str, tuple[str, str]], indexes: Mapping[str, str]) -> tuple[str, ...]:
    """The statements that create tables and indexes. A table is its columns and the end of its definition, constraints first."""
    return (
        *(f"CREATE TABLE IF NOT EXISTS {name} ({with_checksum(columns)}, {end}" for name, (columns, end) in tables.items()),
        *(f"CREATE INDEX IF NOT EXISTS {name} ON {what}" for name, what in indexes.items()),
    )


def register_row_sum(db: sqlite3.Connection) -> None:
    """Give a connection the function that computes the checksum of a row."""
    db.create_function(CHECKSUM, -1, lambda *values: zlib.crc32(repr(values).encode("utf-8", "surrogatepass")), deterministic=True)


def altered_rows(db: sqlite3.Connection, table: str, columns: str) -> list[str]:
    """A line that says how many rows of a table do not match their checksums; nothing when all do."""
    sql = f"SELECT count(*) FROM {table} WHERE {CHECKSUM} IS NOT {CHECKSUM}({column_names(columns)})"  # noqa: S608  -- our own tables
    (wrong,) = db.execute(sql).fetchone()
    return [f"{wrong} rows of {table} do not match their checksums"] if wrong else []


class Database:
    """An open database. Threads take turns; a forked process opens a connection of its own."""

    def __init__(
        self, path: Path, schema: tuple[str, ...], *, read_only: bool = False, create: bool = True, version: int | None = None
    ) -> None:
        """Open a file; `version` is the highest `user_version` that can be read, where the store numbers its formats so."""
        self.path, self.read_only = path, read_only
        self._schema, self._create, self._version = schema, create, version
        self._forks = 0  # how many forks lie between the first process and this one
        self._open()

    def _open(self) -> None:
        """Connect, and create the tables of a new database."""
        self._process, self._lock = os.getpid(), RLock()
        _check_kinds(self.path)
        with self.errors():
            if self._create and not self.read_only:
                _create_private(self.path)
            self._connection = self._connect()
            try:
                self._prepare()
            except BaseException:
                self._connection.close()
                raise
            self._file = _identity(self.path)

    def _connect(self) -> sqlite3.Connection:
        # Without write access the log cannot be opened; `immutable` reads the database without it.
        return connect(self.path, "ro&immutable=1" if self.read_only else "rwc" if self._create else "rw")

    def _prepare(self) -> None:
        db, tables = self._connection, [statement.split()[5] for statement in self._schema if statement.startswith("CREATE TABLE")]
        if self._version is not None and (written := db.execute("PRAGMA user_version").fetchone()[0]) > self._version:
            raise StorageError(f"{self.path.name} was written by a newer whence (format {written})", hint="update whence")
        found = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if missing := set(tables) - found if found or not self._create else None:
            raise IndexDamaged(f"{self.path.name} is damaged: it lacks {', '.join(sorted(missing))}")
        if not self.read_only:
            with _unless_busy():  # another process is opening it too; whoever comes next may be alone
                db.execute("PRAGMA journal_mode = WAL")
            if not found:  # all tables at once: no other process may ever see only some of them
                db.executescript(";\n".join(("BEGIN IMMEDIATE", *self._schema, "COMMIT;")))
        db.execute(f"SELECT 1 FROM {tables[0]} LIMIT 1").fetchone()  # noqa: S608  -- a name from our own schema

    @property
    def _db(self) -> sqlite3.Connection:
        """This process's connection. A forked process has its parent's file handles, but none of its locks."""
        if self._process != os.getpid():
            _INHERITED.append(self._connection)
            self._forks += 1
            self._open()
        return self._connection

    def close(self) -> None:
        """Close the connection."""
        if self._process == os.getpid():
            self._connection.close()

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Raise SQLite's errors as `IndexBusy`, `IndexDamaged` or another `StorageError`."""
        try:
            yield
        except SQLITE_ERRORS as error:
            raise storage_error(self.path, error) from error

    def is_current(self) -> bool:
        """Whether the path still names the file that is open: another process may have replaced it."""
        return self._file is not None and self._file == _identity(self.path)

    def changes(self) -> int:
        """A number that changes when another process has written to the database."""
        return int(self.rows("PRAGMA data_version")[0][0]) + (self._forks << 40)  # each connection counts for itself

    def own_changes(self) -> int:
        """A number that changes when this process has written to the database."""
        return self._db.total_changes

    def rows(self, sql: str, values: Iterable[Any] = ()) -> list[Any]:
        """All rows of a query."""
        with self.errors(), self._lock:
            return self._db.execute(sql, tuple(values)).fetchall()

    def rows_in(self, sql: str, values: Sequence[Any]) -> list[Any]:
        """The rows of a query for many values; `{}` marks where they go."""
        chunks = (values[at : at + VALUES_AT_ONCE] for at in range(0, len(values), VALUES_AT_ONCE))
        return [row for chunk in chunks for row in self.rows(sql.format(",".join("?" * len(chunk))), chunk)]

    def find_damage(self, tables: Mapping[str, tuple[str, str]]) -> list[str]:
        """What is wrong with the pages of the database, and with the rows of some tables; nothing when all is well."""
        with self.errors(), self._lock:
            found = [" ".join(text.split()) for (text,) in self.rows("PRAGMA integrity_check(3)") if text != "ok"]
            return found + [line for name, (columns, _) in tables.items() for line in altered_rows(self._db, name, columns)]

    @contextmanager
    def read_transaction(self) -> Iterator[None]:
        """See one state of the database, whatever others write meanwhile."""
        with self._lock:
            self.rows("BEGIN")
            try:
                yield
            finally:
                self.rows("COMMIT")

    def read_consistently(self, read: Callable[[], _T]) -> _T:
        """Read one state of the database together with the files it lists.

        A missing file is damage only if nobody wrote meanwhile: a writer removes the files that it replaces.
        """
        while True:
            before = self.changes()
            try:
                with self.read_transaction():
                    return read()
            except IndexDamaged:
                if self.changes() == before:
                    raise

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Write all or nothing, with no other process in between."""
        with self._lock, self.errors():
            db = self._db
            db.execute("BEGIN IMMEDIATE")
            try:
                yield db
            except BaseException:
                if db.in_transaction:
                    db.execute("ROLLBACK")
                raise
            db.execute("COMMIT")

    def checkpoint(self) -> None:
        """Move the log into the database: SQLite silently ignores the damaged end of a log. Skipped while another process reads."""
        with self._lock, self.errors():
            self._db.execute("PRAGMA busy_timeout = 0")
            try:
                with _unless_busy():
                    self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            finally:
                self._db.execute(f"PRAGMA busy_timeout = {int(BUSY_SECONDS * 1000)}")


def connect(path: Path, mode: str) -> sqlite3.Connection:
    """A connection whose transactions are explicit; `mode` is SQLite's: rwc, rw or ro."""
    quoted = "".join(chr(byte) if chr(byte) in _PLAIN else f"%{byte:02X}" for byte in os.fsencode(path))  # without loading a library
    address = f"file:{quoted}?mode={mode}"
    db = sqlite3.connect(address, uri=True, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    try:
        register_row_sum(db)
        db.execute("PRAGMA synchronous = NORMAL")
        db.execute("PRAGMA foreign_keys = ON")
    except SQLITE_ERRORS:
        db.close()
        raise
    return db


def _identity(path: Path) -> tuple[int, int] | None:
    """The device and inode behind a path; None when there is no file."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _check_kinds(path: Path) -> None:
    """Refuse a database or log that is not a regular file: opening a FIFO waits for its writer, and a link leads anywhere."""
    if path.exists() and not path.is_file():
        raise StorageError(f"{path} is not a regular file", hint="move it away; the index is rebuilt")
    for log in (path.with_name(f"{path.name}-wal"), path.with_name(f"{path.name}-shm")):
        if os.path.lexists(log) and (log.is_symlink() or not log.is_file()):
            raise StorageError(f"{log} is not a regular file", hint="move it away")


def _create_private(path: Path) -> None:
    """Create a database readable by its owner only; SQLite gives its log the same mode.

    An existing file is left alone: opening and closing it would drop the locks SQLite holds on it in this process.
    """
    with suppress(OSError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))


# What SQLite's errors mean.
@contextmanager
def _unless_busy() -> Iterator[None]:
    """Run something that may be left undone while another process uses the database."""
    try:
        yield
    except sqlite3.OperationalError as error:
        if not is_busy(error):
            raise


def is_busy(error: SqliteError) -> bool:
    """Whether another program has the database locked. Our own processes wait for one another, and hold it briefly."""
    return "locked" in str(error) or "busy" in str(error)


def is_damage(error: BaseException | None) -> bool:
    """Whether the file itself is at fault, rather than being busy, read-only or on a full disk."""
    if isinstance(error, UnicodeDecodeError) or type(error) is sqlite3.DatabaseError:
        return True
    return isinstance(error, sqlite3.DatabaseError) and any(sign in str(error) for sign in _DAMAGE)


def is_denied(error: BaseException | None) -> bool:
    """Whether the file cannot be written or opened at all."""
    return "readonly" in str(error) or "unable to open" in str(error)


def storage_error(path: Path, error: SqliteError) -> StorageError:
    """SQLite's error as one of ours."""
    if is_damage(error):
        text = "a text in it is not UTF-8" if isinstance(error, UnicodeDecodeError) else " ".join(str(error).split())
        return IndexDamaged(f"{path.name} is damaged: {text}")
    if is_busy(error):
        return IndexBusy(f"{path} is in use by another process: {error}", hint="try again; nothing was changed")
    if "full" in str(error):
        return StorageError(f"{path}: {error}", hint="free some space and run it again")
    return StorageError(f"{path}: {error}", hint="set WHENCE_DATA_DIR to a folder you can write to" if is_denied(error) else "")

"""What use taught, on disk: one database for each index, which no rebuild touches (L6).

It appears with the first write, readable by its owner only. Reading where there
is none costs a look at the folder and creates nothing.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from threading import RLock
from typing import Any

from whence.errors import StorageError

FILE_NAME = "learned.db"
FORMAT = 1
BUSY_SECONDS = 10.0
#: Below the number of values that every SQLite takes in one statement.
VALUES_AT_ONCE = 500
TABLES = ("records", "keywords", "pending", "accesses")

_SCHEMA = f"""
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS records (
    id INTEGER PRIMARY KEY, symbol BLOB NOT NULL, useful INTEGER NOT NULL, root BLOB NOT NULL, task BLOB NOT NULL,
    at REAL NOT NULL, seen INTEGER NOT NULL, UNIQUE (symbol, root, useful, task, at, seen));
CREATE TABLE IF NOT EXISTS keywords (
    keyword BLOB NOT NULL, record INTEGER NOT NULL REFERENCES records ON DELETE CASCADE, PRIMARY KEY (keyword, record)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS keywords_by_record ON keywords (record);
CREATE TABLE IF NOT EXISTS pending (
    session BLOB NOT NULL, symbol BLOB NOT NULL, root BLOB NOT NULL, task BLOB NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL,
    at REAL NOT NULL, used INTEGER NOT NULL, PRIMARY KEY (session, symbol)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS accesses (id INTEGER PRIMARY KEY, session BLOB NOT NULL, symbol BLOB NOT NULL, at REAL NOT NULL);
CREATE INDEX IF NOT EXISTS accesses_by_session ON accesses (session, symbol, at);
PRAGMA user_version = {FORMAT};
COMMIT;
"""


def stored(text: str) -> bytes:
    """Text as it is kept: names of files need not be Unicode, and SQLite's own text must be."""
    return text.encode("utf-8", "surrogatepass")


def loaded(kept: bytes) -> str:
    """The reverse of `stored`."""
    return kept.decode("utf-8", "surrogatepass")


class Learned:
    """The database of what use taught about one index. Several processes and threads may write it at once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._db: sqlite3.Connection | None = None
        self._file = (0, 0)  # which file is open, as device and inode
        self._lock = RLock()

    @classmethod
    def beside(cls, directory: Path) -> Learned:
        """The one that lies in the folder of an index."""
        return cls(directory / FILE_NAME)

    def close(self) -> None:
        """Let go of the file; a later call opens it again."""
        with self._lock:
            if self._db is not None:
                self._db.close()
                self._db = None

    def rows(self, sql: str, values: Iterable[Any] = ()) -> list[Any]:
        """What a query finds; nothing where nothing was ever learned."""
        with self._lock, self._explained():
            db = self._opened(create=False)
            return [] if db is None else db.execute(sql, tuple(values)).fetchall()

    def rows_of(self, symbols: Iterable[str], sql: Callable[[str], str]) -> list[Any]:
        """What a query finds for some symbols; `sql` is given their placeholders."""
        kept = [stored(symbol) for symbol in symbols]
        found: list[Any] = []
        for start in range(0, len(kept), VALUES_AT_ONCE):
            chunk = kept[start : start + VALUES_AT_ONCE]
            found += self.rows(sql(",".join("?" * len(chunk))), chunk)
        return found

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Write: all or nothing, and no other process in between."""
        with self._lock, self._explained():
            db = self._opened(create=True)
            assert db is not None
            db.execute("BEGIN IMMEDIATE")
            try:
                yield db
            except BaseException:
                if db.in_transaction:
                    db.execute("ROLLBACK")
                raise
            db.execute("COMMIT")

    def reset(self) -> None:
        """Forget everything, and leave nothing of it in the file. One that is damaged is removed."""
        if not self.path.exists():
            return
        try:
            with self.transaction() as db:
                db.execute("PRAGMA secure_delete = ON")
                for table in TABLES:
                    db.execute(f"DELETE FROM {table}")  # noqa: S608  -- names from the list above
            self.compact()
        except StorageError as trouble:
            if not _is_damage(trouble.__cause__):
                raise
            self.close()
            for path in (self.path, *(self.path.with_name(f"{self.path.name}-{end}") for end in ("wal", "shm"))):
                path.unlink(missing_ok=True)

    def compact(self) -> None:
        """Give back space, so that what was deleted is in no file."""
        with self._lock, self._explained():
            db = self._opened(create=False)
            if db is not None:
                db.execute("VACUUM")
                db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    # Opening.
    def _opened(self, *, create: bool) -> sqlite3.Connection | None:
        """The database as it lies on disk now: another process may have removed or made it."""
        file = self._on_disk()
        if self._db is not None and file != self._file:
            self.close()
        if file is None:
            if not create:
                return None
            self._create()
        if self._db is None:
            self._db, self._file = self._connected(), self._on_disk() or (0, 0)
        if _format_of(self._db) == 0:  # an empty file, as a full disk leaves behind
            if not create:
                return None
            self._db.executescript(_SCHEMA)
        return self._db

    def _on_disk(self) -> tuple[int, int] | None:
        try:
            found = os.stat(self.path)  # noqa: PTH116  -- asked before every query
        except (FileNotFoundError, NotADirectoryError):
            return None
        return found.st_dev, found.st_ino

    def _connected(self) -> sqlite3.Connection:
        try:
            db = _connection(self.path, "rw")
        except sqlite3.OperationalError as error:
            if not _is_refusal(error):
                raise
            db = _connection(self.path, "ro&immutable=1")  # a log cannot be opened where nothing can be written
        if (found := _format_of(db)) > FORMAT:
            db.close()
            raise StorageError(f"{self.path.name} was written by a newer whence (format {found})", hint="update whence")
        return db

    def _create(self) -> None:
        """Make the database beside and link it in whole, so that no process ever sees a part of it."""
        from tempfile import mkstemp  # noqa: PLC0415  -- once in the life of an index

        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            handle, name = mkstemp(prefix=f"{self.path.name}.", suffix=".new", dir=self.path.parent)  # for the owner only
        except OSError as error:
            raise StorageError(
                f"cannot write to {self.path.parent}: {error.strerror}", hint="set WHENCE_DATA_DIR to a folder you can write to"
            ) from error
        os.close(handle)
        beside = Path(name)
        try:
            with closing(_connection(beside, "rw")) as db:
                db.execute("PRAGMA journal_mode = WAL")
                db.executescript(_SCHEMA)
            _put(beside, self.path)
        finally:
            beside.unlink(missing_ok=True)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            if _is_damage(error):
                hint = "move it away, or forget it with whence feedback reset --yes"
                raise StorageError(f"{self.path} is damaged: {error}", hint=hint) from error
            hint = "set WHENCE_DATA_DIR to a folder you can write to" if _is_refusal(error) else ""
            raise StorageError(
                f"{self.path}: {error}", hint="free some space and run it again" if "full" in str(error) else hint
            ) from error


def _connection(path: Path, mode: str) -> sqlite3.Connection:
    address = f"file:{''.join(f'%{byte:02X}' for byte in os.fsencode(path))}?mode={mode}"
    db = sqlite3.connect(address, uri=True, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    try:
        db.execute("PRAGMA synchronous = NORMAL")
        db.execute("PRAGMA foreign_keys = ON")
        db.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.Error:
        db.close()
        raise
    return db


def _format_of(db: sqlite3.Connection) -> int:
    return int(db.execute("PRAGMA user_version").fetchone()[0])


def _put(made: Path, place: Path) -> None:
    """Give a finished file its place, unless another process was first."""
    try:
        place.hardlink_to(made)
    except FileExistsError:
        return
    except OSError:  # a file system without links
        if not place.exists():
            made.rename(place)


def _is_damage(error: BaseException | None) -> bool:
    """Whether the file itself is at fault, and not its being busy, locked away or the disk full."""
    return type(error) is sqlite3.DatabaseError or (isinstance(error, sqlite3.OperationalError) and "no such table" in str(error))


def _is_refusal(error: sqlite3.Error) -> bool:
    return "readonly" in str(error) or "unable to open" in str(error)

"""What use taught, on disk: one database for each index, which no rebuild touches (L6).

It appears with the first write, readable by its owner only. Reading where there
is none costs a look at the folder and creates nothing. No other file can give it
back: a damaged one is read no further and left as it is, for its owner to decide.
"""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from threading import RLock
from typing import Any

from whence.core.errors import IndexBusy, StorageError
from whence.storage.files import make_private_folder
from whence.storage.sqlite import altered_rows, column_names, register_row_sum, with_checksum

FILE_NAME = "learned.db"
#: Of the second on, every row has a checksum.
FORMAT = 2
BUSY_SECONDS = 10.0
#: Below the number of values that every SQLite takes in one statement.
VALUES_AT_ONCE = 500
#: Each table: its columns, all of which are part of the checksum of a row; and what else is to be said of it.
_TABLES = {
    "records": (
        (
            "id INTEGER, symbol BLOB NOT NULL, useful INTEGER NOT NULL, root BLOB NOT NULL, task BLOB NOT NULL, at REAL NOT NULL,"
            " seen INTEGER NOT NULL"
        ),
        "PRIMARY KEY (id), UNIQUE (symbol, root, useful, task, at, seen))",
    ),
    "keywords": (
        "keyword BLOB NOT NULL, record INTEGER NOT NULL REFERENCES records ON DELETE CASCADE",
        "PRIMARY KEY (keyword, record)) WITHOUT ROWID",
    ),
    "pending": (
        (
            "session BLOB NOT NULL, symbol BLOB NOT NULL, root BLOB NOT NULL, task BLOB NOT NULL, first INTEGER NOT NULL,"
            " last INTEGER NOT NULL, at REAL NOT NULL, used INTEGER NOT NULL"
        ),
        "PRIMARY KEY (session, symbol)) WITHOUT ROWID",
    ),
    "accesses": ("id INTEGER, session BLOB NOT NULL, symbol BLOB NOT NULL, at REAL NOT NULL", "PRIMARY KEY (id))"),
}
TABLES = tuple(_TABLES)
_INDEXES = {"keywords_by_record": "keywords (record)", "accesses_by_session": "accesses (session, symbol, at)"}


def _names(table: str) -> str:
    """The columns of a table, all but the checksum."""
    return column_names(_TABLES[table][0])


_SCHEMA = "".join(
    f"CREATE TABLE IF NOT EXISTS {name} ({with_checksum(columns)}, {rest};\n" for name, (columns, rest) in _TABLES.items()
) + "".join(f"CREATE INDEX IF NOT EXISTS {name} ON {what};\n" for name, what in _INDEXES.items())
_MAKING = f"BEGIN IMMEDIATE; {_SCHEMA} PRAGMA user_version = {FORMAT}; COMMIT;"
#: From the first format: the same tables, without checksums. Children go first, for to drop a parent is to delete its rows.
_TAKING_OVER = (
    *(f"DROP INDEX IF EXISTS {name}" for name in _INDEXES),
    *(f"ALTER TABLE {name} RENAME TO former_{name}" for name in TABLES),
    *_SCHEMA.split(";\n")[:-1],
    *(f"INSERT INTO {name} ({_names(name)}) SELECT {_names(name)} FROM former_{name}" for name in TABLES),  # noqa: S608  -- our names
    *(f"DROP TABLE former_{name}" for name in reversed(TABLES)),
    f"PRAGMA user_version = {FORMAT}",
)


def stored(text: str) -> bytes:
    """Text as it is kept: names of files need not be Unicode, and SQLite's own text must be."""
    return text.encode("utf-8", "surrogatepass")


def loaded(kept: bytes) -> str:
    """The reverse of `stored`."""
    return kept.decode("utf-8", "surrogatepass")


class FeedbackStore:
    """The database of what use taught about one index. Several processes and threads may write it at once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._db: sqlite3.Connection | None = None
        self._file = (0, 0)  # which file is open, as device and inode
        self._lock = RLock()

    @classmethod
    def beside(cls, directory: Path) -> FeedbackStore:
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
                _take_over(db)
                yield db
            except BaseException:
                if db.in_transaction:
                    db.execute("ROLLBACK")
                raise
            db.execute("COMMIT")
            _empty_log(db)

    def reset(self) -> None:
        """Forget everything, and leave nothing of it in the file. One that is damaged is removed."""
        if not os.path.lexists(self.path):
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
            self._sweep()
        return self._db

    def _on_disk(self) -> tuple[int, int] | None:
        """Which file is there, if any is. What cannot be one of ours is damage: none of ours is ever empty."""
        try:
            found = os.stat(self.path)  # noqa: PTH116  -- asked before every query
        except (FileNotFoundError, NotADirectoryError):
            if os.path.islink(self.path):  # noqa: PTH114  -- likewise
                raise sqlite3.DatabaseError("it is a link to nothing") from None
            return None
        if not stat.S_ISREG(found.st_mode):
            raise sqlite3.DatabaseError("it is no file")
        if not found.st_size:
            raise sqlite3.DatabaseError("it is empty")
        return found.st_dev, found.st_ino

    def _connected(self) -> sqlite3.Connection:
        try:
            db = _connection(self.path, "rw")
            if db.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
                with suppress(sqlite3.OperationalError):  # it is in use: the next to open it may be alone
                    db.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if not _is_refusal(error):
                raise
            db = _connection(self.path, "ro&immutable=1")  # a log cannot be opened where nothing can be written
        if (found := _format_of(db)) > FORMAT:
            db.close()
            raise StorageError(f"{self.path.name} was written by a newer whence (format {found})", hint="update whence")
        try:
            _check(db, found)
        except (sqlite3.Error, UnicodeDecodeError):
            db.close()
            raise
        return db

    def _create(self) -> None:
        """Make the database beside and link it in whole, so that no process ever sees a part of it."""
        from tempfile import mkstemp  # noqa: PLC0415  -- once in the life of an index

        try:
            make_private_folder(self.path.parent)
            handle, name = mkstemp(prefix=f"{self.path.name}.", suffix=".new", dir=self.path.parent)  # for the owner only
        except OSError as error:
            raise StorageError(
                f"cannot write to {self.path.parent}: {error.strerror}", hint="set WHENCE_DATA_DIR to a folder you can write to"
            ) from error
        os.close(handle)
        beside = Path(name)
        try:
            with closing(_connection(beside, "rw")) as db:
                db.executescript(_MAKING)  # without a log, which a full disk would leave behind under the other name
            _put(beside, self.path)
        except (sqlite3.Error, UnicodeDecodeError):
            if self._on_disk() is None:  # else another process was first, and has swept this away
                raise
        finally:
            for end in ("", "-journal"):
                beside.with_name(beside.name + end).unlink(missing_ok=True)

    def _sweep(self) -> None:
        """Remove what processes have left behind that were killed while they made the database, which is there now."""
        with suppress(OSError):
            for left in self.path.parent.glob(f"{self.path.name}.*.new*"):
                left.unlink(missing_ok=True)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, UnicodeDecodeError) as error:
            if _is_damage(error):
                hint = "move it away, or forget it with whence feedback reset --yes"
                text = "it holds what is no text" if isinstance(error, UnicodeDecodeError) else " ".join(str(error).split())
                raise StorageError(f"{self.path} is damaged: {text}", hint=hint) from error
            if _is_busy(error):
                raise IndexBusy(f"{self.path} is in use by another process: {error}", hint="try again; nothing was changed") from error
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
        register_row_sum(db)
        db.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except (sqlite3.Error, UnicodeDecodeError):
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


def _check(db: sqlite3.Connection, form: int) -> None:
    """Whether everything is what was written; an error that tells of damage where it is not. SQLite by itself reads a flipped bit."""
    for (said,) in db.execute("PRAGMA integrity_check(1)"):
        if said != "ok":
            raise sqlite3.DatabaseError(said)
    if db.execute("PRAGMA foreign_key_check").fetchone():
        raise sqlite3.DatabaseError("words of verdicts that are not there")
    for table in TABLES if form > 1 else ():
        for said in altered_rows(db, table, _TABLES[table][0]):
            raise sqlite3.DatabaseError(said)


def _take_over(db: sqlite3.Connection) -> None:
    """Bring the tables of the first format into the form of today; inside a transaction."""
    if _format_of(db) == 1:
        for statement in _TAKING_OVER:
            db.execute(statement)


def _empty_log(db: sqlite3.Connection) -> None:
    """Put what was written into the database itself: of a log that is damaged SQLite takes what comes before, without a word.

    Where another process is reading it is done with the next write.
    """
    db.execute("PRAGMA busy_timeout = 0")
    try:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    except sqlite3.OperationalError as error:
        if not _is_busy(error):
            raise
    finally:
        db.execute(f"PRAGMA busy_timeout = {int(BUSY_SECONDS * 1000)}")


def _is_damage(error: BaseException | None) -> bool:
    """Whether the file itself is at fault, and not its being busy, locked away or the disk full."""
    signs = ("no such table", "no such column", "malformed", "user-defined function")
    if isinstance(error, UnicodeDecodeError):  # SQLite quotes what is damaged, which is no text then
        return True
    return type(error) is sqlite3.DatabaseError or (isinstance(error, sqlite3.OperationalError) and any(one in str(error) for one in signs))


def _is_busy(error: sqlite3.Error | UnicodeDecodeError) -> bool:
    return "locked" in str(error) or "busy" in str(error)


def _is_refusal(error: sqlite3.Error | UnicodeDecodeError) -> bool:
    return "readonly" in str(error) or "unable to open" in str(error)

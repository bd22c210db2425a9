"""The feedback store: one database per index, which survives rebuilds (L6).

It is created by the first write, readable by its owner only; reading creates nothing. It cannot be derived from other
files, so a damaged one is left as it is for its owner to decide.
"""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from threading import RLock
from typing import Any

from whence.core.errors import IndexBusy, IndexDamaged, StorageError
from whence.storage.files import link_new, make_private_folder
from whence.storage.sqlite import (
    SQLITE_ERRORS,
    Database,
    column_names,
    connect,
    is_denied,
    schema_of,
    storage_error,
)

FILE_NAME = "learned.db"
#: Since format 2 every row has a checksum.
FORMAT = 2
#: Each table: its columns, all covered by the checksum of a row, and the end of its definition.
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
_SCHEMA = schema_of(_TABLES, _INDEXES)


def _names(table: str) -> str:
    """The columns of a table, without the checksum."""
    return column_names(_TABLES[table][0])


#: From format 1, which had the same tables without checksums. Children are dropped first: dropping a parent deletes their rows.
_UPGRADE = (
    *(f"DROP INDEX IF EXISTS {name}" for name in _INDEXES),
    *(f"ALTER TABLE {name} RENAME TO former_{name}" for name in TABLES),
    *_SCHEMA,
    *(f"INSERT INTO {name} ({_names(name)}) SELECT {_names(name)} FROM former_{name}" for name in TABLES),  # noqa: S608  -- our names
    *(f"DROP TABLE former_{name}" for name in reversed(TABLES)),
    f"PRAGMA user_version = {FORMAT}",
)


def stored(text: str) -> bytes:
    """Text as stored: file names need not be Unicode, which SQLite text must be."""
    return text.encode("utf-8", "surrogatepass")


def loaded(kept: bytes) -> str:
    """The reverse of `stored`."""
    return kept.decode("utf-8", "surrogatepass")


class FeedbackStore:
    """The feedback on one index. Several processes and threads may write at once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._database: Database | None = None
        self._lock = RLock()

    @classmethod
    def beside(cls, directory: Path) -> FeedbackStore:
        """The store in the folder of an index."""
        return cls(directory / FILE_NAME)

    def close(self) -> None:
        """Close the file; a later call opens it again."""
        with self._lock:
            if self._database is not None:
                self._database.close()
                self._database = None

    def rows(self, sql: str, values: Iterable[Any] = ()) -> list[Any]:
        """The rows of a query; none if there is no store."""
        with self._lock, self._damage_explained():
            database = self._open()
            return [] if database is None else database.rows(sql, values)

    def rows_of(self, symbols: Iterable[str], sql: str) -> list[Any]:
        """The rows of a query for some symbols; `{}` marks where they go."""
        with self._lock, self._damage_explained():
            database = self._open()
            return [] if database is None else database.rows_in(sql, [stored(symbol) for symbol in symbols])

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Write all or nothing, while no other process writes."""
        with self._lock, self._damage_explained():
            database = self._open() or self._create()
            with database.transaction() as db:
                if db.execute("PRAGMA user_version").fetchone()[0] == 1:
                    for statement in _UPGRADE:
                        db.execute(statement)
                yield db
            database.checkpoint()

    def reset(self) -> None:
        """Delete everything, also from free pages. A damaged file is removed."""
        if not os.path.lexists(self.path):
            return
        try:
            with self.transaction() as db:
                db.execute("PRAGMA secure_delete = ON")
                for table in TABLES:
                    db.execute(f"DELETE FROM {table}")  # noqa: S608  -- names from the list above
            self.compact()
        except StorageError as error:
            if not isinstance(error.__cause__, IndexDamaged):
                raise
            self.close()
            for path in (self.path, *(self.path.with_name(f"{self.path.name}-{end}") for end in ("wal", "shm"))):
                path.unlink(missing_ok=True)

    def compact(self) -> None:
        """Vacuum, so that the file contains nothing deleted."""
        with self._lock, self._damage_explained():
            if (database := self._open()) is not None:
                database.rows("VACUUM")
                database.checkpoint()

    # Opening.
    def _open(self) -> Database | None:
        """The database that is on disk now, if any: another process may have removed or created it."""
        exists = self._exists()
        if self._database is not None and not (exists and self._database.is_current()):
            self.close()
        if self._database is None and exists:
            self._database = self._connect()
            with suppress(OSError):  # drafts of killed processes
                for draft in self.path.parent.glob(f"{self.path.name}.*.new*"):
                    draft.unlink(missing_ok=True)
        return self._database

    def _exists(self) -> bool:
        """Whether there is a file. One that cannot be ours counts as damaged: ours are never empty."""
        try:
            found = os.stat(self.path)  # noqa: PTH116  -- called before every query
        except (FileNotFoundError, NotADirectoryError):
            if os.path.islink(self.path):  # noqa: PTH114  -- likewise
                raise IndexDamaged("it is a dangling link") from None
            return False
        if not stat.S_ISREG(found.st_mode):
            raise IndexDamaged("it is not a regular file")
        if not found.st_size:
            raise IndexDamaged("it is empty")
        return True

    def _connect(self) -> Database:
        try:
            database = Database(self.path, _SCHEMA, create=False, version=FORMAT)
        except StorageError as error:
            if isinstance(error, IndexDamaged | IndexBusy) or not is_denied(error.__cause__):
                raise
            database = Database(self.path, _SCHEMA, read_only=True, version=FORMAT)
        try:
            _check(database)
        except StorageError:
            database.close()
            raise
        return database

    def _create(self) -> Database:
        """Create the database under another name and link it, so that no process ever sees part of it."""
        from tempfile import mkstemp  # noqa: PLC0415  -- once in the life of an index

        try:
            make_private_folder(self.path.parent)
            handle, name = mkstemp(prefix=f"{self.path.name}.", suffix=".new", dir=self.path.parent)  # readable by its owner only
        except OSError as error:
            raise StorageError(
                f"cannot write to {self.path.parent}: {error.strerror}", hint="set WHENCE_DATA_DIR to a folder you can write to"
            ) from error
        os.close(handle)
        draft = Path(name)
        try:
            with closing(connect(draft, "rw")) as db:
                # Without a log, which a full disk would leave behind under the draft's name.
                db.executescript(";\n".join(("BEGIN IMMEDIATE", *_SCHEMA, f"PRAGMA user_version = {FORMAT}", "COMMIT;")))
            with suppress(FileExistsError):  # another process was first
                link_new(draft, self.path)
        except FileNotFoundError as error:
            if not self._exists():  # else another process was first, and removed the draft
                raise StorageError(f"cannot write to {self.path.parent}: {error.strerror}") from error
        except SQLITE_ERRORS as error:
            if not self._exists():  # likewise
                raise storage_error(self.path, error) from error
        finally:
            for end in ("", "-journal"):
                draft.with_name(draft.name + end).unlink(missing_ok=True)
        if (database := self._open()) is None:
            raise StorageError(f"{self.path} was removed while it was being written", hint="try again")
        return database

    @contextmanager
    def _damage_explained(self) -> Iterator[None]:
        """Raise damage as an error with a hint: unlike an index, this file cannot be rebuilt."""
        try:
            yield
        except IndexDamaged as damage:
            hint = "move it away, or forget it with whence feedback reset --yes"
            text = damage.message.removeprefix(f"{self.path.name} is damaged: ")
            raise StorageError(f"{self.path} is damaged: {text}", hint=hint) from damage


def _check(database: Database) -> None:
    """Raise IndexDamaged unless everything is as it was written."""
    with database.read_transaction():
        ((form,),) = database.rows("PRAGMA user_version")
        wrong = database.find_damage(_TABLES if form > 1 else {})
        if not wrong and database.rows("PRAGMA foreign_key_check"):
            wrong = ["it lists words of verdicts that it does not contain"]
    if wrong:
        raise IndexDamaged(wrong[0])

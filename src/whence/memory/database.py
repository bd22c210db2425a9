"""The index over notes on disk: what was read from each file. Derived, and made again at will (M1).

A note that changes gets a new number, so that a reader that knows the highest
number it has seen reads only what came after. Numbers are never used twice.
"""

from __future__ import annotations

import json
import os
import sqlite3
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from whence.core.errors import IndexBusy, IndexDamaged, StorageError
from whence.storage.arrayfile import Stamp
from whence.storage.files import make_private_folder
from whence.storage.sqlite import altered_rows, register_row_sum, with_checksum
from whence.text.slugs import normalize_topic

#: Changes with anything that makes an old index unreadable or its words different. Part of the name of the file: an
#: index of another format, language or model is another file, and no process takes away what another is reading.
FORMAT = 4
BUSY_SECONDS = 10.0
#: Below the number of values that every SQLite takes in one statement.
VALUES_AT_ONCE = 500

#: Each table: its columns, all of which are part of the checksum of a row, and how its definition ends.
_TABLES = {
    "meta": ("key TEXT, value TEXT NOT NULL", ", PRIMARY KEY (key)) WITHOUT ROWID"),
    "folders": ("name BLOB, mtime_ns INTEGER NOT NULL", ", PRIMARY KEY (name)) WITHOUT ROWID"),
    "notes": (
        (
            "id INTEGER PRIMARY KEY AUTOINCREMENT, key BLOB NOT NULL UNIQUE, folder BLOB NOT NULL,"
            " size INTEGER NOT NULL, changed_ns INTEGER NOT NULL, inode INTEGER NOT NULL,"
            " project TEXT NOT NULL, topic TEXT NOT NULL, alike TEXT NOT NULL, kind TEXT NOT NULL, archived INTEGER NOT NULL,"
            " trouble TEXT NOT NULL, secret INTEGER NOT NULL, day INTEGER NOT NULL, valid_from REAL, valid_until REAL,"
            " words BLOB NOT NULL, spans BLOB NOT NULL, vectors BLOB NOT NULL"
        ),
        ")",
    ),
    "tags": ("note INTEGER NOT NULL REFERENCES notes ON DELETE CASCADE, tag TEXT NOT NULL", ")"),
    "about": (
        (
            "note INTEGER NOT NULL REFERENCES notes ON DELETE CASCADE, repository BLOB NOT NULL, path BLOB NOT NULL, code BLOB NOT NULL,"
            " hash TEXT NOT NULL"
        ),
        ")",
    ),
    "stems": ("id INTEGER PRIMARY KEY, stem TEXT NOT NULL UNIQUE", ")"),
    "words": ("id INTEGER PRIMARY KEY, word TEXT NOT NULL UNIQUE, stem INTEGER NOT NULL, row INTEGER NOT NULL", ")"),
}
_INDEXES = {
    "notes_by_topic": "notes (folder, alike)",
    "tags_by_tag": "tags (tag)",
    "tags_by_note": "tags (note)",
    "about_by_path": "about (repository, path)",
    "about_by_note": "about (note)",
}


_SCHEMA = "".join(
    f"CREATE TABLE IF NOT EXISTS {name} ({with_checksum(columns)}{end};\n" for name, (columns, end) in _TABLES.items()
) + "".join(f"CREATE INDEX IF NOT EXISTS {name} ON {what};\n" for name, what in _INDEXES.items())

_SPEAKING = (
    "SELECT notes.key, about.code FROM about JOIN notes ON notes.id = about.note"
    " WHERE notes.archived = 0 AND about.repository = ? AND about.path = ?"
)

#: What is kept of a word: its stem, and its row in the model's table.
ReadWord = Callable[[str], tuple[str, int]]


@dataclass(frozen=True, slots=True)
class NoteRow:
    """What was read from the file of a note."""

    key: str
    folder: str
    size: int
    changed_ns: int
    inode: int
    project: str
    topic: str
    kind: str
    archived: bool
    trouble: str
    secret: bool  # whether its text holds one
    day: int  # the day it is of, as an ordinal; 0 when that is not known
    valid_from: float | None
    valid_until: float | None
    words: Sequence[str]  # that say something, in order
    spans: bytes  # pairs of days, 32 bits each, that its text speaks of
    vectors: bytes  # of its passages: a scale of 32 bits and then a byte for each number, one passage after the other
    tags: tuple[str, ...] = ()
    about: tuple[tuple[str, str, str, str], ...] = ()  # repository, path, code, hash


def file_name(identity: str) -> str:
    """The name of the database for everything that decides what is read from a note: language, model, format."""
    return f"notes-{zlib.crc32(f'{FORMAT} {identity}'.encode()):08x}.db"


def kept(text: str) -> bytes:
    """Text as it is kept where it names files: such names need not be Unicode."""
    return text.encode("utf-8", "surrogateescape")


def told(raw: bytes) -> str:
    """The reverse of `kept`."""
    return raw.decode("utf-8", "surrogateescape")


class NoteDatabase:
    """The database of one folder of notes. Several processes may use it at once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.was_damaged = False
        self._ids: dict[str, int] = {}  # of words; what was once given never changes
        try:
            make_private_folder(path.parent)  # notes are private
            self._db = self._opened()
        except (sqlite3.Error, UnicodeDecodeError) as error:
            found = _explained(path, error)
            if not isinstance(found, IndexDamaged):
                raise found from error
            self.was_damaged = True
            self._removed()
        except OSError as error:
            hint = "set WHENCE_DATA_DIR to a folder you can write to"
            raise StorageError(f"cannot write to {path.parent}: {error.strerror}", hint=hint) from error

    def _opened(self) -> sqlite3.Connection:
        fresh = not self.path.exists()
        if not fresh and not self.path.is_file():
            raise StorageError(f"{self.path} is no file", hint="move it away; the index over notes is made again")
        db = sqlite3.connect(self.path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
        if fresh:
            os.chmod(self.path, 0o600)  # noqa: PTH101  -- notes are private
        register_row_sum(db)
        db.execute("PRAGMA journal_mode = WAL")
        # Derived: what a crash of the machine takes away is read from the files again.
        db.execute("PRAGMA synchronous = OFF")
        db.execute("PRAGMA foreign_keys = ON")
        if not db.execute("SELECT count(*) FROM sqlite_master WHERE name = 'words'").fetchone()[0]:
            db.executescript(f"BEGIN IMMEDIATE;{_SCHEMA}COMMIT;")
        return db

    def _removed(self) -> None:
        """Begin again: the file is damaged, and everything in it can be read from the notes."""
        for end in ("", "-wal", "-shm"):
            self.path.with_name(self.path.name + end).unlink(missing_ok=True)
        self._ids = {}
        self._db = self._opened()

    def close(self) -> None:
        """Let go of the file."""
        self._db.close()

    def begin_again(self) -> None:
        """Throw away what is damaged; everything in it can be read from the notes."""
        self.close()
        self._removed()

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """All or nothing, and no other process in between."""
        with self._explained():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
            except BaseException:
                self._ids = {}  # some may have been given only in what is taken back
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise _explained(self.path, error) from error

    def rows(self, sql: str, values: Iterable[Any] = ()) -> list[Any]:
        """What a query finds."""
        with self._explained():
            return self._db.execute(sql, tuple(values)).fetchall()

    def rows_in(self, sql: str, values: Sequence[Any]) -> list[Any]:
        """What a query finds for some values; `{}` in it is where they stand."""
        found: list[Any] = []
        for at in range(0, len(values), VALUES_AT_ONCE):
            chunk = values[at : at + VALUES_AT_ONCE]
            found += self.rows(sql.format(",".join("?" * len(chunk))), chunk)
        return found

    def meta(self, key: str) -> str:
        """A fact about the whole; empty where there is none."""
        found = self.rows("SELECT value FROM meta WHERE key = ?", (key,))
        return str(found[0][0]) if found else ""

    def set_meta(self, key: str, value: str) -> None:
        """Note a fact about the whole."""
        with self.writing() as db:
            db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))

    def verify(self) -> list[str]:
        """What of the database is not what was written: its pages, its rows, and whether they fit together."""
        try:
            found = [" ".join(text.split()) for (text,) in self.rows("PRAGMA integrity_check(3)") if text != "ok"]
            with self._explained():
                found += [said for table, (columns, _) in _TABLES.items() for said in altered_rows(self._db, table, columns)]
            found += ["rows of notes that are not there"] if self.rows("PRAGMA foreign_key_check") else []
            given = self.rows("SELECT 1 FROM notes WHERE id > (SELECT max(seq) FROM sqlite_sequence WHERE name = 'notes')")
            return found + (["numbers would be given twice"] if given else [])
        except IndexDamaged as damage:
            return [damage.message]

    def version(self) -> int:
        """Changes whenever another connection has written."""
        return int(self.rows("PRAGMA data_version")[0][0])

    # What is known of files.
    def folders(self) -> dict[str, int]:
        """When each folder had last changed as all its notes were read."""
        return {told(name): mtime for name, mtime in self.rows("SELECT name, mtime_ns FROM folders")}

    def states(self, folder: str) -> dict[str, tuple[int, int, int]]:
        """Of each note in a folder its size, time and number on disk, as it was read."""
        sql = "SELECT key, size, changed_ns, inode FROM notes WHERE folder = ?"
        return {told(key): (size, changed, inode) for key, size, changed, inode in self.rows(sql, (kept(folder),))}

    def put(self, entries: Sequence[NoteRow], gone: Iterable[str], folders: Mapping[str, int], read_word: ReadWord) -> None:
        """Take in what was read, and drop what is no longer there."""
        with self.writing() as db:
            dropped = [(kept(key),) for key in (*gone, *(entry.key for entry in entries))]
            db.executemany("DELETE FROM notes WHERE key = ?", dropped)
            for entry in entries:
                self._insert(db, entry, self._word_ids(db, entry.words, read_word))
            for name, mtime in folders.items():
                if mtime < 0:
                    db.execute("DELETE FROM folders WHERE name = ?", (kept(name),))
                else:
                    db.execute("INSERT OR REPLACE INTO folders VALUES (?, ?)", (kept(name), mtime))

    def _insert(self, db: sqlite3.Connection, entry: NoteRow, words: bytes) -> None:
        db.execute(
            "INSERT INTO notes (key, folder, size, changed_ns, inode, project, topic, alike, kind, archived, trouble, secret, day,"
            " valid_from, valid_until, words, spans, vectors) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
            (
                *(kept(entry.key), kept(entry.folder), entry.size, entry.changed_ns, entry.inode),
                *(
                    entry.project,
                    entry.topic,
                    normalize_topic(entry.topic),
                    entry.kind,
                    entry.archived,
                    entry.trouble,
                    entry.secret,
                    entry.day,
                ),
                *(entry.valid_from, entry.valid_until, words, entry.spans, entry.vectors),
            ),
        )
        if entry.tags or entry.about:
            number = db.execute("SELECT last_insert_rowid()").fetchone()[0]
            db.executemany("INSERT INTO tags VALUES (?, ?)", [(number, tag.casefold()) for tag in entry.tags])
            pieces = [(number, kept(root), kept(path), kept(code), hashed) for root, path, code, hashed in entry.about]
            db.executemany("INSERT INTO about VALUES (?, ?, ?, ?, ?)", pieces)

    def _word_ids(self, db: sqlite3.Connection, words: Sequence[str], read_word: ReadWord) -> bytes:
        """The numbers of words, new ones given."""
        from array import array  # noqa: PLC0415  -- only where something is written

        for word in dict.fromkeys(words):
            if word not in self._ids:
                self._ids[word] = self._word_id(db, word, read_word)
        return array("i", [self._ids[word] for word in words]).tobytes()

    def _word_id(self, db: sqlite3.Connection, word: str, read_word: ReadWord) -> int:
        found = db.execute("SELECT id FROM words WHERE word = ?", (word,)).fetchone()
        if found:
            return int(found[0])
        stem, row = read_word(word)
        known = db.execute("SELECT id FROM stems WHERE stem = ?", (stem,)).fetchone()
        number = known[0] if known else db.execute("INSERT INTO stems (stem) VALUES (?)", (stem,)).lastrowid
        return int(db.execute("INSERT INTO words (word, stem, row) VALUES (?, ?, ?)", (word, number, row)).lastrowid or 0)

    def speaking_of(self, roots: Sequence[str], paths: Iterable[str]) -> list[tuple[str, str]]:
        """Notes that speak of code in some files, archived ones left out: (key, code), in the order of the files."""
        pairs = [(kept(root), kept(path)) for path in paths for root in roots]
        found = [sorted(self.rows(_SPEAKING, pair)) for pair in pairs]
        return [(told(key), told(code)) for some in found for key, code in some]

    # The file of arrays that holds most notes.
    def arrays(self) -> tuple[str, Stamp, int] | None:
        """The file of arrays, its stamp, and the highest number in it; None where there is none."""
        found = self.meta("arrays")
        if not found:
            return None
        name, last, *stamp = json.loads(found)
        return name, Stamp(*stamp), last

    def set_arrays(self, name: str, stamp: Stamp, last: int) -> None:
        """Another file of arrays takes the place of the one before."""
        self.set_meta("arrays", json.dumps([name, last, stamp.size, stamp.checksum, stamp.mtime_ns, stamp.inode]))

    def drop_arrays(self) -> None:
        """Forget the file of arrays: it is damaged, and the rows have everything that was in it."""
        with self.writing() as db:
            db.execute("DELETE FROM meta WHERE key = 'arrays'")


def _explained(path: Path, error: sqlite3.Error | UnicodeDecodeError) -> StorageError:
    """What an error of the database is for us: one that is busy, full or locked away is not damaged."""
    text = str(error)
    if "locked" in text or "busy" in text:
        return IndexBusy(f"{path} is in use by another process: {text}", hint="try again; nothing was changed")
    signs = ("malformed", "no such", "has no column", "decode", "user-defined function")
    if not isinstance(error, sqlite3.OperationalError) or any(sign in text for sign in signs):
        return IndexDamaged(f"the index over notes is damaged: {' '.join(text.split())}")
    hint = "free some space and run it again" if "full" in text else "set WHENCE_DATA_DIR to a folder you can write to"
    return StorageError(f"{path}: {text}", hint=hint)

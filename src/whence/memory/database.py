"""The SQLite part of the note index: what was read from each file. Derived; it can be rebuilt at any time.

A note that changes gets a new id, so a reader that knows the highest id it has seen reads only newer rows.
Ids are never reused.
"""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from whence.core.errors import IndexDamaged, StorageError
from whence.memory.note import CodeRef, Note
from whence.storage.arrayfile import Stamp
from whence.storage.files import make_private_folder
from whence.storage.sqlite import Database, with_checksum
from whence.text.slugs import normalize_topic

if TYPE_CHECKING:
    from whence.memory.store import NoteFile

#: Bump it whenever old indexes become unreadable or their words would differ. It is part of the file name, so an index
#: of another format, language or model is another file and processes do not take theirs from one another.
FORMAT = 7
#: A word that was forgotten is this and its id; no word begins so.
BLANK = "\x1f"

#: Each table: its columns, all of them part of the row's checksum, and the end of its definition.
_TABLES = {
    "meta": ("key TEXT, value TEXT NOT NULL", ", PRIMARY KEY (key)) WITHOUT ROWID"),
    "folders": ("name BLOB, mtime_ns INTEGER NOT NULL", ", PRIMARY KEY (name)) WITHOUT ROWID"),
    "notes": (
        (
            "id INTEGER PRIMARY KEY AUTOINCREMENT, key BLOB NOT NULL UNIQUE, folder BLOB NOT NULL,"
            " size INTEGER NOT NULL, changed_ns INTEGER NOT NULL, inode INTEGER NOT NULL,"
            " owner TEXT NOT NULL, project TEXT NOT NULL, topic TEXT NOT NULL, alike TEXT NOT NULL, kind TEXT NOT NULL,"
            " archived INTEGER NOT NULL, trouble TEXT NOT NULL, secret INTEGER NOT NULL, day INTEGER NOT NULL, at REAL NOT NULL,"
            " valid_from REAL, valid_until REAL,"
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
    "notes_by_topic": "notes (alike)",
    "tags_by_tag": "tags (tag)",
    "tags_by_note": "tags (note)",
    "about_by_path": "about (repository, path)",
    "about_by_note": "about (note)",
}


_SCHEMA = (
    *(f"CREATE TABLE IF NOT EXISTS {name} ({with_checksum(columns)}{end}" for name, (columns, end) in _TABLES.items()),
    *(f"CREATE INDEX IF NOT EXISTS {name} ON {what}" for name, what in _INDEXES.items()),
)
_FACTS = "SELECT id, key, size, owner, project, topic, kind, archived, trouble, day FROM notes"
_ABOUT_FILE = (
    "SELECT notes.key, about.code FROM about JOIN notes ON notes.id = about.note"
    " WHERE notes.archived = 0 AND about.repository = ? AND about.path = ?"
)

#: The stem of a word, and its row in the model's table.
AnalyzeWord = Callable[[str], tuple[str, int]]


class NoteRow(NamedTuple):
    """A note with what the index stores of it."""

    note: Note  # without secrets in its topic, project and tags
    file: NoteFile
    secret: bool  # whether its text holds one
    day: int  # its date as an ordinal; 0 when unknown
    at: float  # the same in seconds, to the hour where that is known
    words: Sequence[str]  # content words, in order
    spans: bytes  # the dates it mentions: pairs of days, 32 bits each
    vectors: bytes  # its passages: a 32-bit scale and one byte per dimension each


class NoteFacts(NamedTuple):
    """The metadata of an indexed note."""

    id: int
    key: str = ""
    size: int = 0
    owner: str = ""
    project: str = ""
    topic: str = ""
    kind: str = ""
    archived: bool = False
    problem: str = ""
    day: int = 0  # its date as an ordinal; 0 when unknown

    @classmethod
    def of(cls, row: Any) -> NoteFacts:
        """The metadata in a row."""
        number, key, size, owner, project, topic, kind, archived, problem, day = row
        return cls(number, _decode(key), size, owner, project, topic, kind, bool(archived), problem, day)

    @property
    def slug(self) -> str:
        """The name of its file."""
        return self.key.partition("/")[2]


def file_name(identity: str) -> str:
    """The name of the database for an analyzer: language, model and format affect the stored rows."""
    return f"notes-{zlib.crc32(f'{FORMAT} {identity}'.encode()):08x}.db"


def _encode(text: str) -> bytes:
    """Names of files, which need not be valid Unicode."""
    return text.encode("utf-8", "surrogateescape")


def _decode(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")


def _seconds(moment: datetime | None) -> float | None:
    return moment.timestamp() if moment else None


class NoteDatabase(Database):
    """The database of one notes folder. Several processes may use it at once."""

    def __init__(self, path: Path) -> None:
        self.was_damaged = False
        self._ids: dict[str, int] = {}  # of words; an assigned id changes only when its word is forgotten
        self._state = -1  # of the database when they were read
        try:
            make_private_folder(path.parent)  # notes are private
            super().__init__(path, _SCHEMA)
        except IndexDamaged:
            self.was_damaged = True
            self._recreate()
        except OSError as error:
            hint = "set WHENCE_DATA_DIR to a folder you can write to"
            raise StorageError(f"cannot write to {path.parent}: {error.strerror}", hint=hint) from error

    def _open(self) -> None:
        super()._open()
        self.rows("PRAGMA synchronous = OFF")  # derived: what a crash loses is read from the files again

    def _recreate(self) -> None:
        for end in ("", "-wal", "-shm"):
            self.path.with_name(self.path.name + end).unlink(missing_ok=True)
        self._ids = {}
        self._open()

    def reset(self) -> None:
        """Start over with an empty database."""
        self.close()
        self._recreate()

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """All or nothing; other writers wait. Rows that contradict the schema are damage."""
        try:
            with super().transaction() as db:
                yield db
        except BaseException as error:
            self._ids = {}  # some may have been assigned in what is rolled back
            if isinstance(error.__cause__, sqlite3.IntegrityError):
                raise IndexDamaged(f"{self.path.name} is damaged: {error.__cause__}") from error
            raise

    def verify(self) -> list[str]:
        """What is damaged: pages, rows that do not match their checksums, broken references."""
        try:
            found = self.find_damage(_TABLES)
            found += ["rows of missing notes"] if self.rows("PRAGMA foreign_key_check") else []
            reused = self.rows("SELECT 1 FROM notes WHERE id > (SELECT max(seq) FROM sqlite_sequence WHERE name = 'notes')")
            return found + (["ids would be reused"] if reused else [])
        except IndexDamaged as damage:
            return [damage.message]

    # The files that were read.
    def folders(self) -> dict[str, int]:
        """The mtime each folder had when all its notes were read."""
        return {_decode(name): mtime for name, mtime in self.rows("SELECT name, mtime_ns FROM folders")}

    def file_states(self, folder: str) -> dict[str, tuple[int, int, int]]:
        """Size, ctime and inode of the notes in a folder as they were read, by key."""
        sql = "SELECT key, size, changed_ns, inode FROM notes WHERE folder = ?"
        return {_decode(key): (size, changed, inode) for key, size, changed, inode in self.rows(sql, (_encode(folder),))}

    def file_state(self, key: str) -> tuple[int, int, int, bool] | None:
        """Size, ctime and inode of a note as it was read, and whether it holds a secret."""
        found = self.rows("SELECT size, changed_ns, inode, secret FROM notes WHERE key = ?", (_encode(key),))
        return (*found[0][:3], bool(found[0][3])) if found else None

    def put(self, rows: Sequence[NoteRow], removed: Iterable[str], folders: Mapping[str, int], analyze: AnalyzeWord) -> None:
        """Add or replace notes, remove others, and record the mtime of folders (negative: forget the folder)."""
        with self.transaction() as db:
            if (state := self.changes()) != self._state:  # another process may have forgotten words
                self._ids, self._state = {}, state
            dropped = [(_encode(key),) for key in (*removed, *(row.note.key for row in rows))]
            db.executemany("DELETE FROM notes WHERE key = ?", dropped)
            for row in rows:
                self._insert(db, row, self._word_ids(db, row.words, analyze))
            for name, mtime in folders.items():
                if mtime < 0:
                    db.execute("DELETE FROM folders WHERE name = ?", (_encode(name),))
                else:
                    db.execute("INSERT OR REPLACE INTO folders VALUES (?, ?)", (_encode(name), mtime))

    def _insert(self, db: sqlite3.Connection, row: NoteRow, words: bytes) -> None:
        note, file = row.note, row.file
        db.execute(
            "INSERT INTO notes (key, folder, size, changed_ns, inode, owner, project, topic, alike, kind, archived, trouble, secret, day,"
            " at, valid_from, valid_until, words, spans, vectors) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
            (
                *(_encode(note.key), _encode(note.folder), file.size, file.changed_ns, file.inode),
                *(note.owner, note.project, note.topic, normalize_topic(note.topic), note.kind, note.archived is not None, note.problem),
                *(row.secret, row.day, row.at, _seconds(note.valid_from), _seconds(note.valid_until), words, row.spans, row.vectors),
            ),
        )
        if note.tags or note.about:
            number = db.execute("SELECT last_insert_rowid()").fetchone()[0]
            db.executemany("INSERT INTO tags VALUES (?, ?)", [(number, tag.casefold()) for tag in note.tags])
            about = [(number, _encode(one.repository), _encode(one.path), _encode(one.code), one.hash) for one in note.about]
            db.executemany("INSERT INTO about VALUES (?, ?, ?, ?, ?)", about)

    def _word_ids(self, db: sqlite3.Connection, words: Sequence[str], analyze: AnalyzeWord) -> bytes:
        """The ids of words; new words get one."""
        from array import array  # noqa: PLC0415  -- only for writing

        for word in dict.fromkeys(words):
            if word not in self._ids:
                self._ids[word] = self._word_id(db, word, analyze)
        return array("i", [self._ids[word] for word in words]).tobytes()

    def _word_id(self, db: sqlite3.Connection, word: str, analyze: AnalyzeWord) -> int:
        found = db.execute("SELECT id FROM words WHERE word = ?", (word,)).fetchone()
        if found:
            return int(found[0])
        stem, row = analyze(word)
        known = db.execute("SELECT id FROM stems WHERE stem = ?", (stem,)).fetchone()
        number = known[0] if known else db.execute("INSERT INTO stems (stem) VALUES (?)", (stem,)).lastrowid
        return int(db.execute("INSERT INTO words (word, stem, row) VALUES (?, ?, ?)", (word, number, row)).lastrowid or 0)

    # The notes.
    def count(self) -> int:
        """How many notes there are."""
        return int(self.rows("SELECT count(*) FROM notes")[0][0])

    def notes(self) -> list[NoteFacts]:
        """All notes by key."""
        return [NoteFacts.of(row) for row in self.rows(f"{_FACTS} ORDER BY key")]

    def notes_by_id(self, ids: Sequence[int]) -> dict[int, NoteFacts]:
        """Some notes by id; those that were removed since are missing."""
        return {one.id: one for one in map(NoteFacts.of, self.rows_in(f"{_FACTS} WHERE id IN ({{}})", ids))}

    def keys_with_topic(self, topic: str) -> list[tuple[str, str]]:
        """The notes that have a topic, each with its owner."""
        rows = self.rows("SELECT key, owner FROM notes WHERE alike = ? ORDER BY key", (normalize_topic(topic),))
        return [(_decode(key), owner) for key, owner in rows]

    def ids_with_topic(self, topic: str) -> list[int]:
        """The notes that have a topic, in any folder."""
        return [row[0] for row in self.rows("SELECT id FROM notes WHERE alike = ?", (normalize_topic(topic),))]

    def ids_with_tag(self, tag: str) -> list[int]:
        """The notes that have a tag."""
        return [row[0] for row in self.rows("SELECT note FROM tags WHERE tag = ?", (tag.casefold().lstrip("#"),))]

    def tags(self) -> dict[int, list[str]]:
        """The tags of all notes by id, in lower case."""
        found: dict[int, list[str]] = {}
        for note, tag in self.rows("SELECT note, tag FROM tags"):
            found.setdefault(note, []).append(tag)
        return found

    def code_of(self, ids: Sequence[int]) -> Iterator[tuple[int, CodeRef]]:
        """The code that some notes are about."""
        sql = "SELECT note, repository, code, hash FROM about WHERE note IN ({})"
        for note, root, code, hashed in self.rows_in(sql, ids) if self.rows("SELECT 1 FROM about LIMIT 1") else []:
            yield note, CodeRef(_decode(code), hashed, _decode(root))

    def notes_about(self, roots: Sequence[str], paths: Iterable[str]) -> list[tuple[str, str]]:
        """The notes about code in some files, without archived ones: (key, code), in the order of the files."""
        pairs = [(_encode(root), _encode(path)) for path in paths for root in roots]
        found = [sorted(self.rows(_ABOUT_FILE, pair)) for pair in pairs]
        return [(_decode(key), _decode(code)) for some in found for key, code in some]

    # Forgetting.
    def times_forgotten(self) -> int:
        """A number that grows whenever words are forgotten."""
        found = self.rows("SELECT value FROM meta WHERE key = 'forgotten'")
        return int(found[0][0]) if found else 0

    def forget_words(self, words: Sequence[int]) -> None:
        """Blank some words, and the stems that no other word has. Their ids stay: they count the rows."""
        with self.transaction() as db:
            values = [(f"{BLANK}{number}", number) for number in words]
            db.executemany("UPDATE words SET word = ?, stem = 0, row = -1 WHERE id = ?", values)
            db.execute("UPDATE stems SET stem = ? || id WHERE id NOT IN (SELECT stem FROM words)", (BLANK,))
            db.execute("INSERT OR REPLACE INTO meta VALUES ('forgotten', ?)", (str(self.times_forgotten() + 1),))
        self._ids = {}

    def compact(self) -> None:
        """Write the whole database anew, and empty its log: deleted rows leave bytes in both."""
        self.rows("VACUUM")
        self.checkpoint()

    # The array file that holds most notes.
    def array_file(self) -> tuple[str, Stamp] | None:
        """The name and stamp of the array file, if there is one."""
        found = self.rows("SELECT value FROM meta WHERE key = 'arrays'")
        if not found:
            return None
        name, _, *stamp = json.loads(found[0][0])
        return name, Stamp(*stamp)

    def set_array_file(self, name: str, stamp: Stamp, last: int) -> None:
        """Replace the array file; `last` is the highest id in it."""
        value = json.dumps([name, last, stamp.size, stamp.checksum, stamp.mtime_ns, stamp.inode])
        with self.transaction() as db:
            db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", ("arrays", value))

    def drop_array_file(self) -> None:
        """Forget a damaged array file; the rows hold everything that is in it."""
        with self.transaction() as db:
            db.execute("DELETE FROM meta WHERE key = 'arrays'")

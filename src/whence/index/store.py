"""The truth: which files the index holds, what is in them, and which derived files belong together."""

from __future__ import annotations

import json
import os
import sqlite3
import zlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from whence.errors import IndexDamaged, StorageError
from whence.index.arrayfile import Stamp
from whence.source.walk import State, Tree
from whence.types import RUNTIME, Edge, Parsed, Skipped, Unit

#: Changes with anything that makes an old index unreadable or its postings different.
FORMAT = 5
BUSY_SECONDS = 10.0
_PLAIN = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/._-")
TABLES = frozenset({"meta", "segments", "vectors", "files", "units", "dead", "places", "skipped", "edges"})

_SCHEMA = """
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS segments (
    id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, files INTEGER NOT NULL, bytes INTEGER NOT NULL,
    size INTEGER NOT NULL, checksum INTEGER NOT NULL, mtime_ns INTEGER NOT NULL, inode INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS vectors (
    segment INTEGER PRIMARY KEY, model TEXT NOT NULL, name TEXT NOT NULL,
    size INTEGER NOT NULL, checksum INTEGER NOT NULL, mtime_ns INTEGER NOT NULL, inode INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS files (
    path BLOB PRIMARY KEY, size INTEGER, mtime_ns INTEGER, ctime_ns INTEGER, inode INTEGER, asked_ns INTEGER,
    hash BLOB, reason TEXT, language TEXT, segment INTEGER, row INTEGER) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS units (path BLOB PRIMARY KEY, parsed BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS dead (segment INTEGER NOT NULL, row INTEGER NOT NULL, PRIMARY KEY (segment, row)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS places (
    path BLOB PRIMARY KEY, kind TEXT NOT NULL, size INTEGER, mtime_ns INTEGER, ctime_ns INTEGER, inode INTEGER,
    asked_ns INTEGER) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS skipped (path BLOB PRIMARY KEY, reason TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS edges (
    path BLOB NOT NULL, provenance TEXT NOT NULL, source TEXT NOT NULL, target TEXT NOT NULL, kind TEXT NOT NULL,
    confidence REAL NOT NULL, line INTEGER NOT NULL, seen REAL NOT NULL, count INTEGER NOT NULL,
    PRIMARY KEY (path, provenance, source, target, kind)) WITHOUT ROWID;
"""


@dataclass(frozen=True, slots=True)
class Record:
    """One file as it was read: its state and hash, and either its row in a segment or why it was left out."""

    path: str
    state: State
    hash: bytes
    language: str = ""
    reason: str = ""
    row: int = -1
    parsed: bytes = b""


@dataclass(frozen=True, slots=True)
class SegmentRow:
    """A derived file that belongs to the snapshot."""

    id: int
    name: str
    files: int
    bytes: int
    stamp: Stamp


@dataclass(frozen=True, slots=True)
class VectorRow:
    """The vector file of a segment, and the model that made it."""

    segment: int
    model: str
    name: str
    stamp: Stamp


class Store:
    """The database of one index."""

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        self.path = path
        try:
            mode = "ro&immutable=1" if read_only else "rwc"  # a log cannot be opened where nothing can be written
            address = f"file:{_quoted(os.fsencode(path))}?mode={mode}"
            self._db = sqlite3.connect(address, uri=True, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
            new = not self._check_tables()
            if not read_only:
                self._db.execute("PRAGMA journal_mode = WAL")
                self._db.execute("PRAGMA synchronous = NORMAL")
            if new and not read_only:  # all tables at once: another process must never see some of them
                self._db.executescript(f"BEGIN IMMEDIATE; {_SCHEMA} COMMIT;")
            self._db.execute("SELECT 1 FROM meta LIMIT 1").fetchone()
        except sqlite3.Error as error:
            raise _explained(path, error) from error

    def _check_tables(self) -> bool:
        """Whether the tables are there; a database has all of them or, when it is new, none."""
        found = {name for (name,) in self._db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if found and not found >= TABLES:
            raise IndexDamaged(f"{self.path.name} is damaged: it lacks {', '.join(sorted(TABLES - found))}")
        return bool(found)

    def close(self) -> None:
        """Let go of the file."""
        self._db.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All or nothing."""
        try:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")
        except sqlite3.Error as error:
            raise _explained(self.path, error) from error

    def _rows(self, sql: str, values: Iterable[Any] = ()) -> list[Any]:
        try:
            return self._db.execute(sql, tuple(values)).fetchall()
        except sqlite3.Error as error:
            raise _explained(self.path, error) from error

    # Facts about the index as a whole.
    def meta(self) -> dict[str, str]:
        """Every fact."""
        return dict(self._rows("SELECT key, value FROM meta"))

    def set_meta(self, **facts: str) -> None:
        """Note facts; call inside a transaction."""
        self._db.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", facts.items())

    def clear(self) -> None:
        """Forget everything but what was observed at run time, which no file can give back; call inside a transaction."""
        for table in sorted(TABLES - {"edges"}):
            self._db.execute(f"DELETE FROM {table}")  # noqa: S608  -- names from the line above
        self._db.execute("DELETE FROM edges WHERE provenance != ?", [RUNTIME])

    def changes(self) -> int:
        """A number that moves when another process has written the database."""
        return int(self._rows("PRAGMA data_version")[0][0])

    # The tree as it was last seen.
    def tree(self) -> Tree:
        """What is known of files, folders and rule files."""
        tree = Tree()
        found = self._rows("SELECT path, size, mtime_ns, ctime_ns, inode, asked_ns FROM files ORDER BY path")
        tree.files = {path.decode("utf-8", "surrogateescape"): State(*state) for path, *state in found}
        decode = os.fsdecode
        for path, kind, *state in self._rows("SELECT path, kind, size, mtime_ns, ctime_ns, inode, asked_ns FROM places"):
            (tree.folders if kind == "folder" else tree.rules)[decode(path)] = State(*state)
        tree.skipped = [Skipped(decode(path), reason) for path, reason in self._rows("SELECT path, reason FROM skipped")]
        return tree

    def set_places(self, tree: Tree) -> None:
        """Note folders, rule files and what was left out; call inside a transaction."""
        self._db.execute("DELETE FROM places")
        self._db.execute("DELETE FROM skipped")
        for kind, found in (("folder", tree.folders), ("rules", tree.rules)):
            rows = [
                (os.fsencode(path), kind, state.size, state.mtime_ns, state.ctime_ns, state.inode, state.asked_ns)
                for path, state in found.items()
            ]
            self._db.executemany("INSERT OR REPLACE INTO places VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
        self._db.executemany("INSERT OR REPLACE INTO skipped VALUES (?, ?)", [(os.fsencode(one.path), one.reason) for one in tree.skipped])

    def hashes(self, paths: Iterable[str]) -> dict[str, bytes]:
        """The hashes of files that are known."""
        found = {}
        for path in paths:
            for (known,) in self._rows("SELECT hash FROM files WHERE path = ?", [os.fsencode(path)]):
                found[path] = known
        return found

    def touch(self, states: Iterable[tuple[str, State]]) -> None:
        """Note new time stamps of files whose content is the same; call inside a transaction."""
        rows = [(s.size, s.mtime_ns, s.ctime_ns, s.inode, s.asked_ns, os.fsencode(path)) for path, s in states]
        self._db.executemany("UPDATE files SET size = ?, mtime_ns = ?, ctime_ns = ?, inode = ?, asked_ns = ? WHERE path = ?", rows)

    def forget(self, paths: Iterable[str]) -> None:
        """Let files go: their rows are dead from now on; call inside a transaction."""
        for path in map(os.fsencode, paths):
            self._db.execute("INSERT OR IGNORE INTO dead SELECT segment, row FROM files WHERE path = ? AND row >= 0", [path])
            self._db.execute("DELETE FROM files WHERE path = ?", [path])
            self._db.execute("DELETE FROM units WHERE path = ?", [path])
            self._db.execute("DELETE FROM edges WHERE path = ? AND provenance != ?", [path, RUNTIME])

    def add(self, records: Iterable[Record], segment: int) -> None:
        """Take in files as read, in place of what was known of them; call inside a transaction."""
        records = list(records)
        self.forget(record.path for record in records)
        self._db.executemany(
            "INSERT INTO files VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                (
                    os.fsencode(r.path),
                    r.state.size,
                    r.state.mtime_ns,
                    r.state.ctime_ns,
                    r.state.inode,
                    r.state.asked_ns,
                    r.hash,
                    r.reason,
                    r.language,
                    segment,
                    r.row,
                )
                for r in records
            ],
        )
        self._db.executemany("INSERT INTO units VALUES (?, ?)", [(os.fsencode(r.path), r.parsed) for r in records if r.parsed])

    def left_out(self) -> list[Skipped]:
        """Files that were read and left out, with the reason."""
        return [
            Skipped(os.fsdecode(path), reason)
            for path, reason in self._rows("SELECT path, reason FROM files WHERE reason != '' ORDER BY path")
        ]

    def languages(self) -> list[tuple[str, int, int]]:
        """(language, files, bytes) of what is indexed."""
        return self._rows("SELECT language, count(*), sum(size) FROM files WHERE reason = '' GROUP BY language ORDER BY 3 DESC")

    # Derived files.
    def segments(self) -> list[SegmentRow]:
        """The derived files of the snapshot, oldest first."""
        rows = self._rows("SELECT id, name, files, bytes, size, checksum, mtime_ns, inode FROM segments ORDER BY id")
        return [SegmentRow(id_, name, files, total, Stamp(*stamp)) for id_, name, files, total, *stamp in rows]

    def dead_rows(self) -> dict[int, list[int]]:
        """The dead rows of each segment."""
        found: dict[int, list[int]] = {}
        for segment, row in self._rows("SELECT segment, row FROM dead"):
            found.setdefault(segment, []).append(row)
        return found

    def add_segment(self, name: str, files: int, total: int, stamp: Stamp) -> int:
        """List a derived file; call inside a transaction."""
        cursor = self._db.execute(
            "INSERT INTO segments (name, files, bytes, size, checksum, mtime_ns, inode) VALUES (?, ?, ?, ?, ?, ?, ?)",
            (name, files, total, stamp.size, stamp.checksum, stamp.mtime_ns, stamp.inode),
        )
        return int(cursor.lastrowid or 0)

    def vectors(self) -> dict[int, VectorRow]:
        """The vector file of each segment that has one."""
        rows = self._rows("SELECT segment, model, name, size, checksum, mtime_ns, inode FROM vectors")
        return {segment: VectorRow(segment, model, name, Stamp(*stamp)) for segment, model, name, *stamp in rows}

    def set_vectors(self, row: VectorRow) -> None:
        """List a segment's vector file in place of another; call inside a transaction."""
        stamp = row.stamp
        values = (row.segment, row.model, row.name, stamp.size, stamp.checksum, stamp.mtime_ns, stamp.inode)
        self._db.execute("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?, ?, ?, ?, ?)", values)

    def drop_vectors(self) -> None:
        """Forget all vectors, and nothing else; call inside a transaction."""
        self._db.execute("DELETE FROM vectors")

    def paths_of(self, segment: int) -> list[tuple[int, str]]:
        """The files of a segment that are alive: (row, path), in the order of rows."""
        found = self._rows("SELECT row, path FROM files WHERE segment = ? AND row >= 0 ORDER BY row", [segment])
        return [(row, os.fsdecode(path)) for row, path in found]

    def replace_segments(self, old: list[int], new: int, rows: dict[tuple[int, int], int]) -> None:
        """Files of old segments are in a new one now, at new rows; call inside a transaction."""
        for segment in old:
            moved = [(new, to, segment, row) for (of, row), to in rows.items() if of == segment]
            self._db.execute(
                "CREATE TEMP TABLE IF NOT EXISTS moves (new INTEGER, dest INTEGER, old INTEGER, row INTEGER, PRIMARY KEY (old, row))"
            )
            self._db.execute("DELETE FROM moves")
            self._db.executemany("INSERT INTO moves VALUES (?, ?, ?, ?)", moved)
            self._db.execute(
                "UPDATE files SET segment = m.new, row = m.dest FROM moves AS m"
                " WHERE files.segment = m.old AND files.row = m.row AND files.row >= 0"
            )
            self._db.execute("UPDATE files SET segment = ? WHERE segment = ? AND row < 0", (new, segment))
            self._db.execute("DELETE FROM dead WHERE segment = ?", (segment,))
            self._db.execute("DELETE FROM vectors WHERE segment = ?", (segment,))
            self._db.execute("DELETE FROM segments WHERE id = ?", (segment,))

    def drop_segment(self, segment: int) -> None:
        """Forget a damaged derived file and the files in it, so that they are read again; call inside a transaction."""
        self._db.execute("DELETE FROM units WHERE path IN (SELECT path FROM files WHERE segment = ?)", (segment,))
        for table in ("files", "dead", "vectors"):
            self._db.execute(f"DELETE FROM {table} WHERE segment = ?", (segment,))  # noqa: S608  -- likewise
        self._db.execute("DELETE FROM segments WHERE id = ?", (segment,))

    # Edges that something other than the parser found.
    def edges(self, provenance: str = "") -> list[Edge]:
        """All of them, or those of one provenance."""
        rows = self._rows(
            "SELECT source, target, kind, provenance, confidence, line, seen, count FROM edges WHERE ? IN ('', provenance)"
            " ORDER BY path, source, target, kind, provenance",
            [provenance],
        )
        return [Edge(*row) for row in rows]

    def replace_edges(self, provenance: str, edges: Iterable[Edge], paths: Iterable[str] | None = None) -> None:
        """Put edges in place of those of the same provenance, of all files or of some; call inside a transaction."""
        if paths is None:
            self._db.execute("DELETE FROM edges WHERE provenance = ?", [provenance])
        else:
            self._db.executemany("DELETE FROM edges WHERE provenance = ? AND path = ?", [(provenance, os.fsencode(path)) for path in paths])
        self._db.executemany(
            "INSERT OR REPLACE INTO edges VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [(self._file_of(e.source), provenance, e.source, e.target, e.kind, e.confidence, e.line, e.seen, e.count) for e in edges],
        )
        self.set_meta(edges=os.urandom(8).hex())  # a graph made before is none of this

    def _file_of(self, key: str) -> bytes:
        """The path that a symbol's key begins with; names of files may hold the mark that ends it."""
        paths = [os.fsencode(key[:at]) for at, letter in enumerate(key) if letter == "#"] or [os.fsencode(key)]
        known = (path for path in paths[1:] if self._rows("SELECT 1 FROM files WHERE path = ?", [path]))
        return next(known, paths[0])

    # What is in the files.
    def parsed(self, path: str) -> Parsed | None:
        """What a file holds, as it was parsed."""
        for (blob,) in self._rows("SELECT parsed FROM units WHERE path = ?", [os.fsencode(path)]):
            return unpack_parsed(blob)
        return None

    def units_at(self, path: str, wanted: Collection[tuple[int, str]]) -> dict[tuple[int, str], Unit]:
        """The units of a file that begin at some lines under some names, as they were parsed; the last where several do."""
        for (blob,) in self._rows("SELECT parsed FROM units WHERE path = ?", [os.fsencode(path)]):
            return find_units(blob, wanted)
        return {}


def _quoted(path: bytes) -> str:
    """A path for a file: address, without loading a library for it."""
    return "".join(chr(byte) if chr(byte) in _PLAIN else f"%{byte:02X}" for byte in path)


def pack_parsed(parsed: Parsed) -> bytes:
    """What a file holds, in few bytes."""
    return zlib.compress(json.dumps(asdict_parsed(parsed), separators=(",", ":"), ensure_ascii=False).encode("utf-8", "surrogateescape"), 1)


def asdict_parsed(parsed: Parsed) -> dict[str, Any]:
    """A parsed file as plain values; many times quicker than `dataclasses.asdict`, which copies deeply."""
    units = [
        (u.kind, u.name, u.first_line, u.last_line, u.start, u.end, u.parents, u.signature, u.doc, u.parameters, u.calls)
        for u in parsed.units
    ]
    return {"language": parsed.language, "units": units, "imports": parsed.imports}


def unpack_parsed(blob: bytes) -> Parsed:
    """The reverse of `pack_parsed`; where the comments are is not kept."""
    found = json.loads(zlib.decompress(blob).decode("utf-8", "surrogateescape"))
    return Parsed(found["language"], tuple(map(_unit, found["units"])), tuple(found["imports"]))


def find_units(blob: bytes, wanted: Collection[tuple[int, str]]) -> dict[tuple[int, str], Unit]:
    """Some units of what `pack_parsed` made, by first line and name, without reading the others.

    No text inside a JSON string has a bare quotation mark, so that `,"name",12,` stands nowhere but in a unit.
    """
    text, decoder = zlib.decompress(blob).decode("utf-8", "surrogateescape"), json.JSONDecoder()
    found = {}
    for first, name in wanted:
        at = text.rfind(f",{json.dumps(name, ensure_ascii=False)},{first},")
        if at >= 0:
            values, _ = decoder.raw_decode(text, text.rindex("[", 0, at))
            found[first, name] = _unit(values)
    return found


def _unit(values: Sequence[Any]) -> Unit:
    """A unit from its values, in the order in which `asdict_parsed` writes them."""
    kind, name, first, last, start, end, parents, signature, doc, parameters, calls = values
    whole = ".".join((*parents, name)) if name else ""
    return Unit(kind, name, whole, first, last, start, end, tuple(parents), signature, doc, tuple(parameters), tuple(calls))


def _explained(path: Path, error: sqlite3.Error) -> StorageError:
    text = str(error)
    if isinstance(error, sqlite3.DatabaseError) and ("malformed" in text or "not a database" in text or "no such table" in text):
        return IndexDamaged(f"{path.name} is damaged: {text}")
    hint = (
        "free some space and run it again"
        if "full" in text
        else "set WHENCE_DATA_DIR to a folder you can write to"
        if "readonly" in text or "unable to open" in text
        else ""
    )
    return StorageError(f"{path}: {text}", hint=hint)

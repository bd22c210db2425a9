"""The index store: which files are indexed, and which derived files belong to the index."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from whence.core.errors import IndexDamaged
from whence.core.types import RUNTIME, Edge, Skipped
from whence.source.walk import FileState, FileTree
from whence.storage.arrayfile import Stamp
from whence.storage.sqlite import CHECKSUM, Database, column_names, schema_of

#: Raise it with any change that makes an old index unreadable or its postings different.
FORMAT = 11
#: Facts about files that are computed from all others.
COLUMNS = ("shared", "history", "graph")


_STATE = "size INTEGER, mtime_ns INTEGER, ctime_ns INTEGER, inode INTEGER, asked_ns INTEGER"
_STAMP = "size INTEGER NOT NULL, checksum INTEGER NOT NULL, mtime_ns INTEGER NOT NULL, inode INTEGER NOT NULL"
_SEEN = "confidence REAL NOT NULL, line INTEGER NOT NULL, seen REAL NOT NULL, count INTEGER NOT NULL"
#: Each table: its columns and its key.
_KEYED = {
    "meta": ("key TEXT, value TEXT NOT NULL", "key"),
    "segments": (f"id INTEGER, name TEXT NOT NULL, files INTEGER NOT NULL, bytes INTEGER NOT NULL, {_STAMP}", "id"),
    "vectors": (f"segment INTEGER, model TEXT NOT NULL, name TEXT NOT NULL, {_STAMP}", "segment"),
    "files": (f"path BLOB, {_STATE}, hash BLOB, reason TEXT, language TEXT, segment INTEGER, row INTEGER, hidden INTEGER", "path"),
    # Rows of segments whose file has changed or gone. They are revived if its content comes back.
    "dead": ("segment INTEGER, row INTEGER, path BLOB, hash BLOB, language TEXT, died INTEGER", "segment, row"),
    # What git says each file contains in the current commit, and our hash of that: empty if the file differs, null if it was never indexed.
    "committed": ("path BLOB, blob TEXT NOT NULL, hash BLOB", "path"),
    "places": (f"path BLOB, kind TEXT NOT NULL, {_STATE}", "path"),
    "skipped": ("path BLOB, reason TEXT NOT NULL", "path"),
    "edges": (
        f"path BLOB, provenance TEXT, source TEXT, target TEXT, kind TEXT, {_SEEN}",
        "path, provenance, source, target, kind",
    ),
}
_TABLES = {name: (columns, f"PRIMARY KEY ({key})) WITHOUT ROWID") for name, (columns, key) in _KEYED.items()}
#: Versions of one file among the dead rows that are worth keeping: an editor saves often, a branch comes back.
VERSIONS = 3
_INTACT_EDGE = f"{CHECKSUM} IS {CHECKSUM}({column_names(_KEYED['edges'][0])})"
_SCHEMA = schema_of(_TABLES, {"dead_paths": "dead (path)"})


@dataclass(frozen=True, slots=True)
class FileRecord:
    """A file as it was read: its state and hash, and its row in a segment or why it was left out."""

    path: str
    state: FileState
    hash: bytes
    language: str = ""
    reason: str = ""
    row: int = -1
    has_secret: bool = True  # whether it may contain a secret


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


class IndexStore(Database):
    """The database of one index."""

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        super().__init__(path, _SCHEMA, read_only=read_only)

    # Facts about the index as a whole.
    def meta(self) -> dict[str, str]:
        """Every fact."""
        return dict(self.rows("SELECT key, value FROM meta"))

    def set_meta(self, **facts: str) -> None:
        """Store facts; call inside a transaction."""
        self._db.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", facts.items())

    def json_meta(self, key: str) -> dict[str, Any]:
        """A fact stored as JSON; empty if there is none."""
        try:
            found = json.loads(self.meta().get(key, "{}"))
            return found if isinstance(found, dict) else {}
        except ValueError as error:
            raise IndexDamaged(f"{self.path.name} is damaged: {key} cannot be read") from error

    def delete_meta(self, *keys: str) -> None:
        """Delete facts; call inside a transaction."""
        self._db.executemany("DELETE FROM meta WHERE key = ?", [(key,) for key in keys])

    def clear(self) -> None:
        """Delete everything but the edges observed at run time, which no file has; call inside a transaction.

        Tables are created again, because those of an older version may differ.
        """
        observed = self.edges(RUNTIME)
        for (table,) in self.rows("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"):
            self._db.execute(f'DROP TABLE "{table}"')
        for statement in _SCHEMA:
            self._db.execute(statement)
        if observed:
            self.replace_edges(RUNTIME, observed)

    def derived_files(self) -> dict[str, Stamp]:
        """The derived files of the index, each with its stamp."""
        found = {row.name: row.stamp for row in self.segments()} | {row.name: row.stamp for row in self.vectors().values()}
        for key in COLUMNS:
            noted = self.json_meta(key)
            if "name" in noted:
                found[noted["name"]] = Stamp(**noted["stamp"])
        return found

    def verify(self) -> list[str]:
        """What is wrong with the database, in lines; empty if nothing is."""
        found = self.find_damage(_TABLES)
        uncovered = self.rows(
            "SELECT count(*) FROM segments AS s WHERE files != (SELECT count(*) FROM files WHERE segment = s.id AND row >= 0)"
            " + (SELECT count(*) FROM dead WHERE segment = s.id)"
        )[0][0]
        return found + ([f"{uncovered} segments contain files that no table lists"] if uncovered else [])

    # The tree as it was last seen.
    def tree(self) -> FileTree:
        """The known files, folders and ignore files."""
        tree = FileTree()
        found = self.rows("SELECT path, size, mtime_ns, ctime_ns, inode, asked_ns FROM files ORDER BY path")
        tree.files = {path.decode("utf-8", "surrogateescape"): FileState(*state) for path, *state in found}
        decode = os.fsdecode
        for path, kind, *state in self.rows("SELECT path, kind, size, mtime_ns, ctime_ns, inode, asked_ns FROM places"):
            (tree.folders if kind == "folder" else tree.rules)[decode(path)] = FileState(*state)
        tree.skipped = [Skipped(decode(path), reason) for path, reason in self.rows("SELECT path, reason FROM skipped")]
        return tree

    def set_places(self, tree: FileTree) -> None:
        """Store folders, ignore files and what was left out; call inside a transaction."""
        self._db.execute("DELETE FROM places")
        self._db.execute("DELETE FROM skipped")
        for kind, found in (("folder", tree.folders), ("rules", tree.rules)):
            rows = [(os.fsencode(path), kind, *state) for path, state in found.items()]
            self._db.executemany("INSERT OR REPLACE INTO places VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
        self._db.executemany("INSERT OR REPLACE INTO skipped VALUES (?, ?)", [(os.fsencode(one.path), one.reason) for one in tree.skipped])

    def hashes(self, paths: Iterable[str]) -> dict[str, bytes]:
        """The hashes of known files."""
        sql = "SELECT hash FROM files WHERE path = ?"
        return {path: known for path in paths for (known,) in self.rows(sql, [os.fsencode(path)])}

    def update_states(self, states: Iterable[tuple[str, FileState]]) -> None:
        """Store new time stamps of files whose content is the same; call inside a transaction."""
        rows = [(*state, os.fsencode(path)) for path, state in states]
        self._db.executemany("UPDATE files SET size = ?, mtime_ns = ?, ctime_ns = ?, inode = ?, asked_ns = ? WHERE path = ?", rows)

    def remove_files(self, paths: Iterable[str]) -> None:
        """Remove files, whose rows are dead from then on; call inside a transaction."""
        (now,) = self._db.execute("SELECT coalesce(max(died), 0) + 1 FROM dead").fetchone()
        dying = "INSERT OR IGNORE INTO dead SELECT segment, row, path, hash, language, ? FROM files WHERE path = ? AND row >= 0"
        for path in map(os.fsencode, paths):
            self._db.execute(dying, [now, path])
            self._db.execute("DELETE FROM files WHERE path = ?", [path])
            self._db.execute("DELETE FROM edges WHERE path = ? AND provenance != ?", [path, RUNTIME])

    def add_files(self, records: Iterable[FileRecord], segment: int) -> None:
        """Add or replace files; call inside a transaction."""
        records = list(records)
        self.remove_files(record.path for record in records)
        self._db.executemany(
            "INSERT INTO files VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [(os.fsencode(r.path), *r.state, r.hash, r.reason, r.language, segment, r.row, int(r.has_secret)) for r in records],
        )

    def has_no_secret(self, path: str, hashed: bytes) -> bool:
        """Whether a file with this content is known to contain no secret."""
        return bool(self.rows("SELECT 1 FROM files WHERE path = ? AND hash = ? AND hidden = 0", [os.fsencode(path), hashed]))

    def clean_files(self) -> dict[str, FileState]:
        """The files that are known to contain no secret, as they were read."""
        rows = self.rows("SELECT path, size, mtime_ns, ctime_ns, inode, asked_ns FROM files WHERE hidden = 0")
        return {os.fsdecode(path): FileState(*state) for path, *state in rows}

    def file_rows(self) -> list[tuple[str, bytes, str, str, int, int, int]]:
        """(path, hash, language, reason, segment, row, hidden) of every file."""
        found = self.rows("SELECT path, hash, language, reason, segment, row, hidden FROM files ORDER BY path")
        return [(os.fsdecode(path), *known) for path, *known in found]

    def dead_file_rows(self, path: str | None = None) -> list[tuple[str, bytes, str, int, int]]:
        """(path, hash, language, segment, row) of rows that are dead: all, or those of one path."""
        every = "SELECT path, hash, language, segment, row FROM dead"
        found = self.rows(every) if path is None else self.rows(f"{every} WHERE path = ?", [os.fsencode(path)])
        return [(os.fsdecode(path), *known) for path, *known in found]

    def add_dead_rows(self, rows: Iterable[tuple[str, bytes, str, int, int]]) -> None:
        """Add dead rows, in the form of `dead_file_rows`; call inside a transaction."""
        values = [(segment, row, os.fsencode(path), known, language) for path, known, language, segment, row in rows]
        self._db.executemany("INSERT OR REPLACE INTO dead VALUES (?, ?, ?, ?, ?, 0)", values)

    def expired_rows(self, most: int) -> dict[int, list[int]]:
        """The dead rows of each segment that are not worth keeping: all but the latest, of each file and altogether."""
        rows = self.rows(
            "SELECT segment, row FROM dead EXCEPT SELECT * FROM (SELECT segment, row FROM ("
            "SELECT *, ROW_NUMBER() OVER (PARTITION BY path ORDER BY died DESC, segment DESC) AS nth FROM dead WHERE hash != x'')"
            " WHERE nth <= ? ORDER BY died DESC LIMIT ?)",
            [VERSIONS, most],
        )
        return _by_segment(rows)

    def forget_dead_rows(self, segment: int) -> None:
        """The dead rows of a segment can no longer be revived; call inside a transaction."""
        self._db.execute("UPDATE dead SET hash = x'' WHERE segment = ?", [segment])

    def revive(self, record: FileRecord, segment: int) -> None:
        """Make a dead row the row of a file again; call inside a transaction."""
        self.add_files([record], segment)
        self._db.execute("DELETE FROM dead WHERE segment = ? AND row = ?", (segment, record.row))

    # The current commit.
    def committed(self, paths: Sequence[str] | None = None) -> dict[str, tuple[str, bytes | None]]:
        """(git's hash, ours) of the files of the commit: all, or some."""
        every = "SELECT path, blob, hash FROM committed"
        one = f"{every} WHERE path = ?"
        found = self.rows(every) if paths is None else [row for path in paths for row in self.rows(one, [os.fsencode(path)])]
        return {os.fsdecode(path): (blob, known) for path, blob, known in found}

    def indexed_paths(self) -> set[str]:
        """The files that can be searched."""
        return {os.fsdecode(path) for (path,) in self.rows("SELECT path FROM files WHERE reason = ''")}

    def set_committed(self, files: Mapping[str, tuple[str, bytes | None]], gone: Iterable[str] = ()) -> None:
        """Add or replace files of the commit, and remove those that it no longer has; call inside a transaction."""
        self._db.executemany("DELETE FROM committed WHERE path = ?", [(os.fsencode(path),) for path in gone])
        rows = [(os.fsencode(path), blob, known) for path, (blob, known) in files.items()]
        self._db.executemany("INSERT OR REPLACE INTO committed VALUES (?, ?, ?)", rows)

    def count_uncommitted(self) -> tuple[int, int]:
        """How many indexed files differ from the commit or are gone, and how many it does not have; none without a commit."""
        if not self.rows("SELECT 1 FROM committed LIMIT 1"):
            return 0, 0
        joined = "SELECT count(*) FROM files LEFT JOIN committed AS c USING (path) WHERE reason = '' AND"
        deleted = "SELECT count(*) FROM committed WHERE hash IS NOT NULL AND path NOT IN (SELECT path FROM files)"
        edited = f"{joined} c.path IS NOT NULL AND c.hash IS NOT files.hash"
        ((changed, new),) = self.rows(f"SELECT ({edited}) + ({deleted}), ({joined} c.path IS NULL)")
        return changed, new

    def skipped_files(self) -> list[Skipped]:
        """Files that were read and left out, with the reason."""
        rows = self.rows("SELECT path, reason FROM files WHERE reason != '' ORDER BY path")
        return [Skipped(os.fsdecode(path), reason) for path, reason in rows]

    def count_files(self) -> tuple[int, int]:
        """How many files are known, and how many of them were left out after reading."""
        ((known, unfit),) = self.rows("SELECT count(*), coalesce(sum(reason != ''), 0) FROM files")
        return known, unfit

    def count_skipped_places(self) -> int:
        """How many files and folders were left out without reading them."""
        ((count,),) = self.rows("SELECT count(*) FROM skipped")
        return int(count)

    def languages(self) -> list[tuple[str, int, int]]:
        """(language, files, bytes) of what is indexed."""
        return self.rows("SELECT language, count(*), sum(size) FROM files WHERE reason = '' GROUP BY language ORDER BY 3 DESC")

    # Derived files.
    def segments(self) -> list[SegmentRow]:
        """The derived files of the snapshot, oldest first."""
        rows = self.rows("SELECT id, name, files, bytes, size, checksum, mtime_ns, inode FROM segments ORDER BY id")
        return [SegmentRow(id_, name, files, total, Stamp(*stamp)) for id_, name, files, total, *stamp in rows]

    def dead_rows(self) -> dict[int, list[int]]:
        """The dead rows of each segment."""
        return _by_segment(self.rows("SELECT segment, row FROM dead"))

    def add_segment(self, name: str, files: int, total: int, stamp: Stamp) -> int:
        """List a derived file; call inside a transaction."""
        (number,) = self._db.execute("SELECT coalesce(max(id), 0) + 1 FROM segments").fetchone()
        values = (number, name, files, total, stamp.size, stamp.checksum, stamp.mtime_ns, stamp.inode)
        self._db.execute("INSERT INTO segments VALUES (?, ?, ?, ?, ?, ?, ?, ?)", values)
        return int(number)

    def vectors(self) -> dict[int, VectorRow]:
        """The vector file of each segment that has one."""
        rows = self.rows("SELECT segment, model, name, size, checksum, mtime_ns, inode FROM vectors")
        return {segment: VectorRow(segment, model, name, Stamp(*stamp)) for segment, model, name, *stamp in rows}

    def vectors_of(self, model: str) -> dict[int, VectorRow]:
        """The vector files of a model, by segment; none for an empty fingerprint."""
        return {segment: row for segment, row in self.vectors().items() if row.model == model} if model else {}

    def set_vectors(self, row: VectorRow) -> None:
        """List a segment's vector file in place of another; call inside a transaction."""
        stamp = row.stamp
        values = (row.segment, row.model, row.name, stamp.size, stamp.checksum, stamp.mtime_ns, stamp.inode)
        self._db.execute("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?, ?, ?, ?, ?)", values)

    def drop_vectors(self) -> None:
        """Delete all vectors; call inside a transaction."""
        self._db.execute("DELETE FROM vectors")

    def paths_of(self, segment: int) -> list[tuple[int, str]]:
        """The files of a segment that are alive: (row, path), in the order of rows."""
        found = self.rows("SELECT row, path FROM files WHERE segment = ? AND row >= 0 ORDER BY row", [segment])
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
            self._db.execute(
                "UPDATE dead SET segment = m.new, row = m.dest FROM moves AS m WHERE dead.segment = m.old AND dead.row = m.row"
            )
            self._db.execute("DELETE FROM dead WHERE segment = ?", (segment,))
            self._db.execute("DELETE FROM vectors WHERE segment = ?", (segment,))
            self._db.execute("DELETE FROM segments WHERE id = ?", (segment,))

    # Edges that something other than the parser found.
    def edges(self, provenance: str = "", *, intact: bool = False) -> list[Edge]:
        """All of them, or those of one provenance; `intact` ones only: those that match their checksums."""
        columns, which = "source, target, kind, provenance, confidence, line, seen, count", _INTACT_EDGE if intact else "TRUE"
        rows = self.rows(
            f"SELECT {columns} FROM edges WHERE ? IN ('', provenance) AND {which} ORDER BY path, source, target, kind, provenance",  # noqa: S608
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
        self.set_meta(edges=os.urandom(8).hex())  # outdates a stored graph

    def _file_of(self, key: str) -> bytes:
        """The path at the beginning of a symbol's key; a path may itself contain `#`."""
        paths = [os.fsencode(key[:at]) for at, letter in enumerate(key) if letter == "#"] or [os.fsencode(key)]
        known = (path for path in paths[1:] if self.rows("SELECT 1 FROM files WHERE path = ?", [path]))
        return next(known, paths[0])


def _by_segment(rows: Iterable[tuple[int, int]]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for segment, row in rows:
        found.setdefault(segment, []).append(row)
    return found

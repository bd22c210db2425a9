"""What all files of a snapshot say, as columns: the names that units mention, and what import statements bind."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from whence.graph.builder.imports import Binding, Imports
from whence.index.segment_writer import OF_RECEIVER, name_hash
from whence.index.snapshot import Snapshot
from whence.index.symbols import NameTable, scoped_key
from whence.storage.arrayfile import Array, unpack_strings
from whence.storage.rows import distinct, is_member
from whence.text.analyzer import WORD, normalize_identifier

#: Names that stand for something outside the source: a node without a place.
ENDPOINT_PREFIXES = ("route:", "env:", "process:")
#: The end of a longer import statement is not looked at for what it speaks of.
MOST_SPOKEN = 2000


@dataclass(frozen=True, slots=True)
class ReferenceColumns:
    """All mentions of the live units of a snapshot, as columns."""

    unit: Array
    kind: Array
    name: Array  # hashes
    receiver: Array
    sound: Array  # of the receiver, without case and underscores
    line: Array
    spoken_for: Array  # whether the receiver is the type that speaks, and no unit around the mention
    typed: Array  # how the receiver is written: 2 as a type is, 1 as a constant, or 0
    outside: Array  # row of `nodes`, or -1
    nodes: list[str]

    @classmethod
    def of(cls, snapshot: Snapshot) -> ReferenceColumns:
        """Read them from the segments."""
        columns: dict[str, list[Array]] = {name: [] for name in ("unit", "kind", "name", "receiver", "sound", "line", "typed", "outside")}
        nodes: dict[str, int] = {}
        for segment, base in zip(snapshot.segments, snapshot.unit_bases, strict=False):
            arrays = segment.arrays
            names = unpack_strings(arrays, "names").all()
            hashes = np.array([name_hash(text) if text else 0 for text in names], np.int64)
            sounds = np.array([name_hash(normalize_identifier(text)) if text else 0 for text in names], np.int64)
            places = np.array(
                [nodes.setdefault(text, len(nodes)) if text.startswith(ENDPOINT_PREFIXES) else -1 for text in names], np.int64
            )
            types = np.array([text[:1].isupper() * (2 - text.isupper()) for text in names], np.int8)
            name, receiver = arrays["relations.name"], arrays["relations.receiver"]
            columns["unit"].append(arrays["relations.unit"].astype(np.int64) + base)
            columns["kind"].append(arrays["relations.kind"])
            columns["name"].append(hashes[name])
            columns["receiver"].append(hashes[receiver])
            columns["sound"].append(sounds[receiver])
            columns["line"].append(arrays["relations.line"].astype(np.int64))
            columns["typed"].append(types[receiver])
            columns["outside"].append(places[name])
        whole = {name: np.concatenate(parts) if parts else np.empty(0, np.int64) for name, parts in columns.items()}
        live = snapshot.alive[snapshot.file_of_unit[whole["unit"]]] if len(whole["unit"]) else np.zeros(0, bool)
        whole = {name: column[live] for name, column in whole.items()}
        kind = whole.pop("kind").astype(np.int64)
        outside, names = _in_use(whole.pop("outside").astype(np.int64), list(nodes))
        return cls(kind=kind & ~OF_RECEIVER, spoken_for=(kind & OF_RECEIVER) > 0, outside=outside, nodes=names, **whole)


def _in_use(rows: Array, nodes: list[str]) -> tuple[Array, list[str]]:
    """Only the nodes that something still speaks of, in the order of their names: the same for an edited tree as for a new one."""
    kept = sorted(distinct(rows[rows >= 0]).tolist(), key=nodes.__getitem__)
    place = np.full(len(nodes) + 1, -1, np.int64)  # the last is for rows of -1
    place[kept] = np.arange(len(kept))
    return place[rows], [nodes[row] for row in kept]


@dataclass(frozen=True, slots=True)
class ImportBindings:
    """What the import statements of all files bind: (file, local name) -> (file, name there)."""

    table: NameTable  # (file, local) -> row of the columns below
    target: Array
    symbol: Array  # 0 where the local name stands for the file itself
    spoken: Array  # (file, word) of every word of an import statement, in order
    foreign: Array  # those of them that no statement of the file binds to a file here

    @classmethod
    def of(cls, snapshot: Snapshot, imports: Imports) -> ImportBindings:
        """Read and resolve the statements of all live files."""
        reader = _ReferenceReader(snapshot, imports)
        for file, statement in _statements(snapshot):
            reader.read(file, statement)
        found, spoken = reader.bound, reader.spoken
        columns = np.array(found, np.int64).reshape(-1, 4)
        table = NameTable(scoped_key(columns[:, 0], columns[:, 1]), np.arange(len(columns)))
        words = distinct(np.array(spoken, np.int64))
        return cls(table, columns[:, 2], columns[:, 3], words, words[~is_member(words, table.keys)])


class _ReferenceReader:
    """Reads statements; what was once read of one, files with the same statement have for nothing."""

    def __init__(self, snapshot: Snapshot, imports: Imports) -> None:
        self.bound: list[tuple[int, int, int, int]] = []
        self.spoken: list[int] = []
        self._snapshot, self._imports = snapshot, imports
        self._row_of = {path: row for row, path in enumerate(snapshot.paths) if snapshot.alive[row]}
        self._words: dict[str, list[int]] = {}
        self._rows: dict[int, tuple[tuple[Binding, ...], list[tuple[int, int, int]]]] = {}

    def read(self, file: int, statement: str) -> None:
        """Take in one statement of a file."""
        words = self._words.get(statement)
        if words is None:
            words = self._words[statement] = [name_hash(word) for word in dict.fromkeys(WORD.findall(statement[:MOST_SPOKEN]))]
        self.spoken += [file << 32 | word for word in words]
        found = self._imports.bindings(self._snapshot.languages[file], self._snapshot.paths[file], statement)
        if found:
            self.bound += [(file, *row) for row in self._known(found)]

    def _known(self, bindings: tuple[Binding, ...]) -> list[tuple[int, int, int]]:
        """(local name, file, name there) of bindings; the tuple itself is kept, so that its id stays its own."""
        known = self._rows.get(id(bindings))
        if known is None:
            rows = []
            for one in bindings:
                local, symbol = (name_hash(text) if text else 0 for text in (one.local, one.symbol))
                rows += [(local, self._row_of[path], symbol) for path in one.files if path in self._row_of]
            known = self._rows[id(bindings)] = (bindings, rows)
        return known[1]


def _statements(snapshot: Snapshot) -> list[tuple[int, str]]:
    found, base = [], 0
    for segment in snapshot.segments:
        texts = unpack_strings(segment.arrays, "imports").all()
        starts = np.concatenate([[0], segment.arrays["files.import_ends"]]).tolist()
        rows = segment.arrays["files.import_rows"].tolist()
        for file in range(segment.files):
            if snapshot.alive[base + file]:
                found += [(base + file, texts[row]) for row in rows[starts[file] : starts[file + 1]]]
        base += segment.files
    return found

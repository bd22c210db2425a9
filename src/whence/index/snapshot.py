"""One consistent view of an index: its segments read as if they were one.

Rows are dense over all segments, one after the other. Files that were deleted or
replaced since their segment was written are dead: their rows exist, but no
posting of theirs is ever returned.
"""

from __future__ import annotations

import zlib
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

import numpy as np

from whence.core.types import DocumentFrequency
from whence.index.name_parts import NameParts, PathParts
from whence.index.segment import SegmentReader
from whence.index.segment_writer import CONTENTS, DEFINES, KIND_NAMES, MIN_WORD_LENGTH, name_hash
from whence.index.symbols import SymbolTable
from whence.index.vectors import SegmentVectors, SnapshotVectors
from whence.storage.arrayfile import Array, Columns, unpack_strings
from whence.storage.rows import distinct, is_member

#: A name defined in more files than this says nothing of which one is meant.
MAX_DEFINITIONS = 3


class Snapshot:
    """Reads the segments of one snapshot together."""

    def __init__(self, segments: Sequence[SegmentReader], dead: Sequence[Array]) -> None:
        self.segments = list(segments)
        self.shared: Columns | None = None  # columns that depend on all files at once, worked out beforehand
        self.commits: Columns | None = None  # commits, where there are any: see `index.history`
        self.precedents: Array | None = None  # what commits say of each file of one question, where that was found out elsewhere
        self.vectors: SnapshotVectors | None = None  # of the model in use, where there are any
        self._dead = list(dead)
        self._columns: dict[str, Array] = {}
        self._masks: dict[str, Array] = {}
        self._spread: tuple[Array, Array] | None = None
        self._file_base = _bases([segment.files for segment in self.segments])
        self._unit_base = _bases([segment.units for segment in self.segments])
        self._window_base = _bases([segment.windows for segment in self.segments])
        self.files = int(self._file_base[-1])
        self.units = int(self._unit_base[-1])
        self.windows = int(self._window_base[-1])
        self.alive = np.concatenate([~gone for gone in self._dead]) if self._dead else np.zeros(0, bool)
        self._unit_alive = [
            _spread(~gone, segment.unit_ends) if gone.any() else None for segment, gone in zip(self.segments, self._dead, strict=True)
        ]
        self._window_alive = [
            _spread(~gone, segment.window_ends) if gone.any() else None for segment, gone in zip(self.segments, self._dead, strict=True)
        ]

    def open_vectors(self, parts: Mapping[int, SegmentVectors]) -> None:
        """Take in the vectors of some segments, by their place among all."""
        self.vectors = SnapshotVectors(list(parts.values()), [int(self._unit_base[place]) for place in parts])

    @cached_property
    def identity(self) -> str:
        """What tells this view from others of the same root: its segments, and what of them is alive."""
        return identity_of([segment.name for segment in self.segments], self.alive)

    @cached_property
    def unit_alive(self) -> Array | None:
        """A mask of the units that are alive; None when all are."""
        if all(mask is None for mask in self._unit_alive):
            return None
        masks = [
            np.ones(segment.units, bool) if mask is None else mask for segment, mask in zip(self.segments, self._unit_alive, strict=True)
        ]
        return np.concatenate(masks)

    # Counts of what is alive, which is what rarity is measured against.
    def term_counts(self, _: str) -> DocumentFrequency | None:
        """How many units, windows and files hold a term, where that is not to be counted here."""
        return None

    def count_files_with_word(self, word: str) -> int:
        """How many files mention a word exactly as written."""
        return len(self.files_with_word(word))

    @cached_property
    def live_files(self) -> int:
        """How many files the index holds."""
        return int(self.alive.sum())

    @cached_property
    def live_units(self) -> int:
        """How many units the index holds."""
        return _living(self._unit_alive, [segment.units for segment in self.segments])

    @cached_property
    def live_windows(self) -> int:
        """How many windows the index holds."""
        return _living(self._window_alive, [segment.windows for segment in self.segments])

    def column(self, name: str) -> Array:
        """A column of all files or all units."""
        if name not in self._columns:
            self._columns[name] = _joined([segment.arrays[name] for segment in self.segments])
        return self._columns[name]

    @cached_property
    def unit_starts(self) -> Array:
        """The first unit of each file, and one past the last of all."""
        return _starts([segment.unit_ends for segment in self.segments], self._unit_base)

    @cached_property
    def window_starts(self) -> Array:
        """The first window of each file, and one past the last of all."""
        return _starts([segment.window_ends for segment in self.segments], self._window_base)

    @cached_property
    def lead_starts(self) -> Array:
        """Where the terms of each unit's leading comment begin, and one past the last of all."""
        return np.concatenate([[0], np.cumsum(_sizes([segment.arrays["units.lead_ends"] for segment in self.segments]))])

    @cached_property
    def file_of_unit(self) -> Array:
        """The file of each unit."""
        return np.repeat(np.arange(self.files, dtype=np.int32), np.diff(self.unit_starts))

    @cached_property
    def outdated(self) -> Array:
        """Whether each file lies in a `vN/` folder that a higher N, or a file of its name outside such folders, stands beside."""
        versions, names = self.column("files.version"), self.column("files.name")
        versioned = versions >= 0
        if not (versioned & self.alive).any():
            return np.zeros(self.files, bool)
        newest = int(versions[self.alive].max())
        outside = distinct(names[self.alive & ~versioned])
        return versioned & ((versions < newest) | is_member(names, outside))

    @cached_property
    def _order(self) -> Array:
        """The place of each file among all, by path."""
        if self.shared is not None and "order" in self.shared:
            return self.shared["order"]
        return self.count_order()

    def count_order(self) -> Array:
        """The same, worked out."""
        place = np.empty(self.files, np.uint32)
        place[sorted(range(self.files), key=self.paths.__getitem__)] = np.arange(self.files, dtype=np.uint32)
        return place

    def file_order(self, files: Array) -> Array:
        """Where files stand in the order of their paths, which is the same however they were indexed."""
        return self._order[files]

    def unit_order(self, units: Array) -> Array:
        """Where units stand in the order of paths and lines."""
        return self._order[self.file_of_unit[units]].astype(np.int64) << 32 | units

    def content_mask(self, content: str) -> Array:
        """A mask of the files with one kind of content; the same array every time, not to be written to."""
        if content not in self._masks:
            self._masks[content] = self.alive & (self.column("files.content") == CONTENTS.index(content))
        return self._masks[content]

    def unit_mask(self, files: Array) -> Array:
        """A mask over files as one over units; the last is remembered, for most queries ask for the same."""
        known = self._spread  # taken once: another thread may ask for others meanwhile
        if known is None or known[0] is not files:
            self._spread = known = (files, np.repeat(files, np.diff(self.unit_starts)))
        return known[1]

    @cached_property
    def languages(self) -> list[str]:
        """The language of each file."""
        return [name for segment in self.segments for name in segment.languages()]

    @cached_property
    def unit_bases(self) -> list[int]:
        """The first unit of each segment."""
        return [int(base) for base in self._unit_base[:-1]]

    @cached_property
    def file_bases(self) -> list[int]:
        """The first file of each segment."""
        return [int(base) for base in self._file_base[:-1]]

    def path(self, file: int) -> str:
        """The path of a file, relative to the root."""
        at = bisect_right(self.file_bases, file) - 1
        return self.segments[at].paths[file - self.file_bases[at]]

    @cached_property
    def paths(self) -> list[str]:
        """The paths of all files, dead ones too."""
        return [path for segment in self.segments for path in segment.paths.all()]

    def parsed_of(self, path: str) -> bytes | None:
        """What was parsed of a file, packed; None when it is not here."""
        for segment, gone in zip(self.segments, self._dead, strict=True):
            row = segment.paths.scan(path)
            if row >= 0 and not gone[row]:
                return segment.parsed_of(row)
        return None

    def unit_name(self, unit: int) -> str:
        """The name of a unit; empty for a run of lines."""
        at = bisect_right(self.unit_bases, unit) - 1
        return self.segments[at].unit_names[unit - self.unit_bases[at]]

    def kind(self, unit: int) -> str:
        """The kind of a unit."""
        return KIND_NAMES[int(self.kinds[unit])]

    @cached_property
    def kinds(self) -> Array:
        """The kind of each unit, as a row of `KIND_NAMES`."""
        return self.column("units.kind")

    # Postings, over all segments, of what is alive. A term is looked up once, then read by its rows.
    def find_term(self, term: str) -> tuple[int, ...]:
        """A term's row in each segment, -1 where it does not occur."""
        return tuple(segment.find_term(term) for segment in self.segments)

    def unit_postings(self, rows: tuple[int, ...]) -> tuple[Array, Array]:
        """The units that hold a term, and the code of each."""
        return self._postings(rows, lambda segment, row: segment.unit_postings(row), self._unit_base, self._unit_alive)

    def window_postings(self, rows: tuple[int, ...]) -> tuple[Array, Array]:
        """The windows that hold a term, and how often."""
        return self._postings(rows, lambda segment, row: segment.window_postings(row), self._window_base, self._window_alive)

    def path_postings(self, rows: tuple[int, ...]) -> tuple[Array, Array]:
        """The files on whose path a term stands, and where."""
        alive = [~gone if gone.any() else None for gone in self._dead]
        return self._postings(rows, lambda segment, row: segment.path_postings(row), self._file_base, alive)

    def _postings(
        self, rows: tuple[int, ...], read: Callable[[SegmentReader, int], tuple[Array, Array]], bases: Array, alive: Sequence[Array | None]
    ) -> tuple[Array, Array]:
        found = []
        for segment, row, base, mask in zip(self.segments, rows, bases.tolist(), alive, strict=False):
            if row < 0:
                continue
            places, values = read(segment, row)
            if mask is not None:
                keep = mask[places]
                places, values = places[keep], values[keep]
            found.append((places + base if base else places, values))
        if len(found) == 1:
            return found[0]
        if not found:
            return np.empty(0, np.uint32), np.empty(0, np.uint32)
        return np.concatenate([places for places, _ in found]), np.concatenate([values for _, values in found])

    def files_with_word(self, word: str) -> Array:
        """The files that mention a word exactly as written (words too short to tell: none)."""
        return self._mentions(name_hash(word)) if len(word) >= MIN_WORD_LENGTH else np.empty(0, np.int64)

    def _mentions(self, hashed: int) -> Array:
        found = []
        for segment, base, gone in zip(self.segments, self._file_base.tolist(), self._dead, strict=False):
            rows = segment.files_with_word(hashed)
            found.append((rows[~gone[rows]] if gone.any() else rows).astype(np.int64) + base)
        return np.concatenate(found) if found else np.empty(0, np.int64)

    def definitions(self, name: str) -> Array:
        """The units that define a name exactly as written."""
        rows = np.flatnonzero(self.column("units.name_hash") == name_hash(name))
        flags = self.column("units.flags")
        live = self.alive[self.file_of_unit[rows]] if len(rows) else rows
        return np.array(
            [
                row
                for row, ok in zip(rows.tolist(), np.asarray(live).tolist(), strict=True)
                if ok and flags[row] & DEFINES and self.unit_name(row) == name
            ],
            np.int64,
        )

    @cached_property
    def path_parts(self) -> PathParts:
        """The words of all paths."""
        tables = [unpack_strings(segment.arrays, "parts").all() for segment in self.segments]
        names = tables[0] if len(tables) == 1 else sorted(set().union(*tables))
        row = {name: number for number, name in enumerate(names)} if len(tables) != 1 else {}
        columns: list[tuple[Array, Array]] = []
        for ends, parts in (("files.stem_ends", "files.stem_parts"), ("files.directory_ends", "files.directory_parts")):
            sizes = [np.diff(segment.arrays[ends], prepend=np.uint32(0)) for segment in self.segments]
            values = [segment.arrays[parts] for segment in self.segments]
            if len(tables) != 1:
                maps = [np.array([row[name] for name in table], np.int64) for table in tables]
                values = [mapped[value] for mapped, value in zip(maps, values, strict=True)]
            columns.append((np.concatenate([[0], np.cumsum(_joined(sizes), dtype=np.int64)]), _joined(values)))
        return PathParts(names, columns[0], columns[1], self.alive)

    def release(self) -> None:
        """Part with what refers back to it: it is made again for whoever still asks."""
        self.__dict__.pop("symbols", None)

    @cached_property
    def symbols(self) -> SymbolTable:
        """The units as symbols: what encloses them, where a name is defined."""
        return SymbolTable(self)

    @cached_property
    def name_parts(self) -> NameParts:
        """The words of all names."""
        tables = [unpack_strings(segment.arrays, "name_parts").all() for segment in self.segments]
        names = sorted(set().union(*tables))
        row = {name: number for number, name in enumerate(names)}
        values = [
            np.array([row[name] for name in table], np.int64)[segment.arrays["units.parts"]]
            for table, segment in zip(tables, self.segments, strict=True)
        ]
        starts = np.concatenate([[0], np.cumsum(_sizes([segment.arrays["units.part_ends"] for segment in self.segments]))])
        return NameParts(names, starts, _joined(values), self.symbols.defines)

    @cached_property
    def centrality(self) -> Array:
        """For each file, how many other files mention a name that it defines (and few others do).

        It depends on every file, so it is counted once for each snapshot and kept in a file of its own.
        """
        return self.shared["centrality"] if self.shared is not None else self.count_centrality()

    @cached_property
    def recency(self) -> Array:
        """For each file its past changes, each counting less the older it is; zeros where there is no history."""
        known = self.shared is not None and "recency" in self.shared
        return self.shared["recency"] if known and self.shared is not None else np.zeros(self.files, np.float32)

    def count_centrality(self) -> Array:
        """Centrality from the tables of definitions and mentions."""
        hashes, owners = self._defined_names()
        names, first, counts = np.unique(hashes, return_index=True, return_counts=True)
        eligible = counts <= MAX_DEFINITIONS
        pairs = []
        for segment, base, gone in zip(self.segments, self._file_base.tolist(), self._dead, strict=False):
            table, offsets = segment.arrays["mentions.hash"], segment.arrays["mentions.files"]
            row = np.searchsorted(names, table)
            known = (
                (row < len(names)) & (names[np.minimum(row, max(len(names) - 1, 0))] == table) if len(names) else np.zeros(len(table), bool)
            )
            known[known] &= eligible[row[known]]
            wanted = np.repeat(known, np.diff(offsets))
            mention = segment.arrays["postings.mention"][wanted].astype(np.int64)
            name = np.repeat(row[known], np.diff(offsets)[known])
            keep = ~gone[mention]
            mention, name = mention[keep] + base, name[keep]
            for nth in range(MAX_DEFINITIONS):
                has = counts[name] > nth
                definer = owners[first[name[has]] + nth]
                pairs.append((definer * self.files + mention[has])[definer != mention[has]])
        known_pairs = distinct(np.concatenate(pairs)) if pairs else np.empty(0, np.int64)
        return np.bincount(known_pairs // max(self.files, 1), minlength=self.files).astype(np.uint32)

    def _defined_names(self) -> tuple[Array, Array]:
        """(hash of name, file) of every distinct definition, sorted by hash, then file."""
        hashes, flags = self.column("units.name_hash"), self.column("units.flags")
        owners = self.file_of_unit
        lengths = (
            np.concatenate([np.diff(segment.arrays["units.name.ends"], prepend=np.uint32(0)) for segment in self.segments])
            if self.segments
            else np.empty(0, np.uint32)
        )
        keep = ((flags & DEFINES) > 0) & (lengths >= MIN_WORD_LENGTH) & self.alive[owners]
        key = distinct(hashes[keep].astype(np.int64) << 32 | owners[keep])
        return (key >> 32).astype(np.uint32), key & 0xFFFFFFFF


def identity_of(segments: Sequence[str], alive: Array) -> str:
    """What tells a view of some segments, of whose files some are alive, from others of the same root."""
    return f"{zlib.crc32(' '.join(segments).encode()):08x}{zlib.crc32(np.packbits(alive).tobytes()):08x}{len(alive):x}"


def _living(masks: Sequence[Array | None], sizes: Sequence[int]) -> int:
    return sum(int(mask.sum()) if mask is not None else size for mask, size in zip(masks, sizes, strict=True))


def _bases(sizes: list[int]) -> Array:
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def _joined(arrays: list[Array]) -> Array:
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays) if arrays else np.empty(0, np.int64)


def _starts(ends: list[Array], bases: Array) -> Array:
    return np.concatenate([[0], *(found.astype(np.int64) + base for found, base in zip(ends, bases.tolist(), strict=False))])


def _sizes(ends: list[Array]) -> Array:
    return _joined([np.diff(found, prepend=np.uint32(0)).astype(np.int64) for found in ends])


def _spread(values: Array, ends: Array) -> Array:
    return np.repeat(values, np.diff(ends, prepend=np.uint32(0)))

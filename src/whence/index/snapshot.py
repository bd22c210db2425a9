"""A snapshot: all segments of an index read as one.

Rows are numbered through all segments. A file that was deleted or replaced since its segment was written is dead: its
rows exist, but none of its postings is ever returned.
"""

from __future__ import annotations

import zlib
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from whence.core.types import MIN_WORD_LENGTH, DocumentFrequency
from whence.index.segment import CONTENTS, DEFINES, ERROR_LINES, KIND_NAMES, SegmentReader, fold_name, name_hash, unpack_parsed
from whence.index.vectors import SegmentVectors, SnapshotVectors
from whence.storage.arrayfile import Array, Columns, unpack_strings
from whence.storage.postings import distinct, is_member
from whence.text.bm25 import idf

if TYPE_CHECKING:
    from whence.index.symbols import SymbolTable

#: A name defined in more files than this does not tell which one is meant.
MAX_DEFINITIONS = 3

#: Cached matches of a query: by a word and its stem, the parts that match it and how well.
KnownMatches = dict[tuple[str, str], tuple[Array, Array]]


class PathParts:
    """The words of all paths; stems and nearest directories of files are rows of them."""

    def __init__(self, names: list[str], stems: tuple[Array, Array], directories: tuple[Array, Array], alive: Array) -> None:
        self.names = names
        self.known: KnownMatches = {}
        self.stem_starts, self.stem_parts = stems
        self.directory_starts, self.directory_parts = directories
        files = len(alive)
        owner = np.concatenate([_owners(self.stem_starts), _owners(self.directory_starts)])
        part = np.concatenate([self.stem_parts, self.directory_parts])
        keep = alive[owner]
        pairs = distinct(part[keep].astype(np.int64) * max(files, 1) + owner[keep])
        self.seen_in = np.bincount(pairs // max(files, 1), minlength=len(names))  # in how many files
        self.set_counts(self.seen_in, int(alive.sum()))

    def set_counts(self, seen_in: Array, total: int) -> None:
        """Compute the idf of each part from the number of files that have it."""
        self.seen_in = seen_in
        self.idf = idf(total, seen_in)
        self.max_idf = float(idf(total, np.array(0)))

    @cached_property
    def files_by_stem_part(self) -> tuple[Array, Array]:
        """The files with each part in their stem: (offsets, files)."""
        return _inverted(self.stem_starts, self.stem_parts, len(self.names))

    @cached_property
    def files_by_directory_part(self) -> tuple[Array, Array]:
        """The files with each part in their nearest directories: (offsets, files)."""
        return _inverted(self.directory_starts, self.directory_parts, len(self.names))


class NameParts:
    """The words in the names of all units; those of each unit are rows of them."""

    def __init__(self, names: list[str], starts: Array, parts: Array, counted: Array) -> None:
        self.names, self.starts, self.parts = names, starts, parts
        self.known: KnownMatches = {}
        total = int(counted.sum())
        seen = np.bincount(parts[np.repeat(counted, np.diff(starts))], minlength=len(names))
        self.idf = idf(total, seen)


def _owners(starts: Array) -> Array:
    return np.repeat(np.arange(len(starts) - 1), np.diff(starts))


def _inverted(starts: Array, parts: Array, count: int) -> tuple[Array, Array]:
    owner = _owners(starts)
    order = np.argsort(parts, kind="stable")
    offsets = np.searchsorted(parts[order], np.arange(count + 1))
    return offsets, owner[order]


class Snapshot:
    """The segments of one generation. `shared`, `commits` and `vectors` are there where they have been computed."""

    def __init__(self, segments: Sequence[SegmentReader], dead: Sequence[Array]) -> None:
        self.segments = list(segments)
        self.shared: Columns | None = None  # columns that depend on all files together
        self.commits: Columns | None = None  # see `index.history`
        self.precedents: Array | None = None  # the commit score of each file for one query, if it was computed elsewhere
        self.vectors: SnapshotVectors | None = None  # of the model in use
        self._dead = list(dead)
        self._columns: dict[str, Array] = {}
        self._masks: dict[str, Array] = {}
        self._last_unit_mask: tuple[Array, Array] | None = None
        self._file_base = _bases([segment.files for segment in self.segments])
        self._unit_base = _bases([segment.units for segment in self.segments])
        self._window_base = _bases([segment.windows for segment in self.segments])
        self.files = int(self._file_base[-1])
        self.units = int(self._unit_base[-1])
        self.windows = int(self._window_base[-1])
        self.alive = np.concatenate([~gone for gone in self._dead]) if self._dead else np.zeros(0, bool)
        pairs = list(zip(self.segments, self._dead, strict=True))
        self._unit_alive = [np.repeat(~gone, _sizes(segment.unit_ends)) if gone.any() else None for segment, gone in pairs]
        self._window_alive = [np.repeat(~gone, _sizes(segment.window_ends)) if gone.any() else None for segment, gone in pairs]

    def set_vectors(self, parts: Mapping[int, SegmentVectors]) -> None:
        """Set the vectors of some segments, by their position among all."""
        self.vectors = SnapshotVectors(list(parts.values()), [int(self._unit_base[place]) for place in parts])

    @cached_property
    def id(self) -> str:
        """Tells this snapshot from others of the same root: by its segments, and by which of their files are alive."""
        return snapshot_id([segment.name for segment in self.segments], self.alive)

    @cached_property
    def unit_alive(self) -> Array | None:
        """A mask of the live units; None if all are alive."""
        if all(mask is None for mask in self._unit_alive):
            return None
        masks = [
            np.ones(segment.units, bool) if mask is None else mask for segment, mask in zip(self.segments, self._unit_alive, strict=True)
        ]
        return np.concatenate(masks)

    # How much is alive: idf is computed from these.
    def term_counts(self, _: str) -> DocumentFrequency | None:
        """How many units, windows and files contain a term, if that was counted elsewhere."""
        return None

    def count_files_with_word(self, word: str) -> int:
        """How many files contain a word exactly as written."""
        return len(self.files_with_word(word))

    @cached_property
    def live_files(self) -> int:
        """How many files are alive."""
        return int(self.alive.sum())

    @cached_property
    def live_units(self) -> int:
        """How many units are alive."""
        return _living(self._unit_alive, [segment.units for segment in self.segments])

    @cached_property
    def live_windows(self) -> int:
        """How many windows are alive."""
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
        return self._list_starts("units.lead_ends")

    def _list_starts(self, ends: str) -> Array:
        """Where the list of each file or unit begins, and one past the last, from the ends in each segment."""
        sizes = [_sizes(segment.arrays[ends]).astype(np.int64) for segment in self.segments]
        return np.concatenate([[0], np.cumsum(_joined(sizes))])

    @cached_property
    def file_of_unit(self) -> Array:
        """The file of each unit."""
        return np.repeat(np.arange(self.files, dtype=np.int32), np.diff(self.unit_starts))

    @cached_property
    def outdated(self) -> Array:
        """Whether each file is in a `vN/` folder although there is a higher N, or a file of the same name outside such folders."""
        versions, names = self.column("files.version"), self.column("files.name")
        versioned = versions >= 0
        if not (versioned & self.alive).any():
            return np.zeros(self.files, bool)
        newest = int(versions[self.alive].max())
        outside = distinct(names[self.alive & ~versioned])
        return versioned & ((versions < newest) | is_member(names, outside))

    @cached_property
    def _order(self) -> Array:
        if self.shared is not None and "order" in self.shared:
            return self.shared["order"]
        return self.compute_order()

    def compute_order(self) -> Array:
        """The position of each file in the order of paths."""
        place = np.empty(self.files, np.uint32)
        place[sorted(range(self.files), key=self.paths.__getitem__)] = np.arange(self.files, dtype=np.uint32)
        return place

    def file_order(self, files: Array) -> Array:
        """The position of files in the order of paths, which does not depend on when they were indexed."""
        return self._order[files]

    def unit_order(self, units: Array) -> Array:
        """A sort key for units: by path, then line."""
        return self._order[self.file_of_unit[units]].astype(np.int64) << 32 | units

    def content_mask(self, content: str) -> Array:
        """A mask of the live files with one kind of content. The same array every time: do not write to it."""
        if content not in self._masks:
            self._masks[content] = self.alive & (self.column("files.content") == CONTENTS.index(content))
        return self._masks[content]

    def unit_mask(self, files: Array) -> Array:
        """A mask over files as one over units. The last one is cached: most queries ask for the same."""
        known = self._last_unit_mask  # read once: another thread may replace it meanwhile
        if known is None or known[0] is not files:
            self._last_unit_mask = known = (files, np.repeat(files, np.diff(self.unit_starts)))
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

    def units_around(self, file: int, line: int) -> Array:
        """The units of a file that contain a line, the innermost first."""
        own = slice(int(self.unit_starts[file]), int(self.unit_starts[file + 1]))
        first, last = self.column("units.first")[own].astype(np.int64), self.column("units.last")[own].astype(np.int64)
        around = np.flatnonzero((first <= line) & (line <= last))
        return own.start + around[np.argsort((last - first)[around], kind="stable")]

    def path(self, file: int) -> str:
        """The path of a file, relative to the root."""
        at = bisect_right(self.file_bases, file) - 1
        return self.segments[at].paths[file - self.file_bases[at]]

    @cached_property
    def paths(self) -> list[str]:
        """The paths of all files, dead ones too."""
        return [path for segment in self.segments for path in segment.paths.all()]

    def parsed_of(self, path: str) -> bytes | None:
        """The parsed form of a live file, compressed; None if there is no such file."""
        for segment, gone in zip(self.segments, self._dead, strict=True):
            for row in segment.paths.scan(path):
                if not gone[row]:
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

    # Postings of live rows over all segments. A term is looked up once, then read by its rows.
    def find_term(self, term: str) -> tuple[int, ...]:
        """A term's row in each segment, -1 where it does not occur."""
        return tuple(segment.find_term(term) for segment in self.segments)

    def unit_postings(self, rows: tuple[int, ...]) -> tuple[Array, Array]:
        """The units that contain a term, and the code of each."""
        return self._postings(rows, lambda segment, row: segment.unit_postings(row), self._unit_base, self._unit_alive)

    def window_postings(self, rows: tuple[int, ...]) -> tuple[Array, Array]:
        """The windows that contain a term, and how often."""
        return self._postings(rows, lambda segment, row: segment.window_postings(row), self._window_base, self._window_alive)

    def path_postings(self, rows: tuple[int, ...]) -> tuple[Array, Array]:
        """The files with a term in their path, and where in it."""
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
        """The files that contain a word exactly as written; short words are not indexed."""
        if len(word) < MIN_WORD_LENGTH:
            return np.empty(0, np.int64)
        hashed, found = name_hash(word), []
        for segment, base, gone in zip(self.segments, self._file_base.tolist(), self._dead, strict=False):
            rows = segment.files_with_word(hashed)
            found.append((rows[~gone[rows]] if gone.any() else rows).astype(np.int64) + base)
        return np.concatenate(found) if found else np.empty(0, np.int64)

    def possible_files(self, find: Callable[[bytes, Any, Any], set[int] | None]) -> Array:
        """A mask of the files whose words may satisfy `find`, which is called with the words of each segment and their files."""
        masks = []
        for segment in self.segments:
            mask = np.ones(segment.files, bool)
            if "mentions.words" in segment.arrays:
                columns = (segment.arrays[name].data for name in ("mentions.files", "postings.mention"))
                rows = find(segment.arrays["mentions.words"].tobytes(), *columns)
                if rows is not None:
                    mask[:] = False
                    mask[list(rows)] = True
            masks.append(mask)
        return np.concatenate(masks) if masks else np.zeros(0, bool)

    def parse_errors(self) -> dict[str, tuple[int, int]]:
        """Languages whose grammars could not read everything: how many files have such lines, and how many lines those are."""
        lines = self.column(ERROR_LINES)
        found: dict[str, tuple[int, int]] = {}
        for row in np.flatnonzero(self.alive & (lines > 0)).tolist():
            files, total = found.get(self.languages[row], (0, 0))
            found[self.languages[row]] = (files + 1, total + int(lines[row]))
        return dict(sorted(found.items(), key=lambda one: (-one[1][1], one[0])))

    def misread_files_with(self, word: str) -> list[tuple[str, tuple[tuple[int, int], ...]]]:
        """Files that contain a word and did not parse cleanly: the path of each, and the lines its grammar could not read."""
        rows = self.files_with_word(word)
        paths = sorted(self.path(row) for row in rows[self.column(ERROR_LINES)[rows] > 0].tolist()) if len(rows) else []
        return [(path, unpack_parsed(blob).errors) for path in paths if (blob := self.parsed_of(path)) is not None]

    def definitions(self, name: str) -> Array:
        """The units that define a name exactly as written."""
        return np.array([row for row in self._defining("units.name_hash", name) if self.unit_name(row) == name], np.int64)

    def definitions_like(self, name: str) -> Array:
        """The units that define a name when case and underscores are ignored."""
        folded = fold_name(name)
        return np.array([row for row in self._defining("units.sound_hash", folded) if fold_name(self.unit_name(row)) == folded], np.int64)

    def _defining(self, column: str, name: str) -> list[int]:
        rows = np.flatnonzero(self.column(column) == name_hash(name))
        found: list[int] = rows[self.alive[self.file_of_unit[rows]] & (self.column("units.flags")[rows] & DEFINES > 0)].tolist()
        return found

    @cached_property
    def path_parts(self) -> PathParts:
        """The words of all paths."""
        tables = [unpack_strings(segment.arrays, "parts").all() for segment in self.segments]
        names = tables[0] if len(tables) == 1 else sorted(set().union(*tables))
        row = {name: number for number, name in enumerate(names)} if len(tables) != 1 else {}
        columns: list[tuple[Array, Array]] = []
        for ends, parts in (("files.stem_ends", "files.stem_parts"), ("files.directory_ends", "files.directory_parts")):
            values = [segment.arrays[parts] for segment in self.segments]
            if len(tables) != 1:
                maps = [np.array([row[name] for name in table], np.int64) for table in tables]
                values = [mapped[value] for mapped, value in zip(maps, values, strict=True)]
            columns.append((self._list_starts(ends), _joined(values)))
        return PathParts(names, columns[0], columns[1], self.alive)

    def release(self) -> None:
        """Drop what refers back to the snapshot, so that nothing keeps it alive; it is made again if needed."""
        self.__dict__.pop("symbols", None)

    @cached_property
    def symbols(self) -> SymbolTable:
        """The units as symbols."""
        from whence.index.symbols import SymbolTable  # noqa: PLC0415  -- a search does without

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
        return NameParts(names, self._list_starts("units.part_ends"), _joined(values), self.symbols.defines)

    @cached_property
    def centrality(self) -> Array:
        """For each file, how many other files use a name that it defines (and few others do). Stored with the shared columns."""
        return self.shared["centrality"] if self.shared is not None else self.compute_centrality()

    @cached_property
    def recency(self) -> Array:
        """For each file the weight of its changes, older ones counting less; zeros without a history."""
        known = self.shared is not None and "recency" in self.shared
        return self.shared["recency"] if known and self.shared is not None else np.zeros(self.files, np.float32)

    def compute_centrality(self) -> Array:
        """Centrality, from the tables of definitions and words."""
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
        lengths = _joined([_sizes(segment.arrays["units.name.ends"]) for segment in self.segments])
        keep = ((flags & DEFINES) > 0) & (lengths >= MIN_WORD_LENGTH) & self.alive[owners]
        key = distinct(hashes[keep].astype(np.int64) << 32 | owners[keep])
        return (key >> 32).astype(np.uint32), key & 0xFFFFFFFF


def snapshot_id(segments: Sequence[str], alive: Array) -> str:
    """Identifies a snapshot by the names of its segments and a mask of the live files."""
    return f"{zlib.crc32(' '.join(segments).encode()):08x}{zlib.crc32(np.packbits(alive).tobytes()):08x}{len(alive):x}"


def _living(masks: Sequence[Array | None], sizes: Sequence[int]) -> int:
    return sum(int(mask.sum()) if mask is not None else size for mask, size in zip(masks, sizes, strict=True))


def _bases(sizes: list[int]) -> Array:
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def _joined(arrays: list[Array]) -> Array:
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays) if arrays else np.empty(0, np.int64)


def _starts(ends: list[Array], bases: Array) -> Array:
    return np.concatenate([[0], *(found.astype(np.int64) + base for found, base in zip(ends, bases.tolist(), strict=False))])


def _sizes(ends: Array) -> Array:
    return np.diff(ends, prepend=np.uint32(0))

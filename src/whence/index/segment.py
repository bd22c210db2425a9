"""A segment: the postings and columns of some files, immutable. Several can be merged into one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np

from whence.core.errors import IndexDamaged
from whence.index.parsed import blob_arrays
from whence.index.relations import merge_relations
from whence.index.segment_writer import mention_arrays, mention_keys, unit_arrays, window_arrays
from whence.storage.arrayfile import Array, ArrayFile, Columns, Stamp, StringTable, narrow, pack_strings, unpack_strings
from whence.storage.postings import UNIT_STEP, WINDOW_STEP, Lists, Steps, decode, read, unpack_windows

#: Columns with one value per file or unit, which a merge simply strings together.
FILE_COLUMNS = (
    "files.content",
    "files.bytes",
    "files.roles",
    "files.depth",
    "files.version",
    "files.name",
    "files.stem",
    "files.singular_stem",
)
UNIT_COLUMNS = (
    "units.first",
    "units.last",
    "units.kind",
    "units.flags",
    "units.name_hash",
    "units.scope_hash",
    "units.sound_hash",
    "units.full_hash",
)


class SegmentReader(Protocol):
    """The files of one segment, wherever they are stored. Rows are its own: files, units and windows each count from 0."""

    name: str
    files: int
    units: int
    windows: int
    unit_ends: Array  # one past the last unit of each file
    window_ends: Array
    paths: StringTable
    unit_names: StringTable

    @property
    def arrays(self) -> Columns:
        """Its columns by name."""

    def languages(self) -> list[str]:
        """The language of each file."""

    def parsed_of(self, row: int) -> bytes:
        """What was parsed of a file, packed."""

    def find_term(self, term: str) -> int:
        """The key of a term for the postings below, or -1."""

    def unit_postings(self, term: int) -> tuple[Array, Array]:
        """The units that contain a term, and the code of each."""

    def window_postings(self, term: int) -> tuple[Array, Array]:
        """The windows that contain a term, and how often (up to a ceiling)."""

    def path_postings(self, term: int) -> tuple[Array, Array]:
        """The files with a term in their path, and where in it."""

    def mentions(self, hashed: int) -> Array:
        """The files that mention a word, by its hash."""


class Segment:
    """A segment in an array file."""

    def __init__(self, file: ArrayFile) -> None:
        self.arrays, self.name = file, file.path.name
        self.terms = unpack_strings(file, "terms")
        self.paths = unpack_strings(file, "files.path")
        self.unit_names = unpack_strings(file, "units.name")
        self.unit_ends = file["files.units"]
        self.window_ends = file["files.windows"]
        self.files = len(self.unit_ends)
        self.units = len(file["units.first"])
        self.windows = int(self.window_ends[-1]) if self.files else 0

    def languages(self) -> list[str]:
        """The language of each file."""
        names = unpack_strings(self.arrays, "languages").all()
        return [names[row] for row in self.arrays["files.language"].tolist()]

    def parsed_of(self, row: int) -> bytes:
        """What was parsed of a file, packed."""
        ends = self.arrays["parsed.ends"]
        return self.arrays["parsed.blob"][int(ends[row - 1]) if row else 0 : int(ends[row])].tobytes()

    def find_term(self, term: str) -> int:
        """The row of a term, or -1."""
        return self.terms.find(term)

    def unit_postings(self, term: int) -> tuple[Array, Array]:
        """The units that contain a term, and the code of each."""
        a, b = self.arrays["terms.units"][term : term + 2].tolist()
        first = int(self.arrays["terms.first_unit"][term])
        return read(first, self.arrays["postings.unit"][a:b], self.arrays["postings.code"][a:b], self.units > UNIT_STEP)

    def window_postings(self, term: int) -> tuple[Array, Array]:
        """The windows that hold a term, and how often (up to a ceiling)."""
        a, b = self.arrays["terms.windows"][term : term + 2].tolist()
        first = int(self.arrays["terms.first_window"][term])
        return read(first, *unpack_windows(self.arrays["postings.window"][a:b]), self.windows > WINDOW_STEP)

    def path_postings(self, term: int) -> tuple[Array, Array]:
        """The files on whose path a term stands, and where."""
        table = self.arrays["paths.term"]
        a, b = np.searchsorted(table, np.array([term, term + 1], table.dtype))  # of its own type: else all of it is converted
        return self.arrays["paths.file"][a:b], self.arrays["paths.place"][a:b]

    def mentions(self, hashed: int) -> Array:
        """The files that mention a word, by its hash."""
        table = self.arrays["mentions.hash"]
        row = int(np.searchsorted(table, table.dtype.type(hashed)))
        if row >= len(table) or int(table[row]) != hashed:
            return np.empty(0, np.uint32)
        a, b = self.arrays["mentions.files"][row : row + 2].tolist()
        return self.arrays["postings.mention"][a:b]


def open_segment(path: Path, stamp: Stamp) -> Segment:
    """Open a segment, checking that it is what was written."""
    try:
        return Segment(ArrayFile(path, stamp))
    except (KeyError, ValueError, TypeError) as error:
        raise IndexDamaged(f"{path.name} lacks {error}") from error


@dataclass(frozen=True, slots=True)
class _Part:
    """A segment in a merge: which of its files stay, and the rows they get."""

    segment: Segment
    keep: Array
    file_rows: Array  # new row of each file, -1 for those that go
    unit_rows: Array
    window_rows: Array


def merge(segments: Sequence[tuple[Segment, Array]]) -> dict[str, Array]:
    """The arrays of one segment with the kept files of several, in the given order."""
    parts = _parts(segments)
    names, term_rows = _joined_vocabulary([part.segment.terms for part in parts])
    found = {**pack_strings("terms", names), **_columns(parts), **_path_columns(parts)}
    found |= _merged_units(parts, term_rows, len(names))
    found |= _merged_windows(parts, term_rows, len(names))
    found |= _merged_path_terms(parts, term_rows)
    found |= _merged_mentions(parts)
    found |= blob_arrays([part.segment.parsed_of(row) for part in parts for row in np.flatnonzero(part.keep).tolist()])
    return found | merge_relations([(part.segment.arrays, part.keep, part.unit_rows) for part in parts])


def kept_unit_rows(segments: Sequence[tuple[Segment, Array]]) -> list[Array]:
    """The new row of each unit in a merge, -1 for those that go."""
    return [part.unit_rows for part in _parts(segments)]


def _parts(segments: Sequence[tuple[Segment, Array]]) -> list[_Part]:
    parts, files, units, windows = [], 0, 0, 0
    for segment, keep in segments:
        unit_keep = np.repeat(keep, np.diff(segment.unit_ends, prepend=np.uint32(0)))
        window_keep = np.repeat(keep, np.diff(segment.window_ends, prepend=np.uint32(0)))
        parts.append(_Part(segment, keep, _rows(keep, files), _rows(unit_keep, units), _rows(window_keep, windows)))
        files, units, windows = files + int(keep.sum()), units + int(unit_keep.sum()), windows + int(window_keep.sum())
    return parts


def _rows(keep: Array, first: int) -> Array:
    return np.where(keep, np.cumsum(keep) - 1 + first, -1).astype(np.int32)


def _joined_vocabulary(tables: Sequence[StringTable]) -> tuple[list[str], list[Array]]:
    """All strings of several sorted tables, and where each table's rows went."""
    lists = [table.all() for table in tables]
    names = sorted(set().union(*lists)) if lists else []
    row = {name: number for number, name in enumerate(names)}
    return names, [np.array([row[name] for name in found], np.int64) for found in lists]


def _columns(parts: list[_Part]) -> dict[str, Array]:
    found: dict[str, Array] = {}
    for column in FILE_COLUMNS:
        found[column] = np.concatenate([part.segment.arrays[column][part.keep] for part in parts])
    for column in UNIT_COLUMNS:
        found[column] = _same_width([part.segment.arrays[column][part.unit_rows >= 0] for part in parts])
    for column in ("files.units", "files.windows"):
        sizes = [np.diff(part.segment.arrays[column], prepend=np.uint32(0))[part.keep] for part in parts]
        found[column] = np.cumsum(np.concatenate(sizes)).astype(np.uint32)
    found |= _merged_strings("files.path", [(part.segment.paths, part.keep) for part in parts])
    found |= _merged_strings("units.name", [(part.segment.unit_names, part.unit_rows >= 0) for part in parts])
    languages = [name for part in parts for name, kept in zip(part.segment.languages(), part.keep.tolist(), strict=True) if kept]
    known = sorted(set(languages))
    row = {name: number for number, name in enumerate(known)}
    return found | pack_strings("languages", known) | {"files.language": np.array([row[name] for name in languages], np.uint8)}


def _same_width(arrays: list[Array]) -> Array:
    joined = np.concatenate(arrays)
    return narrow(joined) if any(array.dtype == np.uint16 for array in arrays) else joined


def _merged_strings(name: str, tables: Sequence[tuple[StringTable, Array]]) -> dict[str, Array]:
    return pack_strings(name, [text for table, keep in tables for text, kept in zip(table.all(), keep.tolist(), strict=True) if kept])


def _path_columns(parts: list[_Part]) -> dict[str, Array]:
    names, rows = _joined_vocabulary([unpack_strings(part.segment.arrays, "parts") for part in parts])
    found = pack_strings("parts", names)
    for ends, ids in (("files.stem_ends", "files.stem_parts"), ("files.directory_ends", "files.directory_parts")):
        counts, values = [], []
        for part, row in zip(parts, rows, strict=True):
            sizes = np.diff(part.segment.arrays[ends], prepend=np.uint32(0))
            counts.append(sizes[part.keep])
            values.append(row[part.segment.arrays[ids][np.repeat(part.keep, sizes)]])
        found[ends] = np.cumsum(np.concatenate(counts)).astype(np.uint32)
        found[ids] = np.concatenate(values).astype(np.uint32)
    return found


def _merged_units(parts: list[_Part], term_rows: list[Array], vocabulary: int) -> dict[str, Array]:
    lists = []
    for part in parts:
        arrays = part.segment.arrays
        found = decode(Steps(arrays["terms.units"], arrays["terms.first_unit"], arrays["postings.unit"], arrays["postings.code"]))
        lists.append(Lists(found.offsets, part.unit_rows[found.rows], found.values))
    return unit_arrays(_scattered(lists, term_rows, vocabulary))


def _merged_windows(parts: list[_Part], term_rows: list[Array], vocabulary: int) -> dict[str, Array]:
    lists = []
    for part in parts:
        arrays = part.segment.arrays
        found = decode(Steps(arrays["terms.windows"], arrays["terms.first_window"], *unpack_windows(arrays["postings.window"])))
        lists.append(Lists(found.offsets, part.window_rows[found.rows], found.values))
    return window_arrays(_scattered(lists, term_rows, vocabulary))


def _scattered(lists: Sequence[Lists], term_rows: list[Array], vocabulary: int) -> Lists:
    """Postings of several segments, term by term, without sorting: each part knows its places."""
    counts = []
    totals = np.zeros(vocabulary, np.int64)
    for found, term_row in zip(lists, term_rows, strict=True):
        kept_before = np.concatenate([[0], np.cumsum(found.rows >= 0)])
        counts.append(np.diff(kept_before[found.offsets]))
        totals[term_row] += counts[-1]
    ends = np.concatenate([[0], np.cumsum(totals)])
    cursor = ends[:-1].copy()
    rows, values = np.empty(int(ends[-1]), np.uint32), np.empty(int(ends[-1]), np.uint16)
    for found, term_row, count in zip(lists, term_rows, counts, strict=True):
        keep = found.rows >= 0
        place = np.repeat(cursor[term_row] - (np.cumsum(count) - count), count) + np.arange(int(count.sum()))
        rows[place], values[place] = found.rows[keep], found.values[keep]
        cursor[term_row] += count
    return Lists(ends, rows, values)


def _merged_path_terms(parts: list[_Part], term_rows: list[Array]) -> dict[str, Array]:
    terms, files, places = [], [], []
    for part, term_row in zip(parts, term_rows, strict=True):
        rows = part.file_rows[part.segment.arrays["paths.file"]]
        keep = rows >= 0
        terms.append(term_row[part.segment.arrays["paths.term"]][keep])
        files.append(rows[keep])
        places.append(part.segment.arrays["paths.place"][keep])
    term, file, place = np.concatenate(terms), np.concatenate(files), np.concatenate(places)
    order = np.lexsort((file, term))
    return {"paths.term": term[order].astype(np.uint32), "paths.file": file[order].astype(np.uint32), "paths.place": place[order]}


def _merged_mentions(parts: list[_Part]) -> dict[str, Array]:
    keys = []
    for part in parts:
        arrays = part.segment.arrays
        rows = part.file_rows[arrays["postings.mention"]]
        key = mention_keys(arrays["mentions.hash"], arrays["mentions.files"], np.maximum(rows, 0))
        keys.append(key[rows >= 0])
    return mention_arrays(np.sort(np.concatenate(keys)))

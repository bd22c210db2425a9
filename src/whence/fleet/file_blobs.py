"""File blobs: everything that ranking needs of one file, in a few kilobytes.

A segment stores many files by term. A blob stores one file, so that the engine can keep it as a row, and a query can be
ranked over the few hundred files that the engine found, in whatever repositories. Terms are stored as hashes: a query
looks up a handful, and about one in a million collides.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from whence.core.errors import IndexDamaged
from whence.index.segment import FILE_COLUMNS, UNIT_COLUMNS, SegmentReader, name_hash
from whence.index.snapshot import Snapshot
from whence.index.vectors import SegmentVectors
from whence.storage.arrayfile import Array, unpack_strings
from whence.storage.postings import Lists, Steps, decode, unpack_windows

#: The arrays of a blob in order, by type. Paths and languages are UTF-8; `seen` is how many paths of the repository have a word.
#: Any change is a new FORMAT.
_LAYOUT = """
    |u1 files.content files.depth
    <u4 files.bytes files.name files.stem files.singular_stem files.windows
    <u2 files.roles
    |i1 files.version
    <u4 files.centrality
    <f4 files.recency
    |b1 files.outdated
    |u1 files.path files.language
    <u4 units.first units.last units.inside units.name_hash units.scope_hash units.sound_hash units.full_hash
    |u1 units.kind units.flags units.name.blob
    <u4 units.name.ends words.term
    <u2 words.unit words.code
    <u4 windows.term
    <u2 windows.window
    |u1 windows.count
    <u4 paths.term
    |u1 paths.place
    <u4 mentions
    |u1 stem.blob
    <u4 stem.ends stem.seen
    |u1 directory.blob
    <u4 directory.ends directory.seen
    <u2 passages.first passages.last
    <f4 passages.scale
    |i1 passages.rows
"""
LAYOUT: Mapping[str, str] = {name: kind for kind, *names in map(str.split, _LAYOUT.strip().splitlines()) for name in names}
FORMAT = 3
#: Units and windows are numbered with 16 bits; those beyond have no words.
MAX_ROWS = (1 << 16) - 1
_HEAD = struct.Struct(f"<2sB{len(LAYOUT)}I")
_MAGIC = b"wp"
#: Vectors do not compress: they follow the rest as they are.
_UNCOMPRESSED = "passages.rows"
#: Largest blob that is decompressed: others may have written to the engine.
MAX_BYTES = 64 << 20
Arrays = dict[str, Array]


@dataclass(frozen=True, slots=True)
class FileBlob:
    """One file of an index, ready to be sent to the engine."""

    path: str
    language: str
    content: int
    arrays: Arrays
    unit_words: list[str]  # the words by which the engine finds each unit
    path_words: str
    parsed: bytes  # its parsed units, encoded


def encode_blob(arrays: Arrays) -> bytes:
    """The arrays of a blob as bytes."""
    columns = {name: np.ascontiguousarray(arrays[name], dtype=kind) for name, kind in LAYOUT.items()}
    head = _HEAD.pack(_MAGIC, FORMAT, *map(len, columns.values()))
    rows = columns.pop(_UNCOMPRESSED).tobytes()
    compressed = zlib.compress(b"".join(one.tobytes() for one in columns.values()), 6)
    return head + compressed + rows


def decode_blob(raw: bytes) -> Arrays:
    """The arrays of a blob, as views of its bytes."""
    try:
        magic, version, *counts = _HEAD.unpack_from(raw)
        sizes = dict(zip(LAYOUT, counts if (magic, version) == (_MAGIC, FORMAT) else [], strict=True))
        end = len(raw) - sizes[_UNCOMPRESSED]
        data = zlib.decompressobj().decompress(raw[_HEAD.size : end], MAX_BYTES)
        arrays, at = {_UNCOMPRESSED: np.frombuffer(raw, LAYOUT[_UNCOMPRESSED], sizes[_UNCOMPRESSED], end)}, 0
        for name, count in sizes.items():
            if name != _UNCOMPRESSED:
                arrays[name] = np.frombuffer(data, LAYOUT[name], count, at)
                at += arrays[name].nbytes
    except (zlib.error, struct.error, ValueError) as error:
        raise IndexDamaged("a file blob of the fleet cannot be read") from error
    return arrays


def make_blobs(snapshot: Snapshot) -> Iterator[FileBlob]:
    """The blob of every live file of a snapshot."""
    vectors = snapshot.vectors.parts_by_unit if snapshot.vectors is not None else {}
    for place, segment in enumerate(snapshot.segments):
        base = snapshot.file_bases[place]
        alive = snapshot.alive[base : base + segment.files]
        made = _SegmentBlobs(snapshot, segment, base, vectors.get(snapshot.unit_bases[place]))
        yield from map(made.blob, np.flatnonzero(alive).tolist())


class _SegmentBlobs:
    """A segment with its postings inverted, by file."""

    def __init__(self, snapshot: Snapshot, segment: SegmentReader, base: int, vectors: SegmentVectors | None) -> None:
        self._snapshot, self._segment, self._base, self._vectors = snapshot, segment, base, vectors
        self._terms = unpack_strings(segment.arrays, "terms").all()
        self._hashes = np.array([name_hash(term) for term in self._terms], np.uint32)
        self._unit_starts = _starts(segment.unit_ends)
        self._window_starts = _starts(segment.window_ends)
        arrays = segment.arrays
        units = decode(Steps(arrays["terms.units"], arrays["terms.first_unit"], arrays["postings.unit"], arrays["postings.code"]))
        windows = decode(Steps(arrays["terms.windows"], arrays["terms.first_window"], *unpack_windows(arrays["postings.window"])))
        self._words, self._windows = _by_row(units, segment.units), _by_row(windows, segment.windows)
        self._paths = _FileColumns(arrays["paths.file"], segment.files, arrays["paths.term"], arrays["paths.place"])
        mention = np.repeat(arrays["mentions.hash"], np.diff(arrays["mentions.files"]))
        self._mentions = _FileColumns(arrays["postings.mention"], segment.files, mention)
        self._languages = segment.languages()

    def blob(self, file: int) -> FileBlob:
        """The blob of a file, by its row in the segment."""
        segment, arrays = self._segment, self._segment.arrays
        low, high = int(self._unit_starts[file]), int(self._unit_starts[file + 1])
        path, language = segment.paths[file], self._languages[file]
        found: Arrays = {name: arrays[name][file : file + 1] for name in FILE_COLUMNS}
        found |= {name: arrays[name][low:high] for name in UNIT_COLUMNS}
        names = [segment.unit_names.raw(row) for row in range(low, high)]
        found |= {"units.name.blob": _bytes(b"".join(names)), "units.name.ends": np.cumsum([len(name) for name in names])}
        whole = self._base + file
        found |= {
            "files.path": _bytes(path.encode("utf-8", "surrogateescape")),
            "files.language": _bytes(language.encode()),
            "files.windows": np.array([self._window_starts[file + 1] - self._window_starts[file]]),
            "files.centrality": self._snapshot.centrality[whole : whole + 1],
            "files.recency": self._snapshot.recency[whole : whole + 1],
            "files.outdated": self._snapshot.outdated[whole : whole + 1],
        }
        terms, unit, code = self._rows(self._words, low, high)
        found |= {"words.term": self._hashes[terms], "words.unit": unit, "words.code": code}
        window_terms, window, count = self._rows(self._windows, int(self._window_starts[file]), int(self._window_starts[file + 1]))
        found |= {"windows.term": self._hashes[window_terms], "windows.window": window, "windows.count": count}
        path_terms, places = self._paths(file)
        found |= {"paths.term": self._hashes[path_terms], "paths.place": places, "mentions": self._mentions(file)[0]}
        found |= self._path_parts(whole) | self._passages(low, high)
        words = self._engine_words(terms, unit, code, high - low)
        return FileBlob(
            path,
            language,
            int(found["files.content"][0]),
            found,
            words,
            " ".join(self._terms[row] for row in path_terms.tolist()),
            segment.parsed_of(file),
        )

    @staticmethod
    def _rows(lists: tuple[Array, Array, Array], low: int, high: int) -> tuple[Array, Array, Array]:
        """Term, row within the file, and value of the postings of a range of rows."""
        starts, terms, values = lists
        a, b = int(starts[low]), int(starts[high])
        row = np.repeat(np.arange(high - low), np.diff(starts[low : high + 1]))
        kept = row <= MAX_ROWS
        return terms[a:b][kept], row[kept], values[a:b][kept]

    def _path_parts(self, file: int) -> Arrays:
        parts, found = self._snapshot.path_parts, Arrays()
        for name, starts, rows in (
            ("stem", parts.stem_starts, parts.stem_parts),
            ("directory", parts.directory_starts, parts.directory_parts),
        ):
            mine = rows[int(starts[file]) : int(starts[file + 1])]
            texts = [parts.names[row].encode("utf-8", "surrogateescape") for row in mine.tolist()]
            found |= {
                f"{name}.blob": _bytes(b"".join(texts)),
                f"{name}.ends": np.cumsum([len(one) for one in texts]),
                f"{name}.seen": parts.seen_in[mine],
            }
        return found

    def _passages(self, low: int, high: int) -> Arrays:
        if self._vectors is None:
            empty = np.empty(0)
            return {"passages.first": empty, "passages.last": empty, "passages.scale": empty, "passages.rows": empty}
        a, b = np.searchsorted(self._vectors.first, [low, high]).tolist()
        first, last = self._vectors.first[a:b].astype(np.int64) - low, self._vectors.last[a:b].astype(np.int64) - low
        return {
            "passages.first": np.minimum(first, MAX_ROWS),
            "passages.last": np.minimum(last, MAX_ROWS),
            "passages.scale": self._vectors.scale[a:b],
            "passages.rows": self._vectors.rows[a:b].reshape(-1),
        }

    def _engine_words(self, terms: Array, unit: Array, code: Array, units: int) -> list[str]:
        """The words of each unit for the engine's BM25, repeated by weight."""
        times = ENGINE_TIMES[code]
        starts = np.searchsorted(unit, np.arange(units + 1))
        texts = [self._terms[row] for row in terms.tolist()]
        repeated = [f"{text} " * count if count > 1 else text for text, count in zip(texts, times.tolist(), strict=True)]
        return [" ".join(repeated[a:b])[:MAX_UNIT_WORDS] for a, b in zip(starts.tolist(), starts[1:].tolist(), strict=False)]


#: Characters of a unit's words; the engine's field takes no more.
MAX_UNIT_WORDS = 60_000


def _engine_times() -> Array:
    """How often to repeat a word of each code, so that the engine's BM25 (without length) approximates our own score."""
    from whence.core.profiles import PROFILES  # noqa: PLC0415
    from whence.retrieval.lexical import FieldWeights  # noqa: PLC0415

    worth = FieldWeights.of(PROFILES["default"]).worth / PROFILES["default"].fields.saturation
    return np.clip(np.round(worth * ENGINE_K1), 1, 12).astype(np.int64)


#: The engine's BM25 parameter.
ENGINE_K1 = 2.0
ENGINE_TIMES = _engine_times()


def _bytes(raw: bytes) -> Array:
    return np.frombuffer(raw, np.uint8)


def _starts(ends: Array) -> Array:
    return np.concatenate([[0], ends.astype(np.int64)])


def _by_row(lists: Lists, rows: int) -> tuple[Array, Array, Array]:
    """Posting lists by row: where the terms of each row begin, the terms, and their values."""
    term = np.repeat(np.arange(len(lists.offsets) - 1), np.diff(lists.offsets))
    order = np.argsort(lists.rows, kind="stable")
    starts = np.searchsorted(lists.rows[order], np.arange(rows + 1))
    return starts, term[order], lists.values[order]


class _FileColumns:
    """Columns of a table, looked up by its column of files."""

    def __init__(self, files: Array, count: int, *columns: Array) -> None:
        order = np.argsort(files, kind="stable")
        self._starts = np.searchsorted(files[order], np.arange(count + 1))
        self._columns = [column[order] for column in columns]

    def __call__(self, file: int) -> tuple[Array, ...]:
        a, b = int(self._starts[file]), int(self._starts[file + 1])
        return tuple(column[a:b] for column in self._columns)

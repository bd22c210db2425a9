"""Fetched file blobs, read as one snapshot: a query is ranked over them as over any index.

Counts over all files (how many contain a term, how many files there are) cannot be computed from a few; they are given.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property

import numpy as np

from whence.core.settings import Settings
from whence.core.types import DocumentFrequency, Unit
from whence.embed.encoder import Encoder
from whence.fleet.counts import TermCounts
from whence.fleet.file_blobs import LAYOUT, Arrays
from whence.fleet.rows import FetchedFile
from whence.index.segment import find_units, name_hash
from whence.index.snapshot import PathParts, Snapshot
from whence.index.vectors import SegmentVectors, binary_vectors
from whence.storage.arrayfile import Array, StringTable

#: Arrays that are not simply concatenated.
_SEPARATE = frozenset(
    """files.path files.language units.name.ends stem.blob stem.ends stem.seen directory.blob directory.ends directory.seen
    passages.first passages.last passages.scale passages.rows""".split()
)


class _FetchedSegment:
    """The blobs as one segment (`SegmentReader`). A term's row is its hash."""

    name = "fetched"

    def __init__(self, blobs: Sequence[Arrays], paths: list[str], parsed: Callable[[int], bytes]) -> None:
        joined = {name: np.concatenate([blob[name] for blob in blobs]) for name in LAYOUT if name not in _SEPARATE}
        sizes = {
            name: np.array([len(blob[name]) for blob in blobs])
            for name in ("units.first", "words.term", "windows.term", "paths.term", "mentions")
        }
        self.unit_ends = np.cumsum(sizes["units.first"])
        self.window_ends = np.cumsum(joined["files.windows"].astype(np.int64))
        first_unit = np.repeat(_starts(self.unit_ends), sizes["words.term"])
        self._words = joined["words.term"], joined["words.unit"] + first_unit, joined["words.code"]
        first_window = np.repeat(_starts(self.window_ends), sizes["windows.term"])
        self._windows = joined["windows.term"], joined["windows.window"] + first_window, joined["windows.count"]
        self._path_terms = joined["paths.term"], np.repeat(np.arange(len(blobs)), sizes["paths.term"]), joined["paths.place"]
        self._mentions = joined["mentions"], np.repeat(np.arange(len(blobs)), sizes["mentions"])
        name_ends = [blob["units.name.ends"].astype(np.int64) for blob in blobs]
        name_bases = np.cumsum([0, *(len(blob["units.name.blob"]) for blob in blobs)])
        self.arrays = joined
        self.paths = StringTable.of(paths)
        self.unit_names = StringTable(
            joined["units.name.blob"], np.concatenate([ends + base for ends, base in zip(name_ends, name_bases.tolist(), strict=False)])
        )
        self.files, self.units, self.windows = len(blobs), int(self.unit_ends[-1]), int(self.window_ends[-1])
        self._languages = [blob["files.language"].tobytes().decode() for blob in blobs]
        self._parsed = parsed

    def languages(self) -> list[str]:
        """The language of each file."""
        return self._languages

    def parsed_of(self, row: int) -> bytes:
        """A file's parsed units, encoded."""
        return self._parsed(row)

    def find_term(self, term: str) -> int:
        """The hash of a term."""
        return name_hash(term)

    def unit_postings(self, term: int) -> tuple[Array, Array]:
        """The units that contain a term, and the code of each."""
        return _postings(self._words, term)

    def window_postings(self, term: int) -> tuple[Array, Array]:
        """The windows that contain a term, and how often."""
        return _postings(self._windows, term)

    def path_postings(self, term: int) -> tuple[Array, Array]:
        """The files whose path contains a term, and where."""
        return _postings(self._path_terms, term)

    def files_with_word(self, hashed: int) -> Array:
        """The files that contain a word, by its hash."""
        words, files = self._mentions
        return np.asarray(files[words == np.uint32(hashed)])


class RemoteSnapshot(Snapshot):
    """Fetched files as a snapshot. Whatever depends on all files was computed by the worker or is in `counts`."""

    def __init__(self, blobs: Sequence[Arrays], paths: list[str], counts: TermCounts, parsed: Callable[[int], bytes], width: int) -> None:
        self._blobs, self._counts = list(blobs), counts
        super().__init__([_FetchedSegment(self._blobs, paths, parsed)], [np.zeros(len(self._blobs), bool)])
        self._open_vectors(width)

    @property
    def live_files(self) -> int:
        """How many files are searched."""
        return self._counts.files

    @property
    def live_units(self) -> int:
        """How many units are searched."""
        return self._counts.units

    @property
    def live_windows(self) -> int:
        """How many windows are searched."""
        return self._counts.windows

    def term_counts(self, term: str) -> DocumentFrequency | None:
        """How many units, windows and files contain a term."""
        return self._counts.terms.get(name_hash(term), DocumentFrequency(0, 0, 0))

    def count_files_with_word(self, word: str) -> int:
        """How many files contain a word."""
        return max(self._counts.mentions.get(name_hash(word), 0), len(self.files_with_word(word)))

    @cached_property
    def centrality(self) -> Array:
        """For each file, how many others use a name that it defines."""
        return self.column("files.centrality")

    @cached_property
    def recency(self) -> Array:
        """For each file, the weight of its past changes."""
        return self.column("files.recency")

    @cached_property
    def outdated(self) -> Array:
        """For each file, whether a newer version lies beside it."""
        return self.column("files.outdated")

    @cached_property
    def path_parts(self) -> PathParts:
        """The words of all paths, with their frequencies in their own repositories."""
        tables = {name: [_strings(blob, name) for blob in self._blobs] for name in ("stem", "directory")}
        seen: dict[str, int] = {}
        for name, table in tables.items():
            for blob, texts in zip(self._blobs, table, strict=True):
                for text, count in zip(texts, blob[f"{name}.seen"].tolist(), strict=True):
                    seen[text] = max(count, seen.get(text, 0))
        names = sorted(seen)
        row = {text: place for place, text in enumerate(names)}
        columns = [
            (np.cumsum([0, *map(len, table)]), np.array([row[text] for texts in table for text in texts], np.int64))
            for table in tables.values()
        ]
        parts = PathParts(names, columns[0], columns[1], self.alive)
        parts.set_counts(np.array([seen[text] for text in names], np.int64), max(self._counts.files, len(self._blobs)))
        return parts

    def _open_vectors(self, width: int) -> None:
        sizes = np.array([len(blob["passages.first"]) for blob in self._blobs])
        if not width or not sizes.sum():
            return
        bases = np.repeat(self.unit_starts[:-1], sizes)
        rows = np.concatenate([blob["passages.rows"] for blob in self._blobs])
        arrays = {name: np.concatenate([blob[f"passages.{name}"] for blob in self._blobs]) + bases for name in ("first", "last")}
        arrays |= {"rows": rows, "scale": np.concatenate([blob["passages.scale"] for blob in self._blobs])}
        arrays["sketch"] = binary_vectors(rows.reshape(-1, width)).reshape(-1)
        self.set_vectors({0: SegmentVectors(arrays, width)})


def _starts(ends: Array) -> Array:
    return np.concatenate([[0], ends[:-1]])


def _postings(table: tuple[Array, Array, Array], hashed: int) -> tuple[Array, Array]:
    hashes, rows, values = table
    own = np.flatnonzero(hashes == np.uint32(hashed))
    return rows[own], values[own]


def _strings(blob: Arrays, name: str) -> list[str]:
    return StringTable(blob[f"{name}.blob"], blob[f"{name}.ends"]).all()


class RemoteReader:
    """What a fleet search reads: the files fetched for one query. Texts are fetched on demand."""

    def __init__(
        self,
        settings: Settings,
        files: Sequence[FetchedFile],
        counts: TermCounts,
        precedents: Mapping[str, float],
        encoder: Encoder | None,
        fetch_texts: Callable[[Mapping[str, str]], Mapping[str, tuple[str, bytes]]],
    ) -> None:
        self.settings, self.encoder = settings, encoder
        self._fetch_texts = fetch_texts
        # Sorted, since the engine's order depends on rows that the caller may not see.
        self._files = {f"{one.repository}/{one.path}": one for one in sorted(files, key=lambda one: (one.repository, one.path))}
        self._texts: dict[str, tuple[str, bytes]] = {}
        paths = list(self._files)
        width = encoder.width if encoder is not None else 0
        blobs = [one.blob for one in self._files.values()]
        self.snapshot = RemoteSnapshot(blobs, paths, counts, lambda row: self._text(paths[row])[1], width)
        self.snapshot.precedents = np.array([precedents.get(one.key, 0.0) for one in self._files.values()], np.float32)

    def locate(self, path: str) -> tuple[str, str]:
        """The repository of a file, and its path there."""
        one = self._files[path]
        return one.repository, one.path

    def find_lines(self, paths: Iterable[str], find: Callable[[bytes], list[int]]) -> Iterator[tuple[str, list[int]]]:
        """The files in whose text `find` finds lines, with these lines."""
        for path in paths:
            if lines := find((self.read_text(path) or "").encode("utf-8", "replace")):
                yield path, lines

    def read_text(self, path: str) -> str | None:
        """The text of a file as it was indexed."""
        return self._text(path)[0] if path in self._files else None

    def units_at(self, path: str, wanted: Collection[tuple[int, str]]) -> dict[tuple[int, str], Unit]:
        """The units of a file that begin at some lines under some names."""
        parsed = self._text(path)[1]
        return find_units(parsed, wanted) if parsed else {}

    def fetch(self, paths: Iterable[str]) -> None:
        """Fetch the texts of some files in one request."""
        missing = {path: self._files[path] for path in paths if path not in self._texts}
        found = self._fetch_texts({one.key: one.repository for one in missing.values()})
        self._texts |= {path: found.get(one.key, ("", b"")) for path, one in missing.items()}

    def _text(self, path: str) -> tuple[str, bytes]:
        if path not in self._texts:
            self.fetch([path])
        return self._texts[path]

"""Pieces of files read together as a snapshot, so that a question is ranked over them as over any index.

What is counted over all files (how many hold a term, how many files there are) cannot be counted here: it is given.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from whence.core.settings_schema import Settings
from whence.core.types import DocumentFrequency, Unit
from whence.embed.encoder import Encoder
from whence.fleet.file_blobs import LAYOUT, Arrays
from whence.index.name_parts import PathParts
from whence.index.segment import find_units
from whence.index.segment_writer import name_hash
from whence.index.snapshot import Snapshot
from whence.index.vectors import SegmentVectors, binary_vectors
from whence.storage.arrayfile import Array, StringTable


@dataclass(frozen=True, slots=True)
class TermCounts:
    """What was counted over all files that were searched, by the hash of the term or word."""

    files: int
    units: int
    windows: int
    terms: Mapping[int, DocumentFrequency] = field(default_factory=dict)
    mentions: Mapping[int, int] = field(default_factory=dict)


class _FetchedSegment:
    """The fetched files as one segment (`SegmentReader`). Terms are known by their hashes."""

    name = "fetched"

    def __init__(self, pieces: Sequence[Arrays], paths: list[str], parsed: Callable[[int], bytes]) -> None:
        joined = {name: np.concatenate([piece[name] for piece in pieces]) for name in LAYOUT if name not in _APART}
        sizes = {
            name: np.array([len(piece[name]) for piece in pieces])
            for name in ("units.first", "words.term", "windows.term", "paths.term", "mentions")
        }
        self.unit_ends = np.cumsum(sizes["units.first"])
        self.window_ends = np.cumsum(joined["files.windows"].astype(np.int64))
        self._words = (
            joined["words.term"],
            joined["words.unit"] + np.repeat(_begins(self.unit_ends), sizes["words.term"]),
            joined["words.code"],
        )
        begins = np.repeat(_begins(self.window_ends), sizes["windows.term"])
        self._windows = joined["windows.term"], joined["windows.window"] + begins, joined["windows.count"]
        owner = np.repeat(np.arange(len(pieces)), sizes["paths.term"])
        self._places = joined["paths.term"], owner, joined["paths.place"]
        self._mentioned = joined["mentions"], np.repeat(np.arange(len(pieces)), sizes["mentions"])
        names = [piece["units.name.ends"].astype(np.int64) for piece in pieces]
        blobs = np.cumsum([0, *(len(piece["units.name.blob"]) for piece in pieces)])
        self.arrays = joined
        self.paths = StringTable.of(paths)
        self.unit_names = StringTable(
            joined["units.name.blob"], np.concatenate([ends + base for ends, base in zip(names, blobs.tolist(), strict=False)])
        )
        self.files, self.units, self.windows = len(pieces), int(self.unit_ends[-1]), int(self.window_ends[-1])
        self._languages = [piece["files.language"].tobytes().decode() for piece in pieces]
        self._parsed = parsed

    def languages(self) -> list[str]:
        """The language of each file."""
        return self._languages

    def parsed_of(self, row: int) -> bytes:
        """What was parsed of a file, packed."""
        return self._parsed(row)

    def find_term(self, term: str) -> int:
        """The hash of a term."""
        return name_hash(term)

    def unit_postings(self, term: int) -> tuple[Array, Array]:
        """The units that hold a term, by its hash, and the code of each."""
        return _of(self._words, term)

    def window_postings(self, term: int) -> tuple[Array, Array]:
        """The windows that hold a term, and how often."""
        return _of(self._windows, term)

    def path_postings(self, term: int) -> tuple[Array, Array]:
        """The files on whose path a term stands, and where."""
        return _of(self._places, term)

    def files_with_word(self, hashed: int) -> Array:
        """The files that mention a word, by its hash."""
        words, files = self._mentioned
        return np.asarray(files[words == np.uint32(hashed)])


#: Arrays that are joined in other ways, or read one by one.
_APART = frozenset(
    """files.path files.language units.name.ends stem.blob stem.ends stem.seen directory.blob directory.ends directory.seen
    passages.first passages.last passages.scale passages.rows""".split()
)


class RemoteSnapshot(Snapshot):
    """Files of a fleet as a snapshot."""

    def __init__(self, pieces: Sequence[Arrays], paths: list[str], counts: TermCounts, parsed: Callable[[int], bytes], width: int) -> None:
        self._pieces, self._counts = list(pieces), counts
        super().__init__([_FetchedSegment(self._pieces, paths, parsed)], [np.zeros(len(self._pieces), bool)])
        self._open_passages(width)

    # What is counted over everything.
    @property
    def live_files(self) -> int:
        """How many files were searched."""
        return self._counts.files

    @property
    def live_units(self) -> int:
        """How many units were searched."""
        return self._counts.units

    @property
    def live_windows(self) -> int:
        """How many windows were searched."""
        return self._counts.windows

    def term_counts(self, term: str) -> DocumentFrequency | None:
        """How many hold a term, wherever they are."""
        return self._counts.terms.get(name_hash(term), DocumentFrequency(0, 0, 0))

    def count_files_with_word(self, word: str) -> int:
        """How many files mention a word, wherever they are."""
        return max(self._counts.mentions.get(name_hash(word), 0), len(self.files_with_word(word)))

    # What depends on all files of a repository was worked out where it was indexed.
    @cached_property
    def centrality(self) -> Array:
        """For each file, how many others mention a name that it defines."""
        return self.column("files.centrality")

    @cached_property
    def recency(self) -> Array:
        """For each file its past changes."""
        return self.column("files.recency")

    @cached_property
    def outdated(self) -> Array:
        """Whether a newer version of each file stands beside it."""
        return self.column("files.outdated")

    @cached_property
    def path_parts(self) -> PathParts:
        """The words of all paths, as rare as they are where they come from."""
        tables = {name: [_texts(piece, name) for piece in self._pieces] for name in ("stem", "directory")}
        seen: dict[str, int] = {}
        for name, table in tables.items():
            for piece, texts in zip(self._pieces, table, strict=True):
                for text, count in zip(texts, piece[f"{name}.seen"].tolist(), strict=True):
                    seen[text] = max(count, seen.get(text, 0))
        names = sorted(seen)
        row = {text: place for place, text in enumerate(names)}
        columns = [
            (np.cumsum([0, *map(len, table)]), np.array([row[text] for texts in table for text in texts], np.int64))
            for table in tables.values()
        ]
        parts = PathParts(names, columns[0], columns[1], self.alive)
        parts.weigh(np.array([seen[text] for text in names], np.int64), max(self._counts.files, len(self._pieces)))
        return parts

    def _open_passages(self, width: int) -> None:
        """Take in the vectors of the pieces, where there are any."""
        sizes = np.array([len(piece["passages.first"]) for piece in self._pieces])
        if not width or not sizes.sum():
            return
        bases = np.repeat(self.unit_starts[:-1], sizes)
        rows = np.concatenate([piece["passages.rows"] for piece in self._pieces])
        arrays = {name: np.concatenate([piece[f"passages.{name}"] for piece in self._pieces]) + bases for name in ("first", "last")}
        arrays |= {"rows": rows, "scale": np.concatenate([piece["passages.scale"] for piece in self._pieces])}
        arrays["sketch"] = binary_vectors(rows.reshape(-1, width)).reshape(-1)
        self.open_vectors({0: SegmentVectors(arrays, width)})


def _begins(ends: Array) -> Array:
    return np.concatenate([[0], ends[:-1]])


def _of(table: tuple[Array, Array, Array], hashed: int) -> tuple[Array, Array]:
    hashes, rows, values = table
    mine = np.flatnonzero(hashes == np.uint32(hashed))
    return rows[mine], values[mine]


def _texts(piece: Arrays, name: str) -> list[str]:
    return StringTable(piece[f"{name}.blob"], piece[f"{name}.ends"]).all()


@dataclass(frozen=True, slots=True)
class FetchedFile:
    """A file that was fetched."""

    key: str
    repository: str
    path: str
    blob: Arrays


class RemoteReader:
    """What a search of the fleet reads from: files fetched for one question. Texts are fetched when they are asked for."""

    def __init__(
        self,
        settings: Settings,
        files: Sequence[FetchedFile],
        counts: TermCounts,
        precedents: Mapping[str, float],
        encoder: Encoder | None,
        texts: Callable[[Mapping[str, str]], Mapping[str, tuple[str, bytes]]],
    ) -> None:
        self.settings, self.encoder = settings, encoder
        self._fetch_texts = texts
        # In an order of their own: that of the engine follows rows that the caller may not see.
        self._files = {f"{one.repository}/{one.path}": one for one in sorted(files, key=lambda one: (one.repository, one.path))}
        self._texts: dict[str, tuple[str, bytes]] = {}
        paths = list(self._files)
        width = encoder.width if encoder is not None else 0
        pieces = [one.blob for one in self._files.values()]
        self.snapshot = RemoteSnapshot(pieces, paths, counts, lambda row: self._text(paths[row])[1], width)
        self.snapshot.precedents = np.array([precedents.get(one.key, 0.0) for one in self._files.values()], np.float32)

    def locate(self, path: str) -> tuple[str, str]:
        """The repository of a file, and its path there."""
        one = self._files[path]
        return one.repository, one.path

    def read_text(self, path: str, wanted: Callable[[str], object] | None = None) -> str | None:
        """The text of a file, as it was indexed."""
        del wanted
        return self._text(path)[0] if path in self._files else None

    def units_at(self, path: str, wanted: Collection[tuple[int, str]]) -> dict[tuple[int, str], Unit]:
        """The units of a file that begin at some lines under some names."""
        parsed = self._text(path)[1]
        return find_units(parsed, wanted) if parsed else {}

    def fetch(self, paths: Iterable[str]) -> None:
        """Have the texts of some files at hand."""
        wanted = {path: self._files[path] for path in paths if path not in self._texts}
        found = self._fetch_texts({one.key: one.repository for one in wanted.values()})
        self._texts |= {path: found.get(one.key, ("", b"")) for path, one in wanted.items()}

    def _text(self, path: str) -> tuple[str, bytes]:
        if path not in self._texts:
            self.fetch([path])
        return self._texts[path]

"""The index reader: one immutable generation of an index, from which answers are read."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from whence.core.settings import Settings
from whence.core.types import ParsedFile, Unit
from whence.embed.encoder import Encoder
from whence.index.layout import Layout
from whence.index.segment import find_units, open_segment, unpack_parsed
from whence.index.snapshot import Snapshot, snapshot_id
from whence.index.store import IndexStore
from whence.index.vectors import open_vectors
from whence.source.read import content_hash, find_lines, read_text
from whence.storage.arrayfile import ArrayFile, open_columns
from whence.storage.postings import dead_mask

_T = TypeVar("_T")


class TextReader(Protocol):
    """Where the text of files is read."""

    def read_text(self, path: str) -> str | None:
        """The text of a file without its secrets; None if it is gone or not text."""

    def find_lines(self, paths: Iterable[str], find: Callable[[bytes], list[int]]) -> Iterator[tuple[str, list[int]]]:
        """The files in whose text `find` finds lines, with these lines."""


class Reader(TextReader, Protocol):
    """What a search reads from: a generation of an index on this machine, or files fetched from a fleet."""

    @property
    def settings(self) -> Settings:
        """The settings that apply to it."""

    @property
    def snapshot(self) -> Snapshot:
        """Its files, units, postings and vectors."""

    @property
    def encoder(self) -> Encoder | None:
        """The encoder of its vectors, if it has any."""

    def units_at(self, path: str, keys: Collection[tuple[int, str]]) -> dict[tuple[int, str], Unit]:
        """Units of a file by their first line and name."""


class Generation(NamedTuple):
    """Identifies one state of an index: it differs once any process has written to the index, or another model is in use."""

    store: IndexStore
    changes: int
    own_changes: int
    model: str

    @classmethod
    def of(cls, store: IndexStore, model: str) -> Generation:
        """The current generation."""
        return cls(store, store.changes(), store.own_changes(), model)


@dataclass(frozen=True)
class IndexReader:
    """One generation. Threads may share it: nothing in it ever changes, and a refresh makes another."""

    layout: Layout
    settings: Settings
    store: IndexStore
    snapshot: Snapshot
    encoder: Encoder | None
    generation: Generation
    _computed: dict[str, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def open(cls, layout: Layout, settings: Settings, store: IndexStore, encoder: Encoder | None) -> IndexReader:
        """Open the current generation."""
        model = encoder.fingerprint if encoder is not None else ""
        generation = Generation.of(store, model)  # taken first: whatever is written meanwhile shows up as another one
        return cls(layout, settings, store, open_snapshot(layout, store, model), encoder, generation)

    @property
    def root(self) -> Path:
        """The folder that is indexed."""
        return self.layout.root

    def compute_once(self, key: str, make: Callable[[], _T]) -> _T:
        """Something derived from this generation, computed by the first caller and kept for the others."""
        found: _T = self._computed[key] if key in self._computed else self._computed.setdefault(key, make())
        return found

    def release(self) -> None:
        """Break reference cycles, so that files are closed with the last answer and not when the garbage collector runs."""
        self._computed.clear()
        self.snapshot.release()

    def read_text(self, path: str) -> str | None:
        """The text of a file on disk now, without its secrets; None if it is gone or not text."""
        limit, store = self.settings.index.max_file_bytes + 1, self.store
        return read_text(self.root, path, limit, lambda raw: store.has_no_secret(path, content_hash(raw)))

    def read_unchanged(self, path: str, hashed: bytes) -> str | None:
        """The text of a file without its secrets while its content has a hash; None once it has another."""
        found: list[bytes] = []

        def is_clean(raw: bytes) -> bool:
            found.append(content_hash(raw))
            return self.store.has_no_secret(path, found[-1])

        text = read_text(self.root, path, self.settings.index.max_file_bytes + 1, is_clean)
        return text if found == [hashed] else None

    def find_lines(self, paths: Iterable[str], find: Callable[[bytes], list[int]]) -> Iterator[tuple[str, list[int]]]:
        """The files on disk now in whose text, without secrets, `find` finds lines, with these lines."""
        clean = self.compute_once("clean files", self.store.clean_files)
        for path, _, lines in find_lines(self.root, paths, self.settings.index.max_file_bytes + 1, find, clean):
            yield path, lines

    def parsed(self, path: str) -> ParsedFile | None:
        """A file as it was parsed when it was indexed."""
        blob = self.snapshot.parsed_of(path)
        return None if blob is None else unpack_parsed(blob)

    def units_at(self, path: str, keys: Collection[tuple[int, str]]) -> dict[tuple[int, str], Unit]:
        """Units of a file by their first line and name, as they were indexed."""
        blob = self.snapshot.parsed_of(path)
        return {} if blob is None else find_units(blob, keys)


def open_snapshot(layout: Layout, store: IndexStore, model: str) -> Snapshot:
    """Open all segments with their shared columns, the commits, and the vectors of a model (by fingerprint; empty for none)."""

    def read() -> Snapshot:
        snapshot = open_segments(layout, store)
        shared = store.json_meta("shared")
        if shared and shared["of"] == snapshot.id and shared.get("past") == history_file(store):
            snapshot.shared = open_columns(layout.segments / shared["name"], shared["stamp"])
            snapshot.commits = open_commits(layout, store.json_meta("history")) if "past.rows" in snapshot.shared else None
        known = store.vectors_of(model)
        listed = {place: known[row.id] for place, row in enumerate(store.segments()) if row.id in known}
        snapshot.set_vectors({place: open_vectors(layout.segments / row.name, row.stamp) for place, row in listed.items()})
        return snapshot

    return store.read_consistently(read)


def open_segments(layout: Layout, store: IndexStore) -> Snapshot:
    """A snapshot of the segments alone."""
    rows, dead = store.segments(), store.dead_rows()
    return Snapshot(
        [open_segment(layout.segments / row.name, row.stamp) for row in rows],
        [dead_mask(row.files, dead.get(row.id, [])) for row in rows],
    )


def has_current_columns(store: IndexStore) -> bool:
    """Whether the shared columns belong to the files and commits that the store lists: a build may have been interrupted."""
    rows, dead, shared = store.segments(), store.dead_rows(), store.json_meta("shared")
    alive = np.concatenate([np.empty(0, bool), *(~dead_mask(row.files, dead.get(row.id, [])) for row in rows)])
    return shared.get("of") == snapshot_id([row.name for row in rows], alive) and shared.get("past") == history_file(store)


def history_file(store: IndexStore) -> str:
    """The name of the file of commits; empty if there is none."""
    return str(store.json_meta("history").get("name", ""))


def open_commits(layout: Layout, known: dict[str, Any]) -> ArrayFile | None:
    """The file of commits, if there is one."""
    return open_columns(layout.segments / known["name"], known["stamp"]) if "name" in known else None

"""One immutable generation of an index: everything an answer is read from."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from whence.core.settings_schema import Settings
from whence.core.types import ParsedFile, Unit
from whence.embed.encoder import Encoder
from whence.index.changes import content_hash
from whence.index.segment import find_units, unpack_parsed
from whence.source.read import read_text

if TYPE_CHECKING:
    from whence.index.layout import Layout
    from whence.index.snapshot import Snapshot
    from whence.index.store import IndexStore

_Made = TypeVar("_Made")
#: Tells one state of an index from another, for a process that keeps it open.
Generation = tuple[object, ...]


class Reader(Protocol):
    """What a search reads from: a generation of an index on this machine, or files fetched from a fleet."""

    @property
    def settings(self) -> Settings:
        """The settings that hold for it."""

    @property
    def snapshot(self) -> Snapshot:
        """Its files, units, postings and vectors."""

    @property
    def encoder(self) -> Encoder | None:
        """The encoder that its vectors are of, if it has any."""

    def read_text(self, path: str, wanted: Callable[[str], object] | None = None) -> str | None:
        """The text of a file without its secrets; None when it is gone, no text, or not wanted."""

    def units_at(self, path: str, wanted: Collection[tuple[int, str]]) -> dict[tuple[int, str], Unit]:
        """The units of a file that begin at some lines under some names."""


@dataclass(frozen=True)
class IndexReader:
    """One generation. Threads may share it; nothing in it ever changes, and a refresh makes another."""

    layout: Layout
    settings: Settings
    store: IndexStore
    snapshot: Snapshot
    encoder: Encoder | None
    generation: Generation
    _derived: dict[str, Any] = field(default_factory=dict, repr=False)

    @property
    def root(self) -> Path:
        """The folder that is indexed."""
        return self.layout.root

    def compute_once(self, what: str, make: Callable[[], _Made]) -> _Made:
        """What follows from this generation, worked out once for all who ask."""
        found: _Made = self._derived[what] if what in self._derived else self._derived.setdefault(what, make())
        return found

    def release(self) -> None:
        """Break reference cycles, so that files are closed with the last answer, not when the collector comes."""
        self._derived.clear()
        self.snapshot.release()

    def read_text(self, path: str, wanted: Callable[[str], object] | None = None) -> str | None:
        """The text of a file as it is on disk now, without its secrets; None when it is gone, no text, or not wanted."""
        most, store = self.settings.index.max_file_bytes + 1, self.store
        return read_text(self.root, path, most, wanted, lambda raw: store.has_no_secret(path, content_hash(raw)))

    def parsed(self, path: str) -> ParsedFile | None:
        """What a file holds, as it was indexed."""
        blob = self.snapshot.parsed_of(path)
        return None if blob is None else unpack_parsed(blob)

    def units_at(self, path: str, wanted: Collection[tuple[int, str]]) -> dict[tuple[int, str], Unit]:
        """The units of a file that begin at some lines under some names, as they were indexed."""
        blob = self.snapshot.parsed_of(path)
        return {} if blob is None else find_units(blob, wanted)

"""What an open index reads from: one view at a time, which is replaced as a whole. Threads may share it."""

from __future__ import annotations

import gc
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from threading import RLock
from types import TracebackType
from typing import TYPE_CHECKING

from whence.core.errors import ModelUnavailable, StorageError
from whence.core.settings import Setting
from whence.core.settings_schema import Settings
from whence.core.trace import Trace
from whence.core.types import Edge, Freshness, Parsed, RefreshSummary, Unit
from whence.embed.encoder import Encoder
from whence.embed.registry import open_encoder
from whence.index.changes import content_hash
from whence.index.clean_marker import write_seal
from whence.index.layout import Layout
from whence.index.opening import Generation, moment_of, open_snapshot
from whence.index.parsed import find_units, unpack_parsed
from whence.index.snapshot import Snapshot
from whence.index.store import IndexStore
from whence.source.read import read_text
from whence.source.walk import Tree

if TYPE_CHECKING:
    from typing_extensions import Self

    from whence.graph.reader import Graph
    from whence.index.reuse import ReusableIndex

#: How notes begin that tell of an answer older than the files.
BEHIND = "answering from before the last changes"


class ViewedIndex:
    """An index of one root, as it was last looked at. Each question is answered from one view."""

    def __init__(self, layout: Layout, settings: Settings, provenance: list[Setting], trace: Trace | None = None) -> None:
        self.layout, self.settings, self.provenance = layout, settings, provenance
        self.notes: list[str] = []  # what a user should know of how this index came to be
        self.refreshed = RefreshSummary()
        self.tree = Tree()
        self.trace = trace
        self._store: IndexStore | None = None
        self._view: Generation | None = None
        self._alone = RLock()  # held by the thread that changes what answers are of
        self._stale = 0
        self._seen = -1
        self._given: ReusableIndex | None = None  # what a first build begins with
        self._damage = ""  # what of it was lost or damaged, until it is built again
        self._verified = 0.0  # when everything was last compared with its checksums
        self._encoder: Encoder | None = self._open_encoder()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Let go of all files."""
        with self._alone:
            if self._store is not None:
                self._store.close()
                if self._verified and not self._store.read_only:
                    write_seal(self.layout, self._verified)
                self._store = None
            self._replace_view(None)

    @property
    def root(self) -> Path:
        """The folder that is indexed."""
        return self.layout.root

    @property
    def store(self) -> IndexStore:
        """The truth, opened."""
        if self._store is None:
            raise StorageError("the index is closed")
        return self._store

    @property
    def snapshot(self) -> Snapshot:
        """The view that answers are of."""
        return self._seen_now.snapshot

    @property
    def _seen_now(self) -> Generation:
        if self._view is None:
            raise StorageError("the index is closed")
        return self._view

    @property
    def graph(self) -> Graph:
        """The symbol graph of the snapshot; made now where it is not there yet, and kept for the next who asks."""
        view = self._seen_now
        if "graph" not in view.made:
            from whence.graph.reader import open_graph  # noqa: PLC0415  -- a search does without

            view.made.setdefault("graph", open_graph(self.layout, self.store, view.snapshot, self.read_text, self.notes))
        graph: Graph = view.made["graph"]
        return graph

    def add_edges(self, provenance: str, edges: Sequence[Edge], *, paths: Sequence[str] | None = None) -> None:
        """Keep edges that something other than the parser found, in place of those of the same provenance (of some files, or of all)."""
        with self.layout.writing(self.settings.index.lock_wait), self.store.transaction():
            self.store.replace_edges(provenance, edges, paths)
        self.store.settle()
        self._look()

    # What answers are of.
    def _look(self) -> None:
        """Open the view that answers are of, unless nobody wrote anything since the last was opened."""
        moment = moment_of(self.store, self.model)  # before it is opened: what is written meanwhile is looked at next time
        if self._view is None or self._view.moment != moment:
            self._replace_view(Generation(open_snapshot(self.layout, self.store, self.model), moment))

    def _replace_view(self, view: Generation | None) -> None:
        before, self._view = self._view, view
        if before is not None:
            before.let_go()
            del before
            gc.collect(1)  # the last answers refer to themselves and to its files; they are young, and this takes no time

    def _open_encoder(self) -> Encoder | None:
        try:
            return open_encoder(self.settings.index.model)
        except ModelUnavailable as trouble:
            self._do_without(trouble)
            return None

    def _do_without(self, trouble: ModelUnavailable) -> None:
        self._encoder = None
        self.notes.append(f"{trouble}: answers are by words alone")

    @property
    def encoder(self) -> Encoder | None:
        """What reads meaning here, if anything does."""
        return self._encoder

    @property
    def model(self) -> str:
        """What reads meaning here; empty when nothing does."""
        return self._encoder.fingerprint if self._encoder is not None else ""

    @property
    def freshness(self) -> Freshness:
        """What answers are of: commit, time, and whether files changed since."""
        meta = self.store.meta()
        return Freshness(
            meta.get("commit", ""),
            meta.get("branch", ""),
            float(meta.get("indexed_at", 0)),
            self._stale,
            "; ".join(note for note in self.notes if note.startswith(BEHIND)),
        )

    # Reading what is indexed.
    def read_text(self, path: str, wanted: Callable[[str], object] | None = None) -> str | None:
        """The text of a file as it is on disk now, without its secrets; None when it is gone, no text, or not wanted."""
        most, store = self.settings.index.max_file_bytes + 1, self.store
        return read_text(self.root, path, most, wanted, lambda raw: store.is_clean(path, content_hash(raw)))

    def parsed(self, path: str) -> Parsed | None:
        """What a file holds, as it was indexed."""
        blob = self.snapshot.parsed_of(path)
        return None if blob is None else unpack_parsed(blob)

    def units_at(self, path: str, wanted: Collection[tuple[int, str]]) -> dict[tuple[int, str], Unit]:
        """The units of a file that begin at some lines under some names, as they were indexed."""
        blob = self.snapshot.parsed_of(path)
        return {} if blob is None else find_units(blob, wanted)

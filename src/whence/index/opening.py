"""Open everything that belongs to one snapshot: segments, shared columns, the past, and the vectors of a model."""

from __future__ import annotations

import numpy as np

from whence.index.history import open_commits
from whence.index.layout import Layout
from whence.index.reader import Generation
from whence.index.segment import open_segment
from whence.index.snapshot import Snapshot, identity_of
from whence.index.store import IndexStore, VectorRow
from whence.index.vectors import open_vectors
from whence.source.git import Head
from whence.storage.arrayfile import open_columns
from whence.storage.rows import dead_mask


def generation_of(store: IndexStore, model: str) -> Generation:
    """The state of an index as it is now: another one when anybody has written, or another model is in use."""
    return store, store.changes(), store.own_changes(), model


def vectors_of(store: IndexStore, model: str) -> dict[int, VectorRow]:
    """The vector files of a model, by segment."""
    return {segment: row for segment, row in store.vectors().items() if row.model == model} if model else {}


def is_behind(store: IndexStore, head: Head | None, commits: int, model: str) -> bool:
    """Whether there is work though no file changed: a build was cut off, the commit moved, or other commits or vectors are wanted."""
    meta = store.meta()
    commit, branch = (head.commit, head.branch) if head else ("", "")
    if not is_shared_current(store) or (meta.get("commit", ""), meta.get("branch", "")) != (commit, branch):
        return True
    other_commits: bool = store.json_meta("history").get("count", commits) != commits
    return other_commits or bool(model and len(vectors_of(store, model)) < len(store.segments()))


def is_shared_current(store: IndexStore) -> bool:
    """Whether the columns of all files together are of the files and the past that the store lists: a build may have been cut off."""
    rows, dead, shared = store.segments(), store.dead_rows(), store.json_meta("shared")
    alive = np.concatenate([np.empty(0, bool), *(~dead_mask(row.files, dead.get(row.id, [])) for row in rows)])
    return shared.get("of") == identity_of([row.name for row in rows], alive) and shared.get("past") == past_of(store)


def past_of(store: IndexStore) -> str:
    """The name of the file of the past; empty where there is none."""
    return str(store.json_meta("history").get("name", ""))


def open_snapshot(layout: Layout, store: IndexStore, model: str) -> Snapshot:
    """The view that answers are of; `model` is the fingerprint whose vectors belong to it, empty for none."""
    return store.read_consistently(lambda: _opened(layout, store, model))


def _opened(layout: Layout, store: IndexStore, model: str) -> Snapshot:
    rows, dead = store.segments(), store.dead_rows()
    snapshot = Snapshot(
        [open_segment(layout.segments / row.name, row.stamp) for row in rows],
        [dead_mask(row.files, dead.get(row.id, [])) for row in rows],
    )
    shared = store.json_meta("shared")
    if shared and shared["of"] == snapshot.identity and shared.get("past") == past_of(store):
        snapshot.shared = open_columns(layout.segments / shared["name"], shared["stamp"])
        snapshot.commits = open_commits(layout, store.json_meta("history")) if "past.rows" in snapshot.shared else None
    known = vectors_of(store, model)
    places = {place: known[row.id] for place, row in enumerate(rows) if row.id in known}
    snapshot.open_vectors({place: open_vectors(layout.segments / row.name, row.stamp) for place, row in places.items()})
    return snapshot

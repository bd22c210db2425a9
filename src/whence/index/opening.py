"""Open everything that belongs to one snapshot: segments, shared columns, the past, and the vectors of a model."""

from __future__ import annotations

import json

from whence.index.arrayfile import ArrayFile, Stamp
from whence.index.history import open_past
from whence.index.layout import Layout
from whence.index.segment import open_segment
from whence.index.snapshot import Snapshot, dead_mask
from whence.index.store import Store, VectorRow
from whence.index.vectors import open_vectors
from whence.source.git import Head


def vectors_of(store: Store, model: str) -> dict[int, VectorRow]:
    """The vector files of a model, by segment."""
    return {segment: row for segment, row in store.vectors().items() if row.model == model} if model else {}


def is_behind(store: Store, head: Head | None, commits: int, model: str) -> bool:
    """Whether there is work though no file changed: a build was cut off, the commit moved, or other commits or vectors are wanted."""
    meta = store.meta()
    commit, branch = (head.commit, head.branch) if head else ("", "")
    if "shared" not in meta or (meta.get("commit", ""), meta.get("branch", "")) != (commit, branch):
        return True
    other_commits: bool = json.loads(meta.get("history", "{}")).get("count", commits) != commits
    return other_commits or bool(model and len(vectors_of(store, model)) < len(store.segments()))


def open_snapshot(layout: Layout, store: Store, model: str) -> Snapshot:
    """The view that answers are of; `model` is the fingerprint whose vectors belong to it, empty for none."""
    rows, dead, meta = store.segments(), store.dead_rows(), store.meta()
    snapshot = Snapshot(
        [open_segment(layout.segments / row.name, row.stamp) for row in rows],
        [dead_mask(row.files, dead.get(row.id, [])) for row in rows],
    )
    shared = json.loads(meta.get("shared", "{}"))
    if shared and shared["segments"] == [row.id for row in rows] and shared["files"] == snapshot.live_files:
        snapshot.shared = ArrayFile(layout.segments / shared["name"], Stamp(**shared["stamp"]))
        snapshot.past = open_past(layout, json.loads(meta.get("history", "{}"))) if "past.rows" in snapshot.shared else None
    known = vectors_of(store, model)
    places = {place: known[row.id] for place, row in enumerate(rows) if row.id in known}
    snapshot.open_vectors({place: open_vectors(layout.segments / row.name, row.stamp) for place, row in places.items()})
    return snapshot

"""Builds what is missing of an index: parses changed files into segments, makes their vectors, merges small segments."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np

from whence.core.errors import ModelUnavailable
from whence.core.settings_schema import IndexSettings
from whence.core.types import RefreshSummary
from whence.embed.encoder import Encoder
from whence.embed.passages import cut_passages
from whence.embed.registry import NONE, SHIPPED
from whence.index.changes import read_state, split_changed
from whence.index.history import history_columns, update_history
from whence.index.layout import ABANDONED_NS, Layout
from whence.index.merge import merge, merge_inputs
from whence.index.reader import has_current_columns, history_file, open_segments
from whence.index.segment import Segment, open_segment, unpack_parsed
from whence.index.store import FileRecord, IndexStore, SegmentRow, VectorRow
from whence.index.vectors import PassageRows, merge_vectors, open_vectors
from whence.index.worker import Batch, BatchResult, vectors_path
from whence.index.workers import WorkerPool, run_batches_here
from whence.source.read import read_masked
from whence.source.walk import FileTree
from whence.storage.arrayfile import Array, write_arrays
from whence.storage.rows import dead_mask

Progress = Callable[[int, int], None]


def make_vectors(layout: Layout, store: IndexStore, encoder: Encoder, max_file_bytes: int, progress: Progress) -> int:
    """Make what is missing, segment by segment, each kept as soon as it is done; how many were made."""
    known = store.vectors()
    missing = [row for row in store.segments() if row.id not in known or known[row.id].model != encoder.fingerprint]
    total, done = sum(row.bytes for row in missing), 0

    def seen(size: int) -> None:
        nonlocal done
        done += size
        progress(min(done, total), total)

    for row in missing:
        _make(layout, store, encoder, row, max_file_bytes, seen)
    return len(missing)


def _make(layout: Layout, store: IndexStore, encoder: Encoder, row: SegmentRow, max_file_bytes: int, seen: Callable[[int], None]) -> None:
    segment = open_segment(layout.segments / row.name, row.stamp)
    firsts = np.concatenate([[0], segment.unit_ends]).tolist()
    found = PassageRows(encoder)
    for at, path in store.paths_of(row.id):
        source = _source(layout.root, path, max_file_bytes)
        if source is not None:
            found.add(cut_passages(path, source, unpack_parsed(segment.parsed_of(at))), firsts[at])
            seen(len(source))
    name = f"{os.urandom(8).hex()}.vectors"
    stamp = write_arrays(layout.segments / name, found.arrays(), {"width": encoder.width})
    with store.transaction():
        store.set_vectors(VectorRow(row.id, encoder.fingerprint, name, stamp))


def _source(root: Path, path: str, max_file_bytes: int) -> bytes | None:
    """A file as it was parsed; None when it is gone, in which case the next refresh will say so."""
    text = read_masked(root, path, max_file_bytes + 1)
    return None if text is None else text.replace(b"\0", b" ")


#: A batch holds about this much source: large enough to be worth a process, small enough to lose.
BATCH_BYTES = 800_000
BATCH_FILES = 1_000
SMALLEST_BATCH_BYTES = 375_000
#: No segment holds more source than this, so that a merge fits in memory whatever the tree.
SEGMENT_BYTES = 24_000_000
#: Below this much source, starting processes costs more than it saves.
SMALL_BUILD_BYTES = 4_500_000

Progress_build = Callable[[int, int], None]


class Builder:
    """Writes one index. Used by the one process that holds the writer's lock."""

    def __init__(self, layout: Layout, store: IndexStore, settings: IndexSettings, now_ns: int, encoder: Encoder | None) -> None:
        self._encoder = encoder
        self._layout = layout
        self._store = store
        self._settings = settings
        self._now_ns = now_ns
        self.model_error: ModelUnavailable | None = None  # what the model failed with, if it did

    def bring_up_to_date(self, tree: FileTree, head: str, progress: Progress_build) -> RefreshSummary:
        """Read what changed, forget what is gone, and leave the snapshot in few pieces. `head` is the commit, where there is one."""
        changed, touched = split_changed(self._store, self._layout.root, tree.changed, self._settings.max_file_bytes)
        revived = self._revivable(changed)
        changed = [path for path in changed if path not in revived]
        total = sum(tree.files[path].size for path in changed)
        batches = self._batches(changed, tree)
        if len(batches) != 1:  # else all at once: a reader sees a small change as a whole, or nothing of it
            with self._store.transaction():
                self._enter(tree, touched, revived)
        done = read = 0
        for outcome, batch in self._outcomes(batches, total):
            with self._store.transaction():
                if len(batches) == 1 and not read:
                    self._enter(tree, touched, revived)
                self._add(outcome, Path(batch.out))
            done += sum(tree.files[path].size for path in batch.paths)
            read += len(batch.paths)
            progress(min(done, total), total)
        with self._store.transaction():
            self._store.set_places(tree)
        # Vectors first: a merge takes them along, so that what a slow model has read is not read again.
        self._make_vectors(progress)
        moved = update_history(self._layout, self._store, head, self._settings.history)
        if moved or changed or revived or tree.deleted or not has_current_columns(self._store):
            self._compact()
        self._remove_strays()
        return RefreshSummary(read, len(touched), len(revived), len(tree.deleted), total)

    def _enter(self, tree: FileTree, touched: Sequence[str], revived: Mapping[str, tuple[FileRecord, int]]) -> None:
        """Note what takes no reading: files that are gone, that were only touched, or that are again what they were."""
        self._store.remove_files(tree.deleted)
        self._store.update_states((path, tree.files[path]) for path in touched)
        for record, segment in revived.values():
            self._store.revive(record, segment)

    def _revivable(self, paths: Sequence[str]) -> dict[str, tuple[FileRecord, int]]:
        """Files that are again what they were before, as after a change of branch: what was made of them then still lies there."""
        found: dict[str, tuple[FileRecord, int]] = {}
        for path in paths if self._store.dead_rows() else ():
            before = self._store.dead_file_rows(path)
            now = read_state(self._layout.root, path, self._settings.max_file_bytes, self._now_ns) if before else None
            same = [one for one in before if now is not None and one[1] == now.hash]
            if same and now is not None:
                _, known, language, segment, row = same[-1]
                found[path] = (FileRecord(path, now.state, known, language, "", row), segment)
        return found

    def _make_vectors(self, progress: Progress_build) -> None:
        """Make the vectors that are missing; a model that fails on the way costs only them."""
        if self._encoder is not None:
            try:
                make_vectors(self._layout, self._store, self._encoder, self._settings.max_file_bytes, progress)
            except ModelUnavailable as error:
                self.model_error = error

    def _batches(self, paths: list[str], tree: FileTree) -> list[Batch]:
        total = sum(tree.files[path].size for path in paths)
        limit = min(BATCH_BYTES, max(total // (2 * self._workers()), SMALLEST_BATCH_BYTES))
        batches: list[list[str]] = []
        size = 0
        for path in paths:
            if not batches or size > limit or len(batches[-1]) >= BATCH_FILES:
                batches.append([])
                size = 0
            batches[-1].append(path)
            size += tree.files[path].size
        return [self._batch(batch) for batch in batches]

    def _batch(self, paths: list[str]) -> Batch:
        out = self._layout.segments / f"{os.urandom(8).hex()}.segment"
        return Batch(
            str(self._layout.root),
            paths,
            str(out),
            str(self._layout.grammars),
            self._settings.max_file_bytes,
            self._settings.max_line_bytes,
            self._now_ns,
            # Another model may need minutes for a batch: its vectors are made afterwards, where nothing waits for them.
            SHIPPED if self._encoder is not None and self._encoder.name == SHIPPED else NONE,
        )

    def _workers(self) -> int:
        return self._settings.workers or os.cpu_count() or 1

    def _outcomes(self, batches: list[Batch], total: int) -> Iterator[tuple[BatchResult, Batch]]:
        workers = min(self._workers(), len(batches))
        if workers <= 1 or total < SMALL_BUILD_BYTES:
            yield from run_batches_here(batches, self._layout.directory / "parsing", os.environ)
            return
        with WorkerPool(workers, os.environ) as pool:
            yield from pool.run(batches)

    def _add(self, outcome: BatchResult, path: Path) -> None:
        rows = sum(1 for record in outcome.records if record.row >= 0)
        segment = self._store.add_segment(path.name, rows, outcome.bytes, outcome.stamp) if outcome.stamp else 0
        self._store.add_files(outcome.records, segment)
        if outcome.vectors and self._encoder is not None:
            beside = vectors_path(str(path))
            self._store.set_vectors(VectorRow(segment, self._encoder.fingerprint, beside.name, outcome.vectors))

    # Few pieces, none too large to rewrite.
    def _compact(self) -> None:
        dead = self._store.dead_rows()
        for group in merge_groups(self._store.segments(), dead, self._settings.overlay_share):
            self._merge(group, dead)
        self._write_shared()

    def _merge(self, rows: list[SegmentRow], dead: dict[int, list[int]]) -> None:
        opened = [(row, open_segment(self._layout.segments / row.name, row.stamp)) for row in rows]
        if len(opened) == 1 and not dead.get(rows[0].id):
            return
        keeps = [(segment, ~dead_mask(segment.files, dead.get(row.id, []))) for row, segment in opened]
        moved: dict[tuple[int, int], int] = {}
        for row, (_, keep) in zip(rows, keeps, strict=True):
            for at in np.flatnonzero(keep).tolist():
                moved[row.id, at] = len(moved)
        if not moved:
            with self._store.transaction():
                self._store.replace_segments([row.id for row in rows], 0, {})
            return
        arrays = merge(keeps)
        path = self._layout.segments / f"{os.urandom(8).hex()}.segment"
        stamp = write_arrays(path, arrays, {})
        total = int(arrays["files.bytes"].sum(dtype=np.int64))
        vectors = self._merged_vectors(rows, keeps, vectors_path(str(path)))
        with self._store.transaction():
            new = self._store.add_segment(path.name, len(moved), total, stamp)
            self._store.replace_segments([row.id for row in rows], new, moved)
            if vectors is not None:
                self._store.set_vectors(replace(vectors, segment=new))

    def _merged_vectors(self, rows: list[SegmentRow], keeps: list[tuple[Segment, Array]], path: Path) -> VectorRow | None:
        """The vectors of segments that become one, where all have some of the same model."""
        listed = self._store.vectors()
        found = [listed.get(row.id) for row in rows]
        known = [one for one in found if one is not None]
        if len(known) < len(rows) or len({one.model for one in known}) > 1:
            return None
        opened = [open_vectors(self._layout.segments / one.name, one.stamp) for one in known]
        arrays = merge_vectors([(vectors, one.unit_rows) for vectors, one in zip(opened, merge_inputs(keeps), strict=True)])
        return VectorRow(0, known[0].model, path.name, write_arrays(path, arrays, {"width": opened[0].width}))

    def _write_shared(self) -> None:
        """Columns that depend on every file of the snapshot at once."""
        snapshot = open_segments(self._layout, self._store)
        name = f"{os.urandom(8).hex()}.shared"
        columns = {
            "centrality": snapshot.compute_centrality(),
            "order": snapshot.compute_order(),
            **history_columns(self._layout, self._store, snapshot),
        }
        stamp = write_arrays(self._layout.segments / name, columns, {})
        with self._store.transaction():
            shared = {"name": name, "stamp": asdict(stamp), "of": snapshot.id, "past": history_file(self._store)}
            self._store.set_meta(shared=json.dumps(shared))

    def _remove_strays(self) -> None:
        """Derived files that no snapshot lists: replaced ones, and those of interrupted builds."""
        listed = self._store.derived_files()
        for path in self._layout.segments.iterdir():
            if path.name not in listed and (path.is_symlink() or not path.is_dir()):  # a folder is none of ours
                path.unlink(missing_ok=True)
        for place in self._layout.unpack_folders():  # of somebody who was killed over a pack; a young one may be at work
            if self._now_ns - place.stat().st_mtime_ns > ABANDONED_NS:
                shutil.rmtree(place, ignore_errors=True)


def merge_groups(rows: list[SegmentRow], dead: dict[int, list[int]], share: float) -> list[list[SegmentRow]]:
    """Which segments to rewrite together.

    From the smallest up, a segment joins those before it when they are no longer
    small beside it; a group is closed before it gets too large to hold in memory.
    A segment with too many dead rows is rewritten in any case.
    """
    groups: list[list[SegmentRow]] = []
    open_: list[SegmentRow] = []
    for row in sorted(rows, key=lambda row: (row.bytes, row.id)):
        gathered = sum(one.bytes for one in open_)
        if open_ and (gathered < share * row.bytes or gathered + row.bytes > SEGMENT_BYTES):
            groups.append(open_)
            open_ = []
        open_.append(row)
    groups.append(open_)
    rotten = {row.id for row in rows if len(dead.get(row.id, [])) > share * row.files}
    return [sorted(group, key=lambda row: row.id) for group in groups if len(group) > 1 or (group and group[0].id in rotten)]

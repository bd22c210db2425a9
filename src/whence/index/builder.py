"""The index builder: parses changed files into segments, makes their vectors, merges small segments."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np

from whence.core.errors import ModelUnavailable
from whence.core.settings import IndexSettings
from whence.core.types import RefreshSummary
from whence.embed.encoder import NONE, SHIPPED, Encoder
from whence.embed.passages import cut_passages
from whence.index.changes import read_state, split_changed, update_committed
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
from whence.storage.postings import dead_mask

Progress = Callable[[int, int], None]


#: Source per batch: large enough to be worth a process, small enough to lose.
BATCH_BYTES = 800_000
BATCH_FILES = 1_000
SMALLEST_BATCH_BYTES = 375_000
#: No segment holds more source than this, so that a merge fits in memory.
SEGMENT_BYTES = 24_000_000
#: Dead rows that are kept for their content to come back, as when branches are switched: this share of the files, or so many.
KEPT_SHARE, KEPT_ROWS = 0.5, 500
#: Below this much source, starting processes costs more than it saves.
SMALL_BUILD_BYTES = 4_500_000


class Builder:
    """Writes one index. Only the process that holds the write lock may use it."""

    def __init__(self, layout: Layout, store: IndexStore, settings: IndexSettings, now_ns: int, encoder: Encoder | None) -> None:
        self._layout, self._store, self._settings, self._now_ns, self._encoder = layout, store, settings, now_ns, encoder
        self.model_error: ModelUnavailable | None = None  # how the model failed, if it did

    def bring_up_to_date(self, tree: FileTree, head: str, progress: Progress) -> RefreshSummary:
        """Index changed files, drop deleted ones, make vectors, merge small segments. `head` is the commit; empty without git."""
        changed, touched = split_changed(self._store, self._layout.root, tree.changed, self._settings.max_file_bytes)
        revived = self._revivable(changed)
        changed = [path for path in changed if path not in revived]
        total = sum(tree.files[path].size for path in changed)
        batches = self._batches(changed, tree)
        if len(batches) != 1:  # else in one transaction: a reader sees all of a small change, or none of it
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
        # Vectors first: a merge keeps them, so that a slow model never encodes a file twice.
        self._make_vectors(progress)
        update_committed(self._store, self._layout.root, head, changed, self._settings.max_file_bytes)
        moved = update_history(self._layout, self._store, head, self._settings.history)
        if moved or changed or revived or tree.deleted or not has_current_columns(self._store):
            self._compact()
        self._remove_strays()
        return RefreshSummary(read, len(touched), len(revived), len(tree.deleted), total)

    def _enter(self, tree: FileTree, touched: Sequence[str], revived: Mapping[str, tuple[FileRecord, int]]) -> None:
        """Record files that need no reading: deleted, only touched, or back to a content that a segment still has."""
        self._store.remove_files(tree.deleted)
        self._store.update_states((path, tree.files[path]) for path in touched)
        for record, segment in revived.values():
            self._store.revive(record, segment)

    def _revivable(self, paths: Sequence[str]) -> dict[str, tuple[FileRecord, int]]:
        """Files whose content a dead row of a segment has, as after switching back to a branch."""
        found: dict[str, tuple[FileRecord, int]] = {}
        for path in paths if self._store.dead_rows() else ():
            before = self._store.dead_file_rows(path)
            now = read_state(self._layout.root, path, self._settings.max_file_bytes, self._now_ns) if before else None
            same = [one for one in before if now is not None and one[1] == now.hash]
            if same and now is not None:
                _, known, language, segment, row = same[-1]
                found[path] = (FileRecord(path, now.state, known, language, "", row), segment)
        return found

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
            # Any other model may need minutes for a batch: its vectors are made afterwards.
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

    # Vectors.
    def _make_vectors(self, progress: Progress) -> None:
        """Make the vectors that are missing, segment by segment, each stored when it is done. A model that fails costs only them."""
        if self._encoder is None:
            return
        known = self._store.vectors()
        missing = [row for row in self._store.segments() if row.id not in known or known[row.id].model != self._encoder.fingerprint]
        total, done = sum(row.bytes for row in missing), 0
        try:
            for row in missing:
                for size in self._encode_segment(row, self._encoder):
                    done += size
                    progress(min(done, total), total)
        except ModelUnavailable as error:
            self.model_error = error

    def _encode_segment(self, row: SegmentRow, encoder: Encoder) -> Iterator[int]:
        """Make and store the vectors of a segment; yields the size of each file as it is read."""
        segment = open_segment(self._layout.segments / row.name, row.stamp)
        firsts = np.concatenate([[0], segment.unit_ends]).tolist()
        passages = PassageRows(encoder)
        for at, path in self._store.paths_of(row.id):
            text = read_masked(self._layout.root, path, self._settings.max_file_bytes + 1)
            if text is not None:  # else it is gone, and the next refresh notices
                source = text.replace(b"\0", b" ")  # as it was parsed
                passages.add(cut_passages(path, source, unpack_parsed(segment.parsed_of(at))), firsts[at])
                yield len(source)
        name = f"{os.urandom(8).hex()}.vectors"
        stamp = write_arrays(self._layout.segments / name, passages.arrays(), {"width": encoder.width})
        with self._store.transaction():
            self._store.set_vectors(VectorRow(row.id, encoder.fingerprint, name, stamp))
            self._store.forget_dead_rows(row.id)  # they have no vectors

    # Merging: few segments, none too large to rewrite.
    def _compact(self) -> None:
        expired = self._store.expired_rows(max(int(KEPT_SHARE * self._store.count_files()[0]), KEPT_ROWS))
        for group in merge_groups(self._store.segments(), expired, self._settings.overlay_share):
            self._merge(group, expired)
        self._write_shared()

    def _merge(self, rows: list[SegmentRow], expired: dict[int, list[int]]) -> None:
        opened = [(row, open_segment(self._layout.segments / row.name, row.stamp)) for row in rows]
        if len(opened) == 1 and not expired.get(rows[0].id):
            return
        keeps = [(segment, ~dead_mask(segment.files, expired.get(row.id, []))) for row, segment in opened]
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
        listed = self._store.vectors()
        found = [listed.get(row.id) for row in rows]
        known = [one for one in found if one is not None]
        if len(known) < len(rows) or len({one.model for one in known}) > 1:
            return None
        opened = [open_vectors(self._layout.segments / one.name, one.stamp) for one in known]
        arrays = merge_vectors([(vectors, one.unit_rows) for vectors, one in zip(opened, merge_inputs(keeps), strict=True)])
        return VectorRow(0, known[0].model, path.name, write_arrays(path, arrays, {"width": opened[0].width}))

    def _write_shared(self) -> None:
        """Write the columns that depend on all files of the snapshot."""
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
        """Delete derived files that the store does not list: replaced ones, and those of interrupted builds."""
        listed = self._store.derived_files()
        for path in self._layout.segments.iterdir():
            if path.name not in listed and (path.is_symlink() or not path.is_dir()):  # we make no folders there
                path.unlink(missing_ok=True)
        for place in self._layout.unpack_folders():  # of a killed import; a recent one may still be in use
            if self._now_ns - place.stat().st_mtime_ns > ABANDONED_NS:
                shutil.rmtree(place, ignore_errors=True)


def merge_groups(rows: list[SegmentRow], expired: dict[int, list[int]], share: float) -> list[list[SegmentRow]]:
    """The segments to rewrite together.

    From the smallest up, a segment joins the group before it once that is no longer small compared to it; no group gets too
    large for memory. A segment with too many expired rows is always rewritten.
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
    rotten = {row.id for row in rows if len(expired.get(row.id, [])) > share * row.files}
    return [sorted(group, key=lambda row: row.id) for group in groups if len(group) > 1 or (group and group[0].id in rotten)]

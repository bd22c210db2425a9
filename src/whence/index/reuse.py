"""Segment reuse: taking over what another index has of the same content, instead of making it again (Z5, Z8).

Worktrees, branches and clones of one repository have nearly the same files. A segment is immutable and independent of where
its tree is, so the new index gets a hard link to it. Rows of files whose content differs here are dead; only those are read.
"""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from whence.core.errors import IndexDamaged, StorageError
from whence.index.changes import read_state
from whence.index.integrity import describe_difference
from whence.index.layout import DATABASE, SEGMENTS, Layout
from whence.index.store import COLUMNS, FORMAT, FileRecord, IndexStore, SegmentRow, VectorRow
from whence.source import git
from whence.source.walk import FileTree
from whence.storage.arrayfile import Stamp, stamp_of
from whence.storage.files import NO_HARD_LINKS

#: A segment is reused if at least this share of its files is the same here.
MIN_SHARED = 0.5


@dataclass(frozen=True, slots=True)
class KnownFile:
    """A file as another index has it."""

    hash: bytes
    language: str
    reason: str
    segment: int
    row: int
    hidden: int = 1  # whether it may contain a secret


@dataclass(frozen=True, slots=True)
class ReusableIndex:
    """What can be reused: segments and vectors in a folder, the files in them, and the columns over all files."""

    folder: Path
    segments: Sequence[SegmentRow]
    vectors: Mapping[int, VectorRow]
    files: Mapping[str, KnownFile]
    dead: Sequence[tuple[str, bytes, str, int, int]]
    columns: Mapping[str, dict[str, Any]]


def reusable_index(folder: Path, store: IndexStore) -> ReusableIndex:
    """What can be reused of an index, as of one moment."""
    with store.read_transaction():
        files = {one[0]: KnownFile(*one[1:]) for one in store.file_rows()}
        return ReusableIndex(
            folder, store.segments(), store.vectors(), files, store.dead_file_rows(), {key: store.json_meta(key) for key in COLUMNS}
        )


def find_reusable_indexes(layout: Layout, commit: str, settings: str) -> Iterator[ReusableIndex]:
    """Indexes of the same repository, or at the same commit, the most similar first."""
    repository = git.common_dir(layout.root)
    found: list[tuple[bool, float, Path]] = []
    for place in layout.sibling_indexes():
        meta = _meta_of(place)
        if meta.get("format") == str(FORMAT) and meta.get("settings") == settings:
            same = bool(commit) and meta.get("commit") == commit
            if same or (repository and meta.get("repository") == repository):
                found.append((not same, -float(meta.get("indexed_at", 0)), place))
    for *_, place in sorted(found):
        with suppress(StorageError), closing(IndexStore(place / DATABASE)) as store:
            yield reusable_index(place / SEGMENTS, store)


def _meta_of(place: Path) -> dict[str, str]:
    try:
        with closing(IndexStore(place / DATABASE)) as store:
            return store.meta()
    except StorageError:  # damaged, busy, or not ours
        return {}


def reuse_segments(layout: Layout, store: IndexStore, other: ReusableIndex, tree: FileTree, *, model: str, limit: int, now_ns: int) -> int:
    """Reuse what is the same in another index; returns the number of files, which are no longer in `tree.changed`."""
    same = _same_files(layout.root, other, tree, limit, now_ns)
    alive = Counter(other.files[path].segment for path in same if other.files[path].row >= 0)
    segments = [row for row in other.segments if alive[row.id] >= MIN_SHARED * row.files]
    taken = {row.id for row in segments}
    same = {path: record for path, record in same.items() if record.row < 0 or other.files[path].segment in taken}
    vectors = [row for row in other.vectors.values() if row.segment in taken and row.model == model]
    whole = len(same) == len(other.files) and len(segments) == len(other.segments)
    columns = {key: facts for key, facts in other.columns.items() if "name" in facts and (whole or key == "history")}
    try:
        segments = [replace(row, stamp=_link(layout, other, row.name, row.stamp)) for row in segments]
        vectors = [replace(row, stamp=_link(layout, other, row.name, row.stamp)) for row in vectors]
        for facts in columns.values():
            facts["stamp"] = asdict(_link(layout, other, facts["name"], Stamp(**facts["stamp"])))
    except (FileNotFoundError, IndexDamaged):  # replaced meanwhile, or damaged
        return 0
    except OSError as error:
        raise StorageError(
            f"cannot write to {layout.segments}: {error.strerror or error}", hint="free some space and run it again"
        ) from error
    with store.transaction():
        _enter(store, other, segments, vectors, same)
        store.set_meta(**{key: json.dumps(facts) for key, facts in columns.items()})
    tree.files |= {path: record.state for path, record in same.items()}
    tree.changed = [path for path in tree.changed if path not in same]
    return len(same)


def _same_files(root: Path, other: ReusableIndex, tree: FileTree, limit: int, now_ns: int) -> dict[str, FileRecord]:
    found = {}
    for path in tree.changed:
        known = other.files.get(path)
        if known is not None and known.hash and (now := read_state(root, path, limit, now_ns)) is not None and now.hash == known.hash:
            found[path] = FileRecord(path, now.state, known.hash, known.language, known.reason, known.row, bool(known.hidden))
    return found


def _enter(
    store: IndexStore, other: ReusableIndex, segments: list[SegmentRow], vectors: list[VectorRow], same: dict[str, FileRecord]
) -> None:
    """List what is reused; call inside a transaction."""
    new = {row.id: store.add_segment(row.name, row.files, row.bytes, row.stamp) for row in segments}
    for row in vectors:
        store.set_vectors(replace(row, segment=new[row.segment]))
    grouped: dict[int, list[FileRecord]] = {}
    for path, record in same.items():
        grouped.setdefault(new[other.files[path].segment] if record.row >= 0 else 0, []).append(record)
    for segment, records in grouped.items():
        store.add_files(records, segment)
    others = [
        (path, one.hash, one.language, one.segment, one.row) for path, one in other.files.items() if path not in same and one.row >= 0
    ]
    dead = [*other.dead, *others]
    store.add_dead_rows((path, known, language, new[segment], row) for path, known, language, segment, row in dead if segment in new)


def _link(layout: Layout, other: ReusableIndex, name: str, stamp: Stamp) -> Stamp:
    """Link a derived file of another index into this one, or copy it where the disk has no hard links."""
    source, target = other.folder / name, layout.segments / name
    target.unlink(missing_ok=True)
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError as error:
        if error.errno not in NO_HARD_LINKS:
            raise
        shutil.copyfile(source, target)
        target.chmod(0o600)
    if difference := describe_difference(target, stamp):
        raise IndexDamaged(f"{name}: {difference}")
    return stamp_of(target, stamp.checksum)

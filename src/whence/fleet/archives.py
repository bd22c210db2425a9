"""The portable index of a repository's commit, in the engine: whoever asks more of a repository than a search takes it in (Z8)."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from whence.fleet.access import OPERATOR, Caller, may_see, visible_rows
from whence.fleet.counts import delete_keys
from whence.fleet.milvus.engine import Engine
from whence.fleet.milvus.filters import equals
from whence.fleet.rows import Owner, Row, archive_key, join_blob, part_key, same_groups, split_blob
from whence.index.archive import write_archive
from whence.index.changes import hash_committed_files
from whence.index.writer import IndexWriter
from whence.source import git
from whence.source.history import list_blobs

#: Bytes of a pack at most: a larger one is quicker made anew than moved.
MAX_BYTES = 512 << 20


@dataclass(frozen=True, slots=True)
class FleetArchive:
    """A portable index as it lies in the engine."""

    commit: str
    digest: str
    parts: int


def send_archive(engine: Engine, owner: Owner, index: IndexWriter, *, known: bool) -> tuple[int, int, int]:
    """Send the portable index of the commit: how many rows and bytes, how many deleted. Of a tree that is as no commit there is none.

    With `known`, one of this commit that is there is as good as any.
    """
    fields = ("id", "part", "parts", "commit", "digest", "groups")
    there = list(engine.rows("packs", equals("repo", owner.repository), fields))
    committed = _committed(index)
    if committed is None:
        return 0, 0, delete_keys(engine, "packs", (row["id"] for row in there))
    commit, files = committed
    found = complete_archive(there)
    if known and found is not None and found.commit == commit and all(same_groups(row["groups"], owner.groups) for row in there):
        return 0, 0, 0
    with TemporaryDirectory(dir=index.layout.directory) as scratch:
        file = Path(scratch) / "pack"
        manifest = write_archive(index.store, index.layout, index.settings.index, files, commit, file)
        blobs = split_blob(file.read_bytes()) if file.stat().st_size <= MAX_BYTES else []
    key = archive_key(owner.repository)
    rows = [
        owner.row(part_key(key, part), part=part, parts=len(blobs), digest=manifest.digest, commit=commit, blob=blob)
        for part, blob in enumerate(blobs)
    ]
    sent = engine.put("packs", rows)
    return len(rows), sent, delete_keys(engine, "packs", {row["id"] for row in there} - {row["id"] for row in rows})


def fetch_archive(engine: Engine, repository: str, caller: Caller = OPERATOR) -> tuple[FleetArchive, bytes] | None:
    """The portable index of a repository; None where there is none that the caller may see, or one is just being replaced."""
    rows = _seen(engine, repository, caller, "blob")
    found = complete_archive(rows)
    return None if found is None else (found, join_blob([row["blob"] for row in sorted(rows, key=lambda row: int(row["part"]))]))


def archive_info(engine: Engine, repository: str, caller: Caller = OPERATOR) -> FleetArchive | None:
    """What portable index there is of a repository, without its bytes."""
    return complete_archive(_seen(engine, repository, caller))


def _seen(engine: Engine, repository: str, caller: Caller, *more: str) -> list[Row]:
    rows = engine.rows(
        "packs", visible_rows(caller) & equals("repo", repository), ("repo", "groups", "part", "parts", "commit", "digest", *more)
    )
    return [row for row in rows if may_see(caller, row) and row["repo"] == repository]


def complete_archive(rows: Iterable[Row]) -> FleetArchive | None:
    """What rows are, when they are all the rows of one pack."""
    parts = list(rows)
    kinds = {FleetArchive(row["commit"], row["digest"], row["parts"]) for row in parts}
    one = next(iter(kinds), None)
    return one if one is not None and len(kinds) == 1 and sorted(row["part"] for row in parts) == list(range(one.parts)) else None


def _committed(index: IndexWriter) -> tuple[str, dict[str, bytes]] | None:
    """The commit of a tree and the content of its files, where every file that is indexed is as in the commit."""
    head = git.read_head(index.root)
    blobs = list_blobs(index.root, head.commit) if head is not None and head.commit == index.freshness.commit else None
    if head is None or blobs is None:
        return None
    indexed = {path: content for path, content, _, _, _, row, _ in index.store.file_rows() if row >= 0}
    files = hash_committed_files(os.fspath(index.root), indexed, blobs, index.settings.index.max_file_bytes)
    return (head.commit, files) if indexed and files == indexed else None

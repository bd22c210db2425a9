"""Sync: bring the engine's rows of a repository up to date with its index.

Row keys are derived from content, and a file's own row is written after everything that belongs to it: an interrupted
sync has sent whole files, and repeating it ends with the same rows. New rows come before deletions, so that a concurrent
search misses nothing. The repository's row comes last.
"""

from __future__ import annotations

import operator
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

from whence.fleet import file_blobs
from whence.fleet.counts import TermCounter, write_counts
from whence.fleet.engine import DELETE_BATCH, MAX_NAME, Engine, Row, equals, one_of
from whence.fleet.file_blobs import FileBlob, make_blobs
from whence.fleet.registry import READY, WAITING, WORKING, Registry, Repository
from whence.fleet.rows import (
    Owner,
    blob_state,
    commit_rows,
    complete_archive,
    file_rows,
    passage_count,
    passage_rows,
    same_groups,
    text_rows,
    truncate,
    unit_rows,
)
from whence.index.archive import write_archive
from whence.index.changes import hash_committed_files
from whence.index.snapshot import Snapshot
from whence.index.store import FORMAT
from whence.index.writer import IndexWriter
from whence.source import git
from whence.source.history import list_blobs

Progress = Callable[[int, int], None]
#: Files whose rows are sent together, and rows of one message.
FILE_BATCH, ROW_BATCH = 100, 1_000
#: Collections whose rows belong to a file, with the fields that number a file's rows.
FILE_COLLECTIONS: Mapping[str, tuple[str, ...]] = {
    "units": ("number",),
    "passages": (),
    "texts": ("part", "parts"),
    "files": ("part", "parts"),
}
#: Largest archive in bytes: building a larger index anew is faster than transferring it.
MAX_ARCHIVE = 512 << 20


@dataclass(slots=True)
class SyncSummary:
    """What a sync sent and deleted."""

    files: int = 0  # sent
    removed_files: int = 0
    rows: int = 0  # sent
    deleted: int = 0  # rows
    bytes: int = 0
    repository: Repository | None = None  # its row afterwards

    @property
    def is_empty(self) -> bool:
        """Whether the engine was up to date."""
        return not (self.rows or self.deleted)

    def add(self, rows: int, sent: int, deleted: int = 0) -> None:
        """Add rows, bytes and deletions."""
        self.rows += rows
        self.bytes += sent
        self.deleted += deleted


def read_clocks() -> tuple[float, float]:
    """Seconds, and CPU seconds including child processes that have ended, since some time in the past."""
    return time.monotonic(), sum(os.times()[:4])


def fingerprint(model: str) -> str:
    """What rows were made with: vectors of different models cannot be compared, and blobs have a format."""
    return f"{model or 'none'} {file_blobs.FORMAT}.{FORMAT}"


def sync_index(
    engine: Engine,
    repository: Repository,
    index: IndexWriter,
    *,
    force: bool = False,
    at: float | None = None,
    began: tuple[float, float] | None = None,
    progress: Progress | None = None,
    check_lease: Callable[[], None] | None = None,
) -> SyncSummary:
    """Bring the rows of a repository up to date with an open index.

    `force` sends rows that are there already. `at` is the time to record (default: when the index was made), `began` the clocks
    when the work began. `check_lease` is called before each message, and raises to stop the sync.
    """
    began, check_lease = began or read_clocks(), check_lease or (lambda: None)
    owner, summary = Owner(repository.name, tuple(repository.groups)), SyncSummary()
    files = _FileSync(engine, repository, index, summary, check_lease)
    expected = files.send(force=force, progress=progress or (lambda _done, _total: None))
    check_lease()
    files.clean_up(expected, everything=force or repository.state != READY)
    summary.add(*_send_commits(engine, owner, index.reader.snapshot, force=force))
    check_lease()
    summary.add(*write_counts(engine, owner.repository, files.counter.table(), owner.repository, owner.groups, force=force))
    check_lease()
    reuse = not force and repository.fingerprint == fingerprint(index.model)
    summary.add(*_send_archive(engine, owner, index, reuse=reuse))
    check_lease()
    at = index.freshness.indexed_at if at is None else at
    summary.repository = _write_repository(engine, repository, index, expected, summary, began, at)
    return summary


@dataclass(frozen=True, slots=True)
class ExpectedRows:
    """How many rows of a file there should be."""

    units: int
    passages: int
    sent: bool


class _FileSync:
    """Sends the rows that belong to files."""

    def __init__(
        self, engine: Engine, repository: Repository, index: IndexWriter, summary: SyncSummary, check_lease: Callable[[], None]
    ) -> None:
        self._engine, self._repository, self._index = engine, repository, index
        self._summary, self._check_lease = summary, check_lease
        self._owner = Owner(repository.name, tuple(repository.groups))
        self._own_rows = equals("repo", repository.name)
        self._fingerprint = fingerprint(index.model)
        self._removed: set[str] = set()
        self._marked = False
        self.counter = TermCounter()

    def send(self, *, force: bool, progress: Progress) -> dict[str, ExpectedRows]:
        """Send the files whose rows are missing or outdated; returns the expected rows of every file, by key."""
        known = self._known_states()
        contents = {path: content for path, content, _, _, _, row, _ in self._index.store.file_rows() if row >= 0}
        expected: dict[str, ExpectedRows] = {}
        pending: list[tuple[FileBlob, str]] = []
        snapshot = self._index.reader.snapshot
        for done, blob in enumerate(make_blobs(snapshot), 1):
            self.counter.add(blob.arrays)
            key, state = self._owner.file_key(blob.path), blob_state(blob, contents.get(blob.path, b""), self._fingerprint)
            outdated = force or known.get(key) != state
            expected[key] = ExpectedRows(len(blob.unit_words), passage_count(blob), outdated)
            if outdated:
                pending.append((blob, state))
            if len(pending) == FILE_BATCH:
                self._send_batch(pending)
                pending = []
            progress(done, snapshot.live_files)
        self._send_batch(pending)
        self._removed = known.keys() - expected.keys()
        self._summary.removed_files = len(self._removed)
        return expected

    def _known_states(self) -> dict[str, str]:
        """The state of each file in the engine; empty if parts are missing, of two states, or visible to other groups."""
        parts: dict[str, list[tuple[int, int, str]]] = {}
        for row in self._engine.rows("files", self._own_rows, ("file", "part", "parts", "hash", "groups")):
            state = row["hash"] if same_groups(row["groups"], self._owner.groups) else ""
            parts.setdefault(row["file"], []).append((row["part"], row["parts"], state))
        return {key: _state(found) for key, found in parts.items()}

    def _send_batch(self, files: list[tuple[FileBlob, str]]) -> None:
        owner, reader = self._owner, self._index.reader
        self._put("units", (row for blob, _ in files for row in unit_rows(owner, blob)))
        self._put("passages", (row for blob, _ in files for row in passage_rows(owner, blob)))
        self._put("texts", (row for blob, _ in files for row in text_rows(owner, blob, reader.read_text(blob.path) or "")))
        self._put("files", (row for blob, state in files for row in file_rows(owner, blob, state)))
        self._summary.files += len(files)

    def _put(self, name: str, rows: Iterator[Row]) -> None:
        while some := list(islice(rows, ROW_BATCH)):
            self._check_lease()
            self._mark_working()
            self._summary.add(len(some), self._engine.put(name, some))

    def _mark_working(self) -> None:
        """Set the repository's state before its first row changes: after an interruption, the next sync checks all rows."""
        if not self._marked:
            registry = Registry(self._engine)
            registry.update(replace(registry.get(self._owner.repository) or self._repository, state=WORKING))
            self._marked = True

    def clean_up(self, expected: Mapping[str, ExpectedRows], *, everything: bool) -> None:
        """Delete stale rows: of the files that were sent or removed, or of all files."""
        changed = sorted(self._removed | {key for key, one in expected.items() if one.sent})
        if changed:
            self._mark_working()
        some = [self._own_rows & one_of("file", changed[at : at + DELETE_BATCH]) for at in range(0, len(changed), DELETE_BATCH)]
        for name, numbering in FILE_COLLECTIONS.items():
            self._check_lease()
            for which in [self._own_rows] if everything else some:
                stale = _stale(name, self._engine.rows(name, which, ("id", "file", *numbering)), expected)
                self._summary.deleted += self._engine.delete_ids(name, stale)


def _state(parts: Sequence[tuple[int, int, str]]) -> str:
    """The state of a file, if its parts are complete and agree."""
    numbers, totals, states = zip(*parts, strict=True)
    complete = len(set(totals)) == len(set(states)) == 1 and sorted(numbers) == list(range(totals[0]))
    return str(states[0]) if complete else ""


def _stale(name: str, rows: Iterable[Row], expected: Mapping[str, ExpectedRows]) -> list[str]:
    """The ids of rows whose file is gone, or has fewer of them now."""
    found = list(rows)
    parts = {row["file"]: row["parts"] for row in found if row.get("part") == 0}

    def number_and_limit(row: Row) -> tuple[int, int]:
        one = expected[row["file"]]
        if name == "units":
            return row["number"], one.units
        if name == "passages":
            return int(row["id"].rpartition(".p")[2]), one.passages
        return row["part"], parts.get(row["file"], 0)

    return [row["id"] for row in found if row["file"] not in expected or operator.ge(*number_and_limit(row))]


def _send_commits(engine: Engine, owner: Owner, snapshot: Snapshot, *, force: bool) -> tuple[int, int, int]:
    """Send missing commits and delete those that are gone; returns the rows and bytes sent, and the rows deleted."""
    made = {row["id"]: row for row in commit_rows(owner, snapshot)}
    existing = {row["id"]: row["groups"] for row in engine.rows("commits", equals("repo", owner.repository), ("id", "groups"))}
    new = [row for key, row in made.items() if force or key not in existing or not same_groups(existing[key], owner.groups)]
    sent = engine.put("commits", new)
    return len(new), sent, engine.delete_ids("commits", existing.keys() - made.keys())


def _send_archive(engine: Engine, owner: Owner, index: IndexWriter, *, reuse: bool) -> tuple[int, int, int]:
    """Send the index archive of the commit; returns the rows and bytes sent, and the rows deleted.

    A tree that differs from its commit has no archive. With `reuse`, an archive of this commit that is there is kept.
    """
    existing = list(engine.rows("packs", equals("repo", owner.repository), ("id", "part", "parts", "commit", "digest", "groups")))
    committed = _committed_files(index)
    if committed is None:
        return 0, 0, engine.delete_ids("packs", (row["id"] for row in existing))
    commit, files = committed
    archive = complete_archive(existing)
    if reuse and archive is not None and archive.commit == commit and all(same_groups(row["groups"], owner.groups) for row in existing):
        return 0, 0, 0
    with TemporaryDirectory(dir=index.layout.directory) as scratch:
        file = Path(scratch) / "pack"
        manifest = write_archive(index.store, index.layout, index.settings.index, files, commit, file)
        fields = {"digest": manifest.digest, "commit": commit}
        rows = owner.part_rows(owner.archive_key(), file.read_bytes(), **fields) if file.stat().st_size <= MAX_ARCHIVE else []
    sent = engine.put("packs", rows)
    return len(rows), sent, engine.delete_ids("packs", {row["id"] for row in existing} - {row["id"] for row in rows})


def _committed_files(index: IndexWriter) -> tuple[str, dict[str, bytes]] | None:
    """The commit and the content of its files, if every indexed file is as committed."""
    head = git.read_head(index.root)
    blobs = list_blobs(index.root, head.commit) if head is not None and head.commit == index.freshness.commit else None
    if head is None or blobs is None:
        return None
    indexed = {path: content for path, content, _, _, _, row, _ in index.store.file_rows() if row >= 0}
    files = hash_committed_files(os.fspath(index.root), indexed, blobs, index.settings.index.max_file_bytes)
    return (head.commit, files) if indexed and files == indexed else None


def _write_repository(
    engine: Engine,
    repository: Repository,
    index: IndexWriter,
    expected: Mapping[str, ExpectedRows],
    summary: SyncSummary,
    began: tuple[float, float],
    at: float,
) -> Repository:
    """Write the row of a synced repository. If another sync was requested meanwhile, it goes back to waiting."""
    registry, fresh = Registry(engine), index.freshness
    now = registry.get(repository.name) or repository
    found = replace(
        now,
        state=READY if (now.requested_at, now.groups) == (repository.requested_at, repository.groups) else WAITING,
        error="",
        commit=fresh.commit,
        branch=truncate(fresh.branch, MAX_NAME),
        indexed_at=at,
        files=len(expected),
        units=sum(one.units for one in expected.values()),
        passages=sum(one.passages for one in expected.values()),
        bytes_source=sum(size for _, _, size in index.store.languages()),
        fingerprint=fingerprint(index.model),
    )
    if not summary.is_empty or not now.indexed_at:  # a sync without changes keeps the cost of the last one
        seconds, cpu = (now - before for now, before in zip(read_clocks(), began, strict=True))
        found = replace(found, bytes_sent=summary.bytes, seconds=seconds, cpu=cpu)
    registry.update(found)
    return found

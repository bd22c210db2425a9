"""An index on its way to the engine: what is not there yet is sent, what is no more is deleted.

Rows have keys that follow from what they are of, and a file's own row comes after all that belongs to it: whoever is
cut off has sent whole files, and whoever repeats it ends with the same rows. New rows come before deletions, so that
whoever searches meanwhile misses nothing; the repository's row comes last.
"""

from __future__ import annotations

import operator
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

from whence.fleet import file_blobs
from whence.fleet.archives import send_archive
from whence.fleet.commits import send_commits
from whence.fleet.counts import AT_ONCE, TermCounter, delete_keys, write_counts
from whence.fleet.file_blobs import FileBlob, make_blobs
from whence.fleet.milvus.engine import Engine
from whence.fleet.milvus.filters import equals, one_of
from whence.fleet.milvus.schemas import MAX_NAME
from whence.fleet.registry import READY, WAITING, WORKING, Registry, Repository
from whence.fleet.rows import (
    Owner,
    Row,
    blob_state,
    file_rows,
    passage_count,
    passage_number,
    passage_rows,
    same_groups,
    text_rows,
    truncate,
    unit_rows,
)
from whence.index.store import FORMAT
from whence.index.writer import IndexWriter

Progress = Callable[[int, int], None]
#: Files whose rows are sent together, and rows of one message.
FILES_AT_ONCE, ROWS_AT_ONCE = 100, 1_000
#: Collections whose rows belong to a file.
OF_FILES = ("units", "passages", "texts", "files")
#: What tells one row of a file from another.
_NUMBERED: Mapping[str, tuple[str, ...]] = {"units": ("number",), "passages": (), "texts": ("part", "parts"), "files": ("part", "parts")}


@dataclass(slots=True)
class SyncSummary:
    """What was sent and deleted, and what the engine holds of the repository now."""

    files: int = 0  # that were sent
    removed_files: int = 0  # files that are no more
    rows: int = 0
    deleted: int = 0  # rows
    bytes: int = 0
    repository: Repository | None = None  # its row as it was left

    @property
    def is_empty(self) -> bool:
        """Whether the engine had it all."""
        return not (self.rows or self.deleted)

    def add(self, rows: int, sent: int, deleted: int = 0) -> None:
        """So much more."""
        self.rows += rows
        self.bytes += sent
        self.deleted += deleted


@dataclass(frozen=True, slots=True)
class SyncCost:
    """When work on a repository began, by the clock and by the processor's."""

    clock: float = field(default_factory=time.monotonic)
    cpu: float = field(default_factory=lambda: sum(os.times()[:4]))

    def seconds(self) -> float:
        """Seconds since."""
        return time.monotonic() - self.clock

    def cpu_seconds(self) -> float:
        """Seconds of processors since, our own and those of processes that were started and have ended."""
        return sum(os.times()[:4]) - self.cpu


def fingerprint(model: str) -> str:
    """What rows are made with: vectors are compared with those of the same model only, and pieces have a form."""
    return f"{model or 'none'} {file_blobs.FORMAT}.{FORMAT}"


def sync_index(
    engine: Engine,
    repository: Repository,
    index: IndexWriter,
    *,
    force: bool = False,
    at: float | None = None,
    cost: SyncCost | None = None,
    progress: Progress | None = None,
    go_on: Callable[[], None] | None = None,
) -> SyncSummary:
    """Bring the rows of a repository up to an open index; `go_on` may raise to leave off, and is asked before each message.

    With `force` everything is sent, also what is there already. `at` is the time to note; else it is that of the index.
    """
    cost, go_on = cost or SyncCost(), go_on or _always
    owner, sent = Owner(repository.name, tuple(repository.groups)), SyncSummary()
    sending = _FileSync(engine, repository, index, sent, go_on)
    expected = sending.files(force=force, progress=progress or _unseen)
    go_on()
    sending.clean_up(expected, everything=force or repository.state != READY)
    sent.add(*send_commits(engine, owner, index.reader.snapshot, force=force))
    go_on()
    rows, size = write_counts(engine, owner.repository, sending.counting.table(), owner.repository, owner.groups, force=force)
    sent.add(rows, size)
    go_on()
    sent.add(*send_archive(engine, owner, index, known=not force and repository.fingerprint == fingerprint(index.model)))
    go_on()
    sent.repository = _finished(engine, repository, index, expected, sent, cost, index.freshness.indexed_at if at is None else at)
    return sent


@dataclass(frozen=True, slots=True)
class ExpectedRows:
    """How many rows of a file there are to be."""

    units: int
    passages: int
    new: bool  # it was sent now


class _FileSync:
    """One repository on its way."""

    def __init__(self, engine: Engine, repository: Repository, index: IndexWriter, sent: SyncSummary, go_on: Callable[[], None]) -> None:
        self._engine, self._repository, self._index = engine, repository, index
        self._owner, self._fingerprint = Owner(repository.name, tuple(repository.groups)), fingerprint(index.model)
        self._sent, self._go_on, self._began = sent, go_on, False
        self._mine = equals("repo", repository.name)
        self._gone: set[str] = set()
        self.counting = TermCounter()

    def files(self, *, force: bool, progress: Progress) -> dict[str, ExpectedRows]:
        """Send the files that are not there as they are; what is expected of every one."""
        known = self._known()
        contents = {path: content for path, content, _, _, _, row, _ in self._index.store.file_rows() if row >= 0}
        expected: dict[str, ExpectedRows] = {}
        waiting: list[tuple[FileBlob, str]] = []
        total = self._index.reader.snapshot.live_files
        for done, piece in enumerate(make_blobs(self._index.reader.snapshot), 1):
            self.counting.add(piece.arrays)
            key, state = self._owner.file_key(piece.path), blob_state(piece, contents.get(piece.path, b""), self._fingerprint)
            new = force or known.get(key) != state
            expected[key] = ExpectedRows(len(piece.unit_words), passage_count(piece), new)
            if new:
                waiting.append((piece, state))
            if len(waiting) == FILES_AT_ONCE:
                self._send(waiting)
                waiting = []
            progress(done, total)
        self._send(waiting)
        self._gone = known.keys() - expected.keys()
        self._sent.removed_files = len(self._gone)
        return expected

    def _known(self) -> dict[str, str]:
        """The state of each file that is there; empty where parts are missing, of two states, or seen by others than should."""
        parts: dict[str, list[tuple[int, int, str]]] = {}
        for row in self._engine.rows("files", self._mine, ("file", "part", "parts", "hash", "groups")):
            state = row["hash"] if same_groups(row["groups"], self._owner.groups) else ""
            parts.setdefault(row["file"], []).append((row["part"], row["parts"], state))
        return {key: _state(found) for key, found in parts.items()}

    def _send(self, files: list[tuple[FileBlob, str]]) -> None:
        """What belongs to files first, then their own rows."""
        owner, index = self._owner, self._index
        self._put("units", (row for piece, _ in files for row in unit_rows(owner, piece)))
        self._put("passages", (row for piece, _ in files for row in passage_rows(owner, piece)))
        self._put("texts", (row for piece, _ in files for row in text_rows(owner, piece, index.reader.read_text(piece.path) or "")))
        self._put("files", (row for piece, state in files for row in file_rows(owner, piece, state)))
        self._sent.files += len(files)

    def _put(self, name: str, rows: Iterator[Row]) -> None:
        while some := list(islice(rows, ROWS_AT_ONCE)):
            self._go_on()
            self._begin()
            self._sent.add(len(some), self._engine.put(name, some))

    def _begin(self) -> None:
        """Say that the rows are changing, before the first does: whoever comes after a cut looks through all of them."""
        if not self._began:
            registry = Registry(self._engine)
            registry.update(replace(registry.get(self._owner.repository) or self._repository, state=WORKING))
            self._began = True

    def clean_up(self, expected: Mapping[str, ExpectedRows], *, everything: bool) -> None:
        """Delete rows that belong to nothing: of the files that were sent and of those that are no more, or of all."""
        changed = sorted(self._gone | {key for key, one in expected.items() if one.new})
        if changed:
            self._begin()
        some = [self._mine & one_of("file", changed[at : at + AT_ONCE]) for at in range(0, len(changed), AT_ONCE)]
        for name in OF_FILES:
            self._go_on()
            for which in [self._mine] if everything else some:
                useless = _useless(name, self._engine.rows(name, which, ("id", "file", *_NUMBERED[name])), expected)
                self._sent.deleted += delete_keys(self._engine, name, useless)


def _state(parts: Sequence[tuple[int, int, str]]) -> str:
    """The state of a file by its parts."""
    numbers, totals, states = zip(*parts, strict=True)
    whole = len(set(totals)) == len(set(states)) == 1 and sorted(numbers) == list(range(totals[0]))
    return str(states[0]) if whole else ""


def _useless(name: str, rows: Iterable[Row], expected: Mapping[str, ExpectedRows]) -> list[str]:
    """The rows of a collection that belong to no file, or to a file that had more of them once."""
    found = list(rows)
    parts = {row["file"]: row["parts"] for row in found if row.get("part") == 0}

    def most(row: Row) -> tuple[int, int]:
        """The number of a row within its file, and how many there are to be."""
        one = expected[row["file"]]
        if name == "units":
            return row["number"], one.units
        if name == "passages":
            return passage_number(row["id"]), one.passages
        return row["part"], parts.get(row["file"], 0)

    return [row["id"] for row in found if row["file"] not in expected or operator.ge(*most(row))]


def _finished(
    engine: Engine,
    repository: Repository,
    index: IndexWriter,
    expected: Mapping[str, ExpectedRows],
    sent: SyncSummary,
    cost: SyncCost,
    at: float,
) -> Repository:
    """Write the row of a repository that is in the engine. What was asked of it meanwhile is still to be done."""
    registry, fresh = Registry(engine), index.freshness
    now = registry.get(repository.name) or repository
    found = replace(
        now,
        state=READY if (now.wanted, now.groups) == (repository.wanted, repository.groups) else WAITING,
        said="",
        commit=fresh.commit,
        branch=truncate(fresh.branch, MAX_NAME),
        indexed_at=at,
        files=len(expected),
        units=sum(one.units for one in expected.values()),
        passages=sum(one.passages for one in expected.values()),
        bytes_source=sum(size for _, _, size in index.store.languages()),
        fingerprint=fingerprint(index.model),
    )
    if not sent.is_empty or not now.indexed_at:  # a look that found nothing new leaves what the last work came to
        found = replace(found, bytes_sent=sent.bytes, seconds=cost.seconds(), cpu=cost.cpu_seconds())
    registry.update(found)
    return found


def _always() -> None:
    """Nothing speaks against it."""


def _unseen(done: int, total: int) -> None:
    """Progress that nobody looks at."""

"""The worker: lease, check out, index and sync one repository after the other.

Any number of workers on any number of machines share nothing but the engine. Leases keep them from doing the same work
twice; correctness does not depend on them, since writes are idempotent.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from hashlib import blake2s
from pathlib import Path
from typing import Any

from whence.core.errors import FleetError, ModelUnavailable, WhenceError
from whence.core.settings import load_settings
from whence.embed.encoder import open_encoder
from whence.fleet.counts import ALL, refresh_totals
from whence.fleet.engine import SCHEMAS, Engine, equals
from whence.fleet.leases import Lease, Leases
from whence.fleet.registry import FAILED, READY, REMOVING, WAITING, WORKING, Registry, Repository
from whence.fleet.sources import RemoteHead, checkout, is_url, remote_head
from whence.fleet.sync import Progress, SyncSummary, fingerprint, read_clocks, sync_index
from whence.index.writer import IndexWriter

#: Seconds between two looks at the repositories that others have leased.
POLL = 0.25
#: How often a lease is renewed before it would expire.
RENEWALS = 4
#: Outcomes. The strings are part of the JSON output.
SENT, UNCHANGED, SYNC_FAILED, LOST, REMOVED = "sent", "unchanged", "failed", "lost", "removed"


@dataclass(frozen=True, slots=True)
class SyncOutcome:
    """What a worker did with a repository."""

    name: str
    status: str
    message: str = ""
    summary: SyncSummary | None = None


class LeaseLost(Exception):
    """The lease expired during the work."""


@dataclass(frozen=True, slots=True)
class WorkerOptions:
    """What a worker does, and how it reports progress."""

    data_dir: Path
    values: Mapping[str, Any]  # command-line settings by dotted name
    force: bool = False
    selects: Callable[[Repository], bool] = lambda repository: True  # noqa: ARG005
    progress: Callable[[str], AbstractContextManager[Progress | None]] = lambda label: nullcontext()  # noqa: ARG005


def work(engine: Engine, registry: Registry, leases: Leases, options: WorkerOptions) -> Iterator[SyncOutcome]:
    """Sync repositories until none is left. Waits for those that other workers have leased, and takes over if a worker dies."""
    began, tried = leases.now(), set[tuple[object, ...]]()
    worker = _Worker(engine, registry, leases, options, began)
    while left := [one for one in registry.all() if options.selects(one) and _is_due(one, began) and _job(one) not in tried]:
        progressed = False
        # Sorted differently for each worker, so that workers rarely compete for a repository.
        shuffled = {one.name: blake2s(f"{leases.worker}\0{one.name}".encode("utf-8", "backslashreplace")).digest() for one in left}
        for one in sorted(left, key=lambda one: (one.state != WAITING, shuffled[one.name])):
            lease = leases.acquire(one.name)
            if lease is None:
                continue
            progressed = True
            tried.add(_job(one))
            with _renewed(lease, leases.seconds):
                outcome = worker.run(one.name, lease)
            if outcome is not None:
                yield outcome
        if not progressed:
            time.sleep(POLL)
    update_totals(engine, leases)


def update_totals(engine: Engine, leases: Leases) -> None:
    """Refresh the summed term counts, one worker at a time, so that the last one sums everything."""
    until = time.monotonic() + 2 * leases.seconds
    while (lease := leases.acquire(ALL)) is None and time.monotonic() < until:
        time.sleep(POLL)
    try:
        refresh_totals(engine)
    finally:
        if lease is not None:
            lease.release()


def _is_due(one: Repository, began: float) -> bool:
    """Whether to sync it: it is waiting, was interrupted, or was not checked since this worker began."""
    return one.state in (WAITING, WORKING) or (one.state in (READY, FAILED) and one.indexed_at < began)


def _job(one: Repository) -> tuple[object, ...]:
    """A job is tried once; a new request or other groups make it a new job."""
    return one.name, one.requested_at, one.groups


@contextmanager
def _renewed(lease: Lease, seconds: float) -> Iterator[None]:
    """Renew a lease in a thread of its own; release it at the end."""
    done = threading.Event()

    def renew() -> None:
        while not done.wait(seconds / RENEWALS) and lease.held:
            try:
                if not lease.renew():
                    return
            except FleetError:  # retried until the lease expires
                continue

    thread = threading.Thread(target=renew, name="lease", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
        lease.release()


class _Worker:
    """Syncs one repository at a time."""

    def __init__(self, engine: Engine, registry: Registry, leases: Leases, options: WorkerOptions, began: float) -> None:
        self._engine, self._registry, self._leases, self._options, self._began = engine, registry, leases, options, began
        self._settings = load_settings(None, command_line=options.values)[0]

    def run(self, name: str, lease: Lease) -> SyncOutcome | None:
        """Bring a repository up to date with its source; None if another worker has just done so."""
        found = self._registry.get(name)
        if found is None or found.state == REMOVING or not _is_due(found, self._began):
            return None
        try:
            return self._sync(found, lease)
        except LeaseLost:
            return self._clean_up_removed(name) or SyncOutcome(name, LOST, "the lease expired; another worker continues")
        except FleetError:
            if (removed := self._clean_up_removed(name)) is not None:
                return removed
            raise
        except (WhenceError, OSError) as error:
            message, now = " ".join(str(error).split()), self._registry.get(name)
            if now is not None and now.state != REMOVING and lease.held:
                self._registry.update(replace(now, state=FAILED, error=message))
            return SyncOutcome(name, SYNC_FAILED, message)

    def _sync(self, repository: Repository, lease: Lease) -> SyncOutcome:
        began, options = read_clocks(), self._options

        def check_lease() -> None:
            if not lease.held:
                raise LeaseLost

        head = remote_head(repository.source) if is_url(repository.source) else None
        if self._is_current(repository, head):
            self._registry.update(replace(self._registry.get(repository.name) or repository, indexed_at=self._leases.now()))
            return SyncOutcome(repository.name, UNCHANGED)
        with checkout(repository.source, options.data_dir, self._settings.index.history, head) as root:
            check_lease()
            with options.progress(f"indexing {repository.name}") as shown:
                index = IndexWriter.open(root, data_dir=options.data_dir, command_line=options.values, progress=shown)
            with index, options.progress(f"sending {repository.name}") as shown:
                check_lease()
                how: dict[str, Any] = {"force": options.force, "at": self._leases.now(), "progress": shown, "check_lease": check_lease}
                summary = sync_index(self._engine, repository, index, began=began, **how)
        return SyncOutcome(repository.name, UNCHANGED if summary.is_empty else SENT, summary=summary)

    def _is_current(self, repository: Repository, head: RemoteHead | None) -> bool:
        """Whether the engine has the commit of the remote, so that nothing need be fetched. A folder can change without a commit."""
        if head is None or self._options.force or repository.state != READY or repository.commit != head.commit:
            return False
        try:
            encoder = open_encoder(self._settings.index.model)
        except ModelUnavailable:
            return False
        return repository.fingerprint == fingerprint(encoder.fingerprint if encoder is not None else "")

    def _clean_up_removed(self, name: str) -> SyncOutcome | None:
        """If the repository was removed during the sync, delete what was sent since."""
        now = self._registry.get(name)
        if now is not None and now.state != REMOVING:
            return None
        for one in SCHEMAS:
            if one not in ("repos", "claims"):
                self._engine.delete(one, equals("repo", name))
        return SyncOutcome(name, REMOVED, "it was removed from the fleet during the sync")

"""The loop of a worker: one repository after the other is leased, checked out, indexed and sent.

Any number of workers on any number of machines share nothing but the engine. A lease saves them from doing the same work
twice; that nothing is missing or doubled follows from the keys of rows, whoever writes them.
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
from whence.embed.registry import open_encoder
from whence.fleet.counts import ALL, refresh_totals
from whence.fleet.leases import Lease, Leases
from whence.fleet.milvus.engine import Engine
from whence.fleet.milvus.filters import equals
from whence.fleet.milvus.schemas import CLAIMS, REPOS, SCHEMAS
from whence.fleet.registry import FAILED, READY, REMOVING, WAITING, WORKING, Registry, Repository
from whence.fleet.sources import RemoteHead, checkout, is_url, remote_head
from whence.fleet.sync import SyncCost, SyncSummary, fingerprint, sync_index
from whence.index.writer import IndexWriter

Progress = Callable[[int, int], None]
#: Seconds between two looks at what others hold.
LOOK = 0.25
#: A lease is renewed so many times before it would end.
RENEWALS = 4
#: What became of a repository.
SENT, UNCHANGED, TROUBLE, LOST, REMOVED = "sent", "unchanged", "failed", "lost", "removed"


@dataclass(frozen=True, slots=True)
class SyncOutcome:
    """What a worker did with a repository."""

    name: str
    status: str
    message: str = ""
    summary: SyncSummary | None = None


class LeaseLost(Exception):
    """The lease ended while the work went on."""


@dataclass(frozen=True, slots=True)
class WorkerOptions:
    """How a worker goes about it."""

    data_dir: Path
    values: Mapping[str, Any]  # settings of the command line, by dotted names
    force: bool = False
    selects: Callable[[Repository], bool] = lambda repository: True  # noqa: ARG005
    progress: Callable[[str], AbstractContextManager[Progress]] = lambda label: nullcontext(_unseen)  # noqa: ARG005


def work(engine: Engine, registry: Registry, leases: Leases, ways: WorkerOptions) -> Iterator[SyncOutcome]:
    """Work until nothing is left to do: what others hold is waited for, and taken over when they are no more."""
    began, tried = leases.now(), set[tuple[object, ...]]()
    worker = _Worker(engine, registry, leases, ways, began)
    while left := [one for one in registry.all() if ways.selects(one) and _is_wanted(one, began) and _wish(one) not in tried]:
        took = False
        for one in sorted(left, key=lambda one: (one.state != WAITING, _lot(leases.worker, one.name))):
            lease = leases.acquire(one.name)
            if lease is None:
                continue
            took = True
            tried.add(_wish(one))
            with _renewed(lease, leases.seconds):
                outcome = worker.do(one.name, lease)
            if outcome is not None:
                yield outcome
        if not took:
            time.sleep(LOOK)
    update_totals(engine, leases)


def update_totals(engine: Engine, leases: Leases) -> None:
    """Sum up what all repositories counted, one worker at a time: the last to do so has seen everything."""
    until = time.monotonic() + 2 * leases.seconds
    while (lease := leases.acquire(ALL)) is None and time.monotonic() < until:
        time.sleep(LOOK)
    try:
        refresh_totals(engine)
    finally:
        if lease is not None:
            lease.release()


def _is_wanted(one: Repository, began: float) -> bool:
    """Whether it is to be looked at: it waits, was left in the middle, or nobody has since this worker began."""
    return one.state in (WAITING, WORKING) or (one.state in (READY, FAILED) and one.indexed_at < began)


def _wish(one: Repository) -> tuple[object, ...]:
    """What is tried once: whoever asks anew, or lets others see it, has it done again."""
    return one.name, one.wanted, one.groups


def _lot(worker: str, name: str) -> bytes:
    """Workers begin at different places, and get in each other's way less."""
    return blake2s(f"{worker}\0{name}".encode("utf-8", "backslashreplace")).digest()


@contextmanager
def _renewed(lease: Lease, seconds: float) -> Iterator[None]:
    """Hold a lease while work goes on, in a thread of its own; let it go at the end."""
    done = threading.Event()

    def renew() -> None:
        while not done.wait(seconds / RENEWALS) and lease.held:
            try:
                if not lease.renew():
                    return
            except FleetError:  # asked again until its time is over
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
    """What is done with one repository."""

    def __init__(self, engine: Engine, registry: Registry, leases: Leases, ways: WorkerOptions, began: float) -> None:
        self._engine, self._registry, self._leases, self._ways, self._began = engine, registry, leases, ways, began
        self._settings = load_settings(None, command_line=ways.values)[0]

    def do(self, name: str, lease: Lease) -> SyncOutcome | None:
        """Bring a repository up to its source; None where another one did meanwhile."""
        found = self._registry.get(name)
        if found is None or found.state == REMOVING:
            return None
        if not _is_wanted(found, self._began):
            return None
        try:
            return self._brought_up(found, lease)
        except LeaseLost:
            return self._removed(name) or SyncOutcome(name, LOST, "its lease ended; it is left to whoever has it now")
        except FleetError:
            if (removed := self._removed(name)) is not None:
                return removed
            raise
        except (WhenceError, OSError) as trouble:
            said = " ".join(str(trouble).split())
            self._note(name, said, lease)
            return SyncOutcome(name, TROUBLE, said)

    def _brought_up(self, repository: Repository, lease: Lease) -> SyncOutcome:
        cost, ways = SyncCost(), self._ways

        def go_on() -> None:
            if not lease.held:
                raise LeaseLost

        head = remote_head(repository.source) if is_url(repository.source) else None
        if self._is_there(repository, head):
            self._registry.update(replace(self._registry.get(repository.name) or repository, indexed_at=self._leases.now()))
            return SyncOutcome(repository.name, UNCHANGED)
        with checkout(repository.source, ways.data_dir, self._settings.index.history, head) as root:
            go_on()
            with ways.progress(f"indexing {repository.name}") as seen:
                index = IndexWriter.open(root, data_dir=ways.data_dir, command_line=ways.values, progress=seen)
            with index, ways.progress(f"sending {repository.name}") as seen:
                go_on()
                at = self._leases.now()
                sent = sync_index(self._engine, repository, index, force=ways.force, at=at, cost=cost, progress=seen, go_on=go_on)
        return SyncOutcome(repository.name, UNCHANGED if sent.is_empty else SENT, summary=sent)

    def _is_there(self, repository: Repository, head: RemoteHead | None) -> bool:
        """Whether the engine has the commit of a server: then nothing is fetched. Files of a folder may have changed without one."""
        if head is None or self._ways.force or repository.state != READY or repository.commit != head.commit:
            return False
        try:
            encoder = open_encoder(self._settings.index.model)
        except ModelUnavailable:
            return False
        return repository.fingerprint == fingerprint(encoder.fingerprint if encoder is not None else "")

    def _note(self, name: str, said: str, lease: Lease) -> None:
        """Keep what went wrong where everybody sees it, unless the repository is another's by now."""
        now = self._registry.get(name)
        if now is not None and now.state != REMOVING and lease.held:
            self._registry.update(replace(now, state=FAILED, said=said))

    def _removed(self, name: str) -> SyncOutcome | None:
        """Where the repository was removed while it was sent: what was sent since is removed, too."""
        now = self._registry.get(name)
        if now is not None and now.state != REMOVING:
            return None
        for one in SCHEMAS:
            if one not in (REPOS.name, CLAIMS.name):
                self._engine.delete(one, equals("repo", name))
        return SyncOutcome(name, REMOVED, "it was removed from the fleet meanwhile")


def _unseen(done: int, total: int) -> None:
    """Progress that nobody looks at."""

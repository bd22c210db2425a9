"""Leases: at most one worker per repository at a time, agreed on through the engine alone.

This is Lamport's bakery algorithm. A worker announces a claim, draws a number above all others, and holds the repository
once nobody with a smaller number claims it or is still drawing. A claim expires; for others it counts a little longer
than for its owner, which covers clocks that differ. To change a claim, the new row is written before the old one is
deleted, so that a claim is visible at every moment.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass

from whence.fleet.engine import EVERYTHING, ID, Engine, Filter, Row, below, equals, one_of

CHOOSING, ASKING, HOLDING = "choosing", "asking", "holding"
#: How much longer a claim counts for others than for its owner, as a share of the lease.
GRACE = 0.25
#: Seconds to wait for a worker that is drawing a number, and between two looks.
MAX_WAIT, POLL = 1.0, 0.02
_FIELDS = (ID, "repo", "worker", "number", "state", "until")


@dataclass(frozen=True, slots=True)
class Claim:
    """One worker's claim on a repository; every attempt has a new id."""

    id: str
    repo: str
    worker: str
    number: int
    choosing: bool
    holding: bool
    until: float

    @property
    def order(self) -> tuple[int, str]:
        """The order in which claims are served."""
        return self.number, self.id


class Leases:
    """Takes leases for one worker. `now` is the wall clock, which all machines share."""

    def __init__(self, engine: Engine, worker: str, seconds: float, now: Callable[[], float]) -> None:
        self.engine, self.worker, self.seconds, self.now = engine, worker, seconds, now

    def acquire(self, repo: str) -> Lease | None:
        """Lease a repository, or return None if another worker has it or is first."""
        self.engine.delete("claims", equals("repo", repo) & below("until", self.now() - 2 * GRACE * self.seconds))  # expired
        if self.claims(equals("repo", repo)):  # taken; numbers only settle ties between workers that arrive together
            return None
        lease = Lease(self, repo)
        try:
            taken = lease.write(0, CHOOSING)
            number = 1 + max((claim.number for claim in self.claims(equals("repo", repo))), default=0)
            taken = taken and lease.write(number, ASKING) and self._is_first(lease) and lease.write(lease.number, HOLDING)
        except BaseException:
            lease.release()
            raise
        if not taken:
            lease.release()
        return lease if taken else None

    def holders(self) -> dict[str, str]:
        """The repositories that are leased, with their workers."""
        return {claim.repo: claim.worker for claim in self.claims(EVERYTHING) if claim.holding}

    def claims(self, which: Filter) -> list[Claim]:
        """All claims that have not expired."""
        rows: dict[str, list[Row]] = {}
        for row in self.engine.rows("claims", which, _FIELDS):
            rows.setdefault(str(row[ID]).partition("-")[0], []).append(row)
        every = (_claim(key, found) for key, found in rows.items())
        return [claim for claim in every if claim.until + GRACE * self.seconds > self.now()]

    def _is_first(self, lease: Lease) -> bool:
        """Whether no claim is served before ours. Waits a little for workers that are still drawing a number."""
        until = time.monotonic() + MAX_WAIT
        while True:
            others = [claim for claim in self.claims(equals("repo", lease.repo)) if claim.id != lease.id]
            if any(claim.holding or (not claim.choosing and claim.order < (lease.number, lease.id)) for claim in others):
                return False
            if not any(claim.choosing for claim in others):
                return True
            if time.monotonic() > until:
                return False
            time.sleep(POLL)


class Lease:
    """The right to work on one repository until it expires. Another thread may renew it."""

    def __init__(self, leases: Leases, repo: str) -> None:
        self.repo, self.id, self._leases = repo, uuid.uuid4().hex, leases
        self.number, self.until = 0, float("inf")
        self._version, self._ended, self._lock = 0, False, threading.Lock()

    @property
    def held(self) -> bool:
        """Whether it has not expired, without asking the engine."""
        return not self._ended and self._leases.now() < self.until

    def renew(self) -> bool:
        """Extend it. False if it is lost, because it expired or the claim was deleted: the worker must stop."""
        with self._lock:
            leases = self._leases
            if not self.held or not leases.engine.get("claims", [self._row()], [ID]):
                self._ended = True
                return False
        return self.write(self.number, HOLDING)

    def release(self) -> None:
        """Give it up."""
        with self._lock:
            self._ended = True
            self._leases.engine.delete("claims", one_of(ID, [self._row(0), self._row(1)]))

    def write(self, number: int, state: str) -> bool:
        """Change the claim. False if it expired before others could see the change."""
        with self._lock:
            leases, before = self._leases, self.until
            if not self.held:
                return False
            until = leases.now() + leases.seconds
            row = {"repo": self.repo, "worker": leases.worker, "number": number, "state": state, "until": until}
            leases.engine.put("claims", [{ID: self._row(self._version + 1), **row}])
            leases.engine.delete("claims", one_of(ID, [self._row()]))
            self._version, self.number, self.until = self._version + 1, number, until
            self._ended = leases.now() >= before
            return not self._ended

    def _row(self, version: int | None = None) -> str:
        return f"{self.id}-{(self._version if version is None else version) % 2}"


def _claim(key: str, rows: list[Row]) -> Claim:
    """A claim from its one or two rows; where they differ, the value that is safer for others."""
    last = max(rows, key=lambda row: float(row["until"]))
    return Claim(
        id=key,
        repo=last["repo"],
        worker=last["worker"],
        number=max(int(row["number"]) for row in rows),
        choosing=any(row["state"] == CHOOSING for row in rows),
        holding=any(row["state"] == HOLDING for row in rows),
        until=float(last["until"]),
    )

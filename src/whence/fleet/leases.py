"""Who works on which repository: at most one at a time, agreed upon through the engine alone.

This is Lamport's bakery. Whoever wants a repository says so, draws a number above all that are there, and has it when
nobody with a smaller number wants it or is still drawing. A claim counts until its time is over and a share of that
longer, by which the clocks of machines may differ; the one who made it gives up at its time. A claim is changed by
writing the new row before the old one goes, so that at no moment it cannot be seen.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass

from whence.fleet.milvus.engine import Engine
from whence.fleet.milvus.filters import EVERYTHING, Filter, below, equals, one_of
from whence.fleet.milvus.schemas import CLAIMS, ID

CHOOSING, ASKING, HOLDING = "choosing", "asking", "holding"
#: The share of a lease that its claim counts longer for others than for its maker.
GRACE = 0.25
#: Seconds to wait for somebody who is drawing a number, and between two looks.
PATIENCE, LOOK = 1.0, 0.02
_FIELDS = (ID, "repo", "worker", "number", "state", "until")


@dataclass(frozen=True, slots=True)
class Claim:
    """What is known of one who wants a repository; `who` is drawn anew for every wish."""

    id: str
    repo: str
    worker: str
    number: int
    choosing: bool
    holding: bool
    until: float

    @property
    def order(self) -> tuple[int, str]:
        """Its place in the row of those who want it."""
        return self.number, self.id


class Leases:
    """What a worker may work on. `now` is the time that all machines share."""

    def __init__(self, engine: Engine, worker: str, seconds: float, now: Callable[[], float]) -> None:
        self.engine = engine
        self.worker = worker
        self.seconds = seconds
        self.now = now

    def acquire(self, repo: str) -> Lease | None:
        """The right to work on a repository, if nobody else has it or is before us."""
        self._sweep(repo)
        if self.claims(equals("repo", repo)):  # somebody has it, or is before us; only who came at the same moment draws numbers
            return None
        lease = Lease(self, repo)
        try:
            taken = (
                lease.write(0, CHOOSING)
                and lease.write(self._number(repo), ASKING)
                and self._first(lease)
                and lease.write(lease.number, HOLDING)
            )
        except BaseException:
            lease.release()
            raise
        if not taken:
            lease.release()
        return lease if taken else None

    def holders(self) -> dict[str, str]:
        """The repositories that are worked on, and by whom."""
        return {claim.repo: claim.worker for claim in self.claims(EVERYTHING) if claim.holding}

    def claims(self, which: Filter) -> list[Claim]:
        """All claims that count."""
        rows: dict[str, list[dict[str, object]]] = {}
        for row in self.engine.rows(CLAIMS.name, which, _FIELDS):
            rows.setdefault(str(row[ID]).partition("-")[0], []).append(row)
        made = [_claim(who, seen) for who, seen in rows.items()]
        return [claim for claim in made if claim.until + GRACE * self.seconds > self.now()]

    def _sweep(self, repo: str) -> None:
        """Remove claims that count no longer."""
        self.engine.delete(CLAIMS.name, equals("repo", repo) & below("until", self.now() - 2 * GRACE * self.seconds))

    def _number(self, repo: str) -> int:
        return 1 + max((claim.number for claim in self.claims(equals("repo", repo))), default=0)

    def _first(self, lease: Lease) -> bool:
        """Whether nobody is before us. Whoever is still drawing a number may yet be, and is waited for a little."""
        until = time.monotonic() + PATIENCE
        while True:
            others = [claim for claim in self.claims(equals("repo", lease.repo)) if claim.id != lease.id]
            if any(claim.holding or (not claim.choosing and claim.order < (lease.number, lease.id)) for claim in others):
                return False
            if not any(claim.choosing for claim in others):
                return True
            if time.monotonic() > until:
                return False
            time.sleep(LOOK)


class Lease:
    """The right to work on one repository, until its time is over. It may be renewed by another thread than works with it."""

    def __init__(self, leases: Leases, repo: str) -> None:
        self.repo = repo
        self.id = uuid.uuid4().hex
        self.number = 0
        self.until = float("inf")
        self._leases = leases
        self._turn = 0
        self._lock = threading.Lock()
        self._ended = False

    @property
    def held(self) -> bool:
        """Whether it still holds, as far as can be told without asking."""
        return not self._ended and self._leases.now() < self.until

    def renew(self) -> bool:
        """Hold it longer. False when it was lost: its time is over, or somebody removed it; then the work is another's."""
        with self._lock:
            leases = self._leases
            if not self.held or not leases.engine.get(CLAIMS.name, [self._row()], [ID]):
                self._ended = True
                return False
        return self.write(self.number, HOLDING)

    def release(self) -> None:
        """Let others have it."""
        with self._lock:
            self._ended = True
            self._leases.engine.delete(CLAIMS.name, one_of(ID, [self._row(0), self._row(1)]))

    def write(self, number: int, state: str) -> bool:
        """Say what we want from now on. False when the time was over before that could be seen by others."""
        with self._lock:
            leases, before = self._leases, self.until
            if not self.held:
                return False
            until = leases.now() + leases.seconds
            row = {
                ID: self._row(self._turn + 1),
                "repo": self.repo,
                "worker": leases.worker,
                "number": number,
                "state": state,
                "until": until,
            }
            leases.engine.put(CLAIMS.name, [row])
            leases.engine.delete(CLAIMS.name, one_of(ID, [self._row()]))
            self._turn, self.number, self.until = self._turn + 1, number, until
            self._ended = leases.now() >= before
            return not self._ended

    def _row(self, turn: int | None = None) -> str:
        return f"{self.id}-{(self._turn if turn is None else turn) % 2}"


def _claim(who: str, rows: list[dict[str, object]]) -> Claim:
    """One claim of the one or two rows that it has just now: where they differ, what is safer for others."""
    last = max(rows, key=lambda row: float(str(row["until"])))
    return Claim(
        id=who,
        repo=str(last["repo"]),
        worker=str(last["worker"]),
        number=max(int(str(row["number"])) for row in rows),
        choosing=any(row["state"] == CHOOSING for row in rows),
        holding=any(row["state"] == HOLDING for row in rows),
        until=max(float(str(row["until"])) for row in rows),
    )

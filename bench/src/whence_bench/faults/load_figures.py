"""What a process under load takes: memory, handles, threads, second by second, and whether that is flat."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median
from types import TracebackType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing_extensions import Self

_PAGE_MB = os.sysconf("SC_PAGE_SIZE") / 2**20
#: Memory is flat when it grows by less than both, from where the warm-up ends to the end...
MOST_GROWTH, MOST_GROWTH_MB = 0.05, 10.0
#: ... and, where it rises from quarter to quarter, by less than this: what rises steadily goes on rising.
MOST_TREND = 0.01
#: It rises steadily when no quarter adds less than this part of all: what leaks adds a third each time.
STEADY = 6
#: The share of a run that is warm-up.
WARM_UP = 1 / 3
#: Of a shorter run nothing can be said of memory.
FEWEST_SECONDS, FEWEST_SAMPLES = 30.0, 24
_DATABASES = (".db", ".db-wal", ".db-shm")


@dataclass(frozen=True, slots=True)
class Sample:
    """A process at one moment."""

    at: float
    rss_mb: float
    handles: int
    databases: int  # of these handles, those of SQLite
    threads: int


def sample_of(pid: int) -> Sample:
    """What a process takes now."""
    proc = Path(f"/proc/{pid}")
    names = []
    for handle in (proc / "fd").iterdir():
        with suppress(OSError):  # closed meanwhile
            names.append(str(handle.readlink()))
    rss = int((proc / "statm").read_text(encoding="ascii").split()[1]) * _PAGE_MB
    threads = sum(1 for _ in (proc / "task").iterdir())
    return Sample(time.monotonic(), rss, len(names), sum(name.removesuffix(" (deleted)").endswith(_DATABASES) for name in names), threads)


class Watch:
    """Takes samples of a process while something else goes on."""

    def __init__(self, pid: int, every: float) -> None:
        self._pid, self._every = pid, every
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self.samples: list[Sample] = []

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._done.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._done.wait(self._every):
            with suppress(OSError):
                self.samples.append(sample_of(self._pid))


def growth(samples: Sequence[Sample]) -> tuple[dict[str, Any], str]:
    """How memory went after the warm-up, and what is wrong with that, if anything is."""
    steady = samples[int(len(samples) * WARM_UP) :]
    if len(samples) < FEWEST_SAMPLES or samples[-1].at - samples[0].at < FEWEST_SECONDS:
        return {"memory": "too short a run to tell"}, ""
    quarter = len(steady) // 4
    medians = [median(one.rss_mb for one in steady[at * quarter : (at + 1) * quarter]) for at in range(4)]
    rise = medians[-1] - medians[0]
    facts = {
        "memory after the warm-up, MB": round(medians[0], 1),
        "memory at the end, MB": round(medians[-1], 1),
        "memory, MB per minute": round(rise / max(steady[-1].at - steady[0].at, 1.0) * 4 / 3 * 60, 2),
        "memory by the second, MB": [round(one.rss_mb, 1) for one in samples],
    }
    if rise > MOST_GROWTH * medians[0] or rise > MOST_GROWTH_MB:
        return facts, f"memory grew from {medians[0]:.1f} to {medians[-1]:.1f} MB after the warm-up"
    least = min(after - before for before, after in pairwise(medians))
    if rise > MOST_TREND * medians[0] and least > rise / STEADY:
        return facts, f"memory rises steadily: {', '.join(f'{one:.1f}' for one in medians)} MB"
    return facts, ""


def latencies(seconds: Sequence[float]) -> dict[str, float]:
    """What half and what nearly all calls took at most, in milliseconds."""
    ordered = sorted(seconds) or [0.0]
    return {f"p{share} ms": round(ordered[min(len(ordered) * share // 100, len(ordered) - 1)] * 1e3, 1) for share in (50, 95)}

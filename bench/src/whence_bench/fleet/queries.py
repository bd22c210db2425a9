"""Questions to a fleet, with the CPU that each takes: ours, and the engine's, which the clock counts in ticks of 10 ms.

Every question is asked several times. Of our CPU the time that was disturbed least counts; of the engine's the mean, since
one time is shorter than a tick.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from whence.core.settings import merge
from whence.fleet.engine import Engine
from whence.fleet.registry import OPERATOR
from whence.fleet.search import Fleet
from whence.search.metrics import mean, percentile
from whence_bench.fleet.server import Served
from whence_bench.search.run import default_settings

#: Questions before those that count, which load what every question needs.
WARM_UP = 5
#: Results that are asked for.
RESULTS = 10


@dataclass(frozen=True, slots=True)
class Asked:
    """What questions took, one number each, in milliseconds."""

    ours: list[float]
    engine: list[float]
    wall: list[float]

    @property
    def together(self) -> list[float]:
        """CPU on both sides."""
        return [one + other for one, other in zip(self.ours, self.engine, strict=True)]

    def figures(self) -> dict[str, Any]:
        """Means and percentiles."""
        kinds = {"ours": self.ours, "engine": self.engine, "together": self.together, "wall": self.wall}
        return {name: {"mean": mean(times), "p50": percentile(times, 0.5), "p95": percentile(times, 0.95)} for name, times in kinds.items()}


def fleet_of(engine: Engine) -> Fleet:
    """The fleet as its operator sees it, with no setting of the user's."""
    settings = merge([])[0]
    return Fleet(engine, replace(settings, fleet=engine.settings), OPERATOR)


def ask(search: Callable[[str], object], queries: Sequence[str], rounds: int, served: Served | None = None) -> Asked:
    """Ask every question so many times."""
    for query in queries[:WARM_UP]:
        search(query)
    found = Asked([], [], [])
    for query in queries:
        own, walls = [], []
        before = served.cpu() if served else 0.0
        for _ in range(rounds):
            cpu, wall = time.process_time(), time.perf_counter()
            search(query)
            own.append(time.process_time() - cpu)
            walls.append(time.perf_counter() - wall)
        found.ours.append(1e3 * min(own))
        found.wall.append(1e3 * min(walls))
        found.engine.append(1e3 * ((served.cpu() if served else 0.0) - before) / rounds)
    return found


def settings_of_an_index() -> dict[str, Any]:
    """What indexes here are opened with: defaults, and nothing that use taught."""
    return default_settings()

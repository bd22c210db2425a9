"""The stages of a ranking, written to a trace: what each retriever found, and the pool after each signal (E2)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from whence.fuse.pool import Pool
from whence.index.arrayfile import Array
from whence.rank.ledger import Ledger, fold
from whence.trace import Trace

#: Where a candidate is: (path, line).
Place = Callable[[int], tuple[str, int]]


def trace_ranking(trace: Trace, pool: Pool, ledger: Ledger) -> None:
    """Write what led to the scores of a pool."""
    write_stages(trace, pool.plan.text, pool.retrieved, ledger, lambda row: place(pool, row))


def write_stages(trace: Trace, query: str, retrieved: Mapping[str, Array], ledger: Ledger, place_of: Place) -> None:
    """Write what each retriever found, and the candidates after each signal."""
    for name, scores in retrieved.items():
        trace.stage(f"retrieved by {name}", query, _best(scores, place_of))
    for number, entry in enumerate(ledger.entries, 1):
        after = fold(ledger.size, ledger.entries[:number])
        trace.stage(f"after {entry.signal}", query, _best(after, place_of), weight=entry.weight)


def _best(scores: Array, place_of: Place) -> list[tuple[str, int, float]]:
    known = np.flatnonzero(np.isfinite(scores))
    order = known[np.argsort(-scores[known], kind="stable")]
    return [(*place_of(row), float(scores[row])) for row in order.tolist()]


def place(pool: Pool, row: int) -> tuple[str, int]:
    """Where a candidate is: (path, line)."""
    return pool.path(row), int(pool.snapshot.column("units.first")[pool.units[row]])

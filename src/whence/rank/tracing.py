"""The stages of a ranking, written to a trace: what each retriever found, and the pool after each signal (E2)."""

from __future__ import annotations

import numpy as np

from whence.fuse.pool import Pool
from whence.index.arrayfile import Array
from whence.rank.ledger import Ledger, fold
from whence.trace import Trace


def trace_ranking(trace: Trace, pool: Pool, ledger: Ledger) -> None:
    """Write what led to the scores of a pool."""
    for name, scores in pool.retrieved.items():
        trace.stage(f"retrieved by {name}", pool.plan.text, _best(pool, scores))
    for number, entry in enumerate(ledger.entries, 1):
        trace.stage(f"after {entry.signal}", pool.plan.text, _best(pool, fold(ledger.size, ledger.entries[:number])), weight=entry.weight)


def _best(pool: Pool, scores: Array) -> list[tuple[str, int, float]]:
    known = np.flatnonzero(np.isfinite(scores))
    order = known[np.argsort(-scores[known], kind="stable")]
    return [(*place(pool, row), float(scores[row])) for row in order.tolist()]


def place(pool: Pool, row: int) -> tuple[str, int]:
    """Where a candidate is: (path, line)."""
    return pool.path(row), int(pool.snapshot.column("units.first")[pool.units[row]])

"""The best use it."""

from __future__ import annotations

from whence.ranking.columns import logarithmic
from whence.ranking.ledger import Column
from whence.ranking.pool import CandidatePool
from whence.ranking.registry import signal


@signal()
def used_by_best(pool: CandidatePool) -> Column:
    """How much the ten best first candidates call it or name it: a logarithm, 0 for not at all."""
    values = logarithmic(pool.beside.used if pool.beside is not None else None, len(pool.units))
    return Column(values, lambda row: "called or named by the best" if values[row] else "not called by the best")

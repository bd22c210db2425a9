"""It uses the best."""

from __future__ import annotations

from whence.ranking.columns import logarithmic
from whence.ranking.ledger import Column
from whence.ranking.pool import CandidatePool
from whence.ranking.registry import signal


@signal()
def using_best(pool: CandidatePool) -> Column:
    """How much it calls or names the ten best first candidates: a logarithm, 0 for not at all."""
    values = logarithmic(pool.beside.using if pool.beside is not None else None, len(pool.units))
    return Column(values, lambda row: "calls or names the best" if values[row] else "does not call the best")

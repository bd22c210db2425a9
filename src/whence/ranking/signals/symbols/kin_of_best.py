"""It is kin to the best."""

from __future__ import annotations

from whence.ranking.columns import logarithmic
from whence.ranking.ledger import Column
from whence.ranking.pool import CandidatePool
from whence.ranking.registry import signal


@signal()
def kin_of_best(pool: CandidatePool) -> Column:
    """How much the ten best first candidates contain, extend, implement or inherit it, or lie in it: a logarithm, 0 for not at all."""
    values = logarithmic(pool.beside.kin if pool.beside is not None else None, len(pool.units))
    return Column(values, lambda row: "kin to the best" if values[row] else "not kin to the best")

"""It is kin to the best."""

from __future__ import annotations

from whence.fuse.pool import Pool
from whence.rank.ledger import Column
from whence.rank.registry import signal
from whence.rank.terms import logarithmic


@signal()
def kin_of_best(pool: Pool) -> Column:
    """How much the ten best first candidates contain, extend, implement or inherit it, or lie in it: a logarithm, 0 for not at all."""
    values = logarithmic(pool.beside.kin if pool.beside is not None else None, len(pool.units))
    return Column(values, lambda row: "kin to the best" if values[row] else "not kin to the best")

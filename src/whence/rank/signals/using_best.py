"""It uses the best."""

from __future__ import annotations

from whence.fuse.pool import Pool
from whence.rank.ledger import Column
from whence.rank.registry import signal
from whence.rank.terms import logarithmic


@signal()
def using_best(pool: Pool) -> Column:
    """How much it calls or names the ten best first candidates: a logarithm, 0 for not at all."""
    values = logarithmic(pool.beside.using if pool.beside is not None else None, len(pool.units))
    return Column(values, lambda row: "calls or names the best" if values[row] else "does not call the best")

"""How much of its name was asked for."""

from __future__ import annotations

from whence.fuse.pool import Pool
from whence.rank.ledger import Column
from whence.rank.registry import signal


@signal()
def name_fit(pool: Pool) -> Column:
    """The share of the parts of the symbol's name, and of its type's, that the query speaks of; rare parts count more."""
    values = pool.names.precision(pool.units)
    return Column(values, lambda row: f"{values[row]:.0%} of its name is in the question")

"""It belongs to no type."""

from __future__ import annotations

from whence.fuse.pool import Pool
from whence.index.symbols import IS_FUNCTION
from whence.rank.ledger import Column
from whence.rank.registry import signal


@signal()
def free_function(pool: Pool) -> Column:
    """1 for a function that is no method."""
    values = IS_FUNCTION[pool.snapshot.kinds[pool.units]].astype(float)
    return Column(values, lambda row: "a function of no type" if values[row] else "no function, or a method")

"""It makes a value of its type."""

from __future__ import annotations

from whence.index.segment_writer import CONSTRUCTS
from whence.ranking.ledger import Column
from whence.ranking.pool import CandidatePool
from whence.ranking.registry import signal


@signal()
def constructor(pool: CandidatePool) -> Column:
    """1 for a constructor: the type itself says as much."""
    values = (pool.snapshot.column("units.flags")[pool.units] & CONSTRUCTS > 0).astype(float)
    return Column(values, lambda row: "a constructor" if values[row] else "no constructor")

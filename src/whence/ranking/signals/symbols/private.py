"""It is not meant for others."""

from __future__ import annotations

from whence.index.segment_writer import HIDDEN
from whence.ranking.ledger import Column
from whence.ranking.pool import CandidatePool
from whence.ranking.registry import signal


@signal()
def private(pool: CandidatePool) -> Column:
    """1 for what its name or its signature keeps to its own type, file or package."""
    values = (pool.snapshot.column("units.flags")[pool.units] & HIDDEN > 0).astype(float)
    return Column(values, lambda row: "kept to itself" if values[row] else "open to others")

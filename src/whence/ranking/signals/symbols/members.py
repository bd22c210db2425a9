"""How much there is inside it."""

from __future__ import annotations

import numpy as np

from whence.ranking.ledger import Column
from whence.ranking.pool import CandidatePool
from whence.ranking.registry import signal


@signal()
def members(pool: CandidatePool) -> Column:
    """Logarithm of one more than the members of a type; 0 for what is none."""
    counts = pool.snapshot.symbols.members[pool.units]
    return Column(np.log1p(counts), lambda row: f"{counts[row]} members")

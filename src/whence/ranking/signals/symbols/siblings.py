"""Better members of its type stand before it."""

from __future__ import annotations

import numpy as np

from whence.ranking.columns import better_of_same
from whence.ranking.ledger import Column
from whence.ranking.pool import CandidatePool
from whence.ranking.registry import Phase, signal


@signal(Phase.COHERENCE)
def siblings(pool: CandidatePool) -> Column:
    """Logarithm of one more than the members of the same type that score better so far: a pack needs more than one type."""
    owner = pool.snapshot.symbols.owner[pool.units]
    better = better_of_same(np.where(owner >= 0, owner, pool.units), pool.scores)
    return Column(np.log1p(better), lambda row: f"{better[row]} better of its type")

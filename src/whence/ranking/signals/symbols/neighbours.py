"""Better symbols of its file stand before it."""

from __future__ import annotations

import numpy as np

from whence.ranking.columns import better_of_same
from whence.ranking.ledger import Column
from whence.ranking.pool import CandidatePool
from whence.ranking.registry import Phase, signal


@signal(Phase.COHERENCE)
def neighbours(pool: CandidatePool) -> Column:
    """Logarithm of one more than the symbols of the same file that score better so far: a pack needs more than one file."""
    better = better_of_same(pool.files, pool.scores)
    return Column(np.log1p(better), lambda row: f"{better[row]} better of its file")

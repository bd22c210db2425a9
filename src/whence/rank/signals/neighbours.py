"""Better symbols of its file stand before it."""

from __future__ import annotations

import numpy as np

from whence.fuse.pool import Pool
from whence.rank.ledger import Column
from whence.rank.registry import Phase, signal
from whence.rank.terms import better_of_same


@signal(Phase.COHERENCE)
def neighbours(pool: Pool) -> Column:
    """Logarithm of one more than the symbols of the same file that score better so far: a pack needs more than one file."""
    better = better_of_same(pool.files, pool.scores)
    return Column(np.log1p(better), lambda row: f"{better[row]} better of its file")

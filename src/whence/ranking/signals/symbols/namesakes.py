"""How many symbols have its name."""

from __future__ import annotations

import numpy as np

from whence.ranking.ledger import Column
from whence.ranking.pool import CandidatePool
from whence.ranking.registry import signal


@signal()
def namesakes(pool: CandidatePool) -> Column:
    """Logarithm of the number of definitions of its name."""
    counts = pool.snapshot.symbols.namesakes[pool.units]
    return Column(np.log(np.maximum(counts, 1)), lambda row: f"{counts[row]} of this name")

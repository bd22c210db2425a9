"""How many other symbols refer to it."""

from __future__ import annotations

import numpy as np

from whence.ranking.ledger import Column
from whence.ranking.pool import CandidatePool
from whence.ranking.registry import signal


@signal()
def referred(pool: CandidatePool) -> Column:
    """Logarithm of one more than the symbols outside tests that call or name it."""
    counts = pool.graph.referrers[pool.units] if pool.graph is not None else np.zeros(len(pool.units))
    return Column(np.log1p(counts), lambda row: f"{counts[row]:.0f} symbols refer to it")

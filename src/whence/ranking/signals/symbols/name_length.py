"""How long its name is."""

from __future__ import annotations

import numpy as np

from whence.ranking.ledger import Column
from whence.ranking.pool import CandidatePool
from whence.ranking.registry import signal


@signal()
def name_length(pool: CandidatePool) -> Column:
    """Logarithm of one more than the parts of its name."""
    counts = np.diff(pool.snapshot.name_parts.starts)[pool.units]
    return Column(np.log1p(counts), lambda row: f"{counts[row]} parts")

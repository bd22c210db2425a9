"""Others lean on it."""

from __future__ import annotations

import numpy as np

from whence.ranking.ledger import Column
from whence.ranking.pool import CandidatePool
from whence.ranking.registry import signal


@signal()
def centrality(pool: CandidatePool) -> Column:
    """How many other files mention a name that this file defines (and at most two others do): ln(1 + files)."""
    count = pool.by_file(pool.snapshot.centrality[pool.distinct_files])
    return Column(np.log1p(count), lambda row: f"{count[row]} files mention what it defines")

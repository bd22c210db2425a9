"""How much of the walk comes by it, against the best."""

from __future__ import annotations

import numpy as np

from whence.ranking.ledger import Column
from whence.ranking.pool import CandidatePool
from whence.ranking.registry import signal


@signal()
def blast(pool: CandidatePool) -> Column:
    """How near the walk finds it to the seeds, as a share of the nearest (S1)."""
    walked = pool.walked if pool.walked is not None else np.zeros(len(pool.units))
    values = walked / (float(walked.max(initial=0.0)) or 1.0)
    return Column(values, lambda row: f"{values[row]:.1%} of the nearest to the seeds")

"""What was said of it before."""

from __future__ import annotations

import numpy as np

from whence.ranking.ledger import Column
from whence.ranking.pool import CandidatePool
from whence.ranking.registry import signal


@signal()
def feedback(pool: CandidatePool) -> Column:
    """What verdicts on it add, while its code stays as it was: up to 0.25, and down to -0.05 (L2)."""
    values = pool.feedback if pool.feedback is not None else np.zeros(len(pool.units))
    return Column(values, lambda row: "said to be useful" if values[row] > 0 else "said to be useless" if values[row] < 0 else "no verdict")

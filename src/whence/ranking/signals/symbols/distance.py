"""Whether the task itself led to it."""

from __future__ import annotations

import numpy as np

from whence.ranking.ledger import Column
from whence.ranking.pool import CandidatePool
from whence.ranking.registry import signal


@signal()
def distance(pool: CandidatePool) -> Column:
    """1 / (1 + hops): a seed is 0 hops away, what the walk found beside them counts as 1 (S1)."""
    is_seed = pool.seeding.is_seed if pool.seeding is not None else np.zeros(len(pool.units), bool)
    return Column(1 / (1 + np.where(is_seed, 0, 1)), lambda row: "a seed of the walk" if is_seed[row] else "found by the walk")

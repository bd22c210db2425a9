import numpy as np

from whence.ranking.ledger import Column, signal
from whence.ranking.pool import CandidatePool


@signal()
def distance(pool: CandidatePool) -> Column:
    """1 / (1 + hops): 1 for a seed of the walk, 1/2 for what the walk adds (S1)."""
    is_seed = pool.seed_scores.is_seed if pool.seed_scores is not None else np.zeros(len(pool.units), bool)
    return Column(1 / (1 + np.where(is_seed, 0, 1)), lambda row: "a seed of the walk" if is_seed[row] else "found by the walk")

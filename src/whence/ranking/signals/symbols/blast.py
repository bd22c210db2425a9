import numpy as np

from whence.ranking.ledger import Column, signal
from whence.ranking.pool import CandidatePool


@signal()
def blast(pool: CandidatePool) -> Column:
    """How near the walk finds the symbol to the seeds, relative to the nearest (S1)."""
    walked = pool.walk_scores if pool.walk_scores is not None else np.zeros(len(pool.units))
    values = walked / (float(walked.max(initial=0.0)) or 1.0)
    return Column(values, lambda row: f"{values[row]:.1%} of the nearest to the seeds")

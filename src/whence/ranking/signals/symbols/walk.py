import numpy as np

from whence.ranking.ledger import Column, signal
from whence.ranking.pool import CandidatePool

#: What is not reached counts as this much of the best.
FLOOR = 1e-3


@signal()
def walk(pool: CandidatePool) -> Column:
    """How often a walk from the best candidates along calls, types and containment visits the symbol; logarithmic."""
    walked = pool.walk_scores if pool.walk_scores is not None else np.zeros(len(pool.units))
    values = 1 + np.log(FLOOR + walked) / -np.log(FLOOR)
    return Column(values, lambda row: f"{walked[row]:.1%} of the most visited" if walked[row] else "the walk does not come by")

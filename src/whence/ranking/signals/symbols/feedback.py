import numpy as np

from whence.ranking.ledger import Column, signal
from whence.ranking.pool import CandidatePool


@signal()
def feedback(pool: CandidatePool) -> Column:
    """What verdicts add while the symbol's code is unchanged: from -0.05 to 0.25 (L2)."""
    values = pool.feedback if pool.feedback is not None else np.zeros(len(pool.units))
    return Column(values, lambda row: "said to be useful" if values[row] > 0 else "said to be useless" if values[row] < 0 else "no verdict")

import numpy as np

from whence.ranking.ledger import Column, signal
from whence.ranking.pool import LEARNED, CandidatePool


@signal()
def taught(pool: CandidatePool) -> Column:
    """How often words of the task led to this symbol before: from 0.3 for twice to 0.8 for ten times (L5)."""
    values = np.nan_to_num(pool.retrieved.get(LEARNED, np.zeros(len(pool.units))))
    return Column(values, lambda row: "was of use for such words before" if values[row] else "nothing learned")

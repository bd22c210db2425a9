import numpy as np

from whence.ranking.ledger import Column, signal
from whence.ranking.pool import CONCEPTS, CandidatePool


@signal()
def concept(pool: CandidatePool) -> Column:
    """The weight of a concept class that the task mentions and that lists the symbol's name (N3)."""
    values = np.nan_to_num(pool.retrieved.get(CONCEPTS, np.zeros(len(pool.units))))
    return Column(values, lambda row: "a usual name for it" if values[row] else "no usual name for it")

import numpy as np

from whence.ranking.ledger import Column, signal
from whence.ranking.pool import CandidatePool


@signal()
def namesakes(pool: CandidatePool) -> Column:
    """The logarithm of how many definitions have this name."""
    counts = pool.snapshot.symbols.namesakes[pool.units]
    return Column(np.log(np.maximum(counts, 1)), lambda row: f"{counts[row]} of this name")

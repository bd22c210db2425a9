import numpy as np

from whence.ranking.ledger import Column, signal
from whence.ranking.pool import CandidatePool


@signal()
def members(pool: CandidatePool) -> Column:
    """ln(1 + members) of a type; 0 for other symbols."""
    counts = pool.snapshot.symbols.members[pool.units]
    return Column(np.log1p(counts), lambda row: f"{counts[row]} members")

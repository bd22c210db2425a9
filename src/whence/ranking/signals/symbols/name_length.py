import numpy as np

from whence.ranking.ledger import Column, signal
from whence.ranking.pool import CandidatePool


@signal()
def name_length(pool: CandidatePool) -> Column:
    """ln(1 + parts of the symbol's name)."""
    counts = np.diff(pool.snapshot.name_parts.starts)[pool.units]
    return Column(np.log1p(counts), lambda row: f"{counts[row]} parts")

import numpy as np

from whence.ranking.ledger import Column, signal
from whence.ranking.pool import CandidatePool


@signal()
def size(pool: CandidatePool) -> Column:
    """The size of the file: ln(1 + bytes)."""
    size = pool.column("files.bytes")
    return Column(np.log1p(size), lambda row: f"{size[row]} bytes")

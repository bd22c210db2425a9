import numpy as np

from whence.ranking.ledger import Column, signal
from whence.ranking.pool import CandidatePool


@signal()
def depth(pool: CandidatePool) -> Column:
    """How deep the file lies: ln(1 + folders below the shallowest file)."""
    below = np.maximum(pool.column("files.depth").astype(np.int64) - pool.min_depth, 0)
    return Column(np.log1p(below), lambda row: f"{below[row]} folders below the shallowest file")

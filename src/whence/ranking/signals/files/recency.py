import numpy as np

from whence.ranking.ledger import Column, signal
from whence.ranking.pool import CandidatePool


@signal()
def recency(pool: CandidatePool) -> Column:
    """How often and how recently the file changed: ln(1 + commits), a commit losing half its weight every 180 days."""
    values = np.log1p(pool.by_file(pool.snapshot.recency[pool.distinct_files]).astype(np.float64))
    return Column(values, lambda row: f"{np.expm1(values[row]):.1f} commits of late")

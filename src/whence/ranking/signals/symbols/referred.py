import numpy as np

from whence.ranking.ledger import Column, signal
from whence.ranking.pool import CandidatePool


@signal()
def referred(pool: CandidatePool) -> Column:
    """ln(1 + symbols outside tests that call or reference it)."""
    counts = pool.graph.referrers[pool.units] if pool.graph is not None else np.zeros(len(pool.units))
    return Column(np.log1p(counts), lambda row: f"{counts[row]:.0f} symbols refer to it")

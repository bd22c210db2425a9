import numpy as np

from whence.ranking.ledger import Column, signal
from whence.ranking.pool import DENSE, CandidatePool, rescale


@signal()
def semantic(pool: CandidatePool) -> Column:
    """Vector similarity, rescaled over the units that vectors found (F2); 0 for all others (F1)."""
    similar = pool.retrieved.get(DENSE, np.full(len(pool.units), np.nan))
    return Column(
        rescale(similar, pool.profile.fusion),
        lambda row: f"similarity {similar[row]:.2f}" if np.isfinite(similar[row]) else "not found by vectors",
    )

import numpy as np

from whence.ranking.ledger import Column, signal
from whence.ranking.pool import CandidatePool


@signal()
def session(pool: CandidatePool) -> Column:
    """What having been shown in this session adds: up to 0.20, halved every three minutes (L1)."""
    values = pool.session if pool.session is not None else np.zeros(len(pool.units))
    return Column(values, lambda row: "shown in this session" if values[row] else "not shown in this session")

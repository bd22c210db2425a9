import numpy as np

from whence.graph.walk import score_adjustment
from whence.ranking.ledger import Column, signal
from whence.ranking.pool import CandidatePool


@signal()
def authority(pool: CandidatePool) -> Column:
    """Raises seeds that are hubs or authorities of the walked graph and lowers all other authorities (W4)."""
    found = pool.seed_scores
    if found is None:
        return Column(np.zeros(len(pool.units)), lambda _: "not worked out")
    values = score_adjustment(found.authority, found.hub, found.is_seed)
    return Column(values, lambda row: f"authority {found.authority[row]:.2f}, hub {found.hub[row]:.2f}")

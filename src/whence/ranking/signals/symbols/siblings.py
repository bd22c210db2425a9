import numpy as np

from whence.ranking.ledger import Column, Phase, signal
from whence.ranking.pool import CandidatePool, better_in_group


@signal(Phase.COHERENCE)
def siblings(pool: CandidatePool) -> Column:
    """ln(1 + members of the same type with a better score so far): a pack needs more than one type."""
    owner = pool.snapshot.symbols.owner[pool.units]
    better = better_in_group(np.where(owner >= 0, owner, pool.units), pool.scores)
    return Column(np.log1p(better), lambda row: f"{better[row]} better of its type")

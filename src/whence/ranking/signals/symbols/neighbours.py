import numpy as np

from whence.ranking.ledger import Column, Phase, signal
from whence.ranking.pool import CandidatePool, better_in_group


@signal(Phase.COHERENCE)
def neighbours(pool: CandidatePool) -> Column:
    """ln(1 + symbols of the same file with a better score so far): a pack needs more than one file."""
    better = better_in_group(pool.files, pool.scores)
    return Column(np.log1p(better), lambda row: f"{better[row]} better of its file")

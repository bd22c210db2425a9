import numpy as np

from whence.ranking.ledger import Column, Phase, signal
from whence.ranking.pool import CandidatePool


@signal(Phase.RERANK)
def rerank(pool: CandidatePool) -> Column:
    """Similarity to the query as a sentence encoder reads the unit itself, above the least similar of the first candidates."""
    look = pool.second_look
    if look is None:
        return Column(np.zeros(len(pool.units)), lambda _: "no second look")
    return Column(look.values(), look.because)

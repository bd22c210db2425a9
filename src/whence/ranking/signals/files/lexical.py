import numpy as np

from whence.ranking.ledger import Column, signal
from whence.ranking.pool import CandidatePool, matching_terms, rescale, unit_scores


@signal()
def lexical(pool: CandidatePool) -> Column:
    """BM25 over the weighted fields (I5), times the share of words matched (Q1), rescaled over the units found (F2)."""
    scores = unit_scores(pool)
    return Column(rescale(np.where(scores > 0, scores, np.nan), pool.profile.fusion), lambda row: matching_terms(pool, row))

"""The lexical score of the classic profile."""

from __future__ import annotations

import numpy as np

from whence.ranking.columns import spoken_terms, unit_scores
from whence.ranking.fusion import scaled
from whence.ranking.ledger import Column
from whence.ranking.pool import CandidatePool
from whence.ranking.registry import signal


@signal()
def lexical(pool: CandidatePool) -> Column:
    """BM25 over the weighted columns (I5), times the share of words matched (Q1), scaled over what it found (F2)."""
    scores = unit_scores(pool)
    return Column(scaled(np.where(scores > 0, scores, np.nan), pool.profile.fusion), lambda row: spoken_terms(pool, row))

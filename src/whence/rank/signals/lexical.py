"""The lexical score of the classic profile."""

from __future__ import annotations

import numpy as np

from whence.fuse.pool import Pool
from whence.fuse.scale import scaled
from whence.rank.ledger import Column
from whence.rank.registry import signal
from whence.rank.terms import spoken_terms, unit_scores


@signal()
def lexical(pool: Pool) -> Column:
    """BM25 over the weighted columns (I5), times the share of words matched (Q1), scaled over what it found (F2)."""
    scores = unit_scores(pool)
    return Column(scaled(np.where(scores > 0, scores, np.nan), pool.profile.fusion), lambda row: spoken_terms(pool, row))

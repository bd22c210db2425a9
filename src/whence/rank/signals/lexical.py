"""The lexical score of the classic profile."""

from __future__ import annotations

import numpy as np

from whence.fuse.pool import Pool
from whence.rank.ledger import Column
from whence.rank.registry import signal
from whence.rank.terms import spoken_terms, unit_scores


@signal()
def lexical(pool: Pool) -> Column:
    """BM25 over the weighted columns (I5), times the share of words matched (Q1), scaled to [0, 1] over the pool (F2)."""
    scores = unit_scores(pool)
    low, high = (float(scores.min()), float(scores.max())) if len(scores) else (0.0, 0.0)
    scaled = (scores - low) / (high - low) if high > low else np.ones(len(scores))
    return Column(scaled, lambda row: spoken_terms(pool, row))

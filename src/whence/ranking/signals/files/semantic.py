"""The semantic score of the classic profile."""

from __future__ import annotations

import numpy as np

from whence.ranking.fusion import scaled
from whence.ranking.ledger import Column
from whence.ranking.pool import MEANING, CandidatePool
from whence.ranking.registry import signal


@signal()
def semantic(pool: CandidatePool) -> Column:
    """Similarity of the vectors, scaled over what they found (F2); 0 for what words alone found (F1)."""
    similar = pool.retrieved.get(MEANING, np.full(len(pool.units), np.nan))
    return Column(
        scaled(similar, pool.profile.fusion),
        lambda row: f"similarity {similar[row]:.2f}" if np.isfinite(similar[row]) else "not found by vectors",
    )

"""How near the candidate itself lies in meaning."""

from __future__ import annotations

from whence.ranking.ledger import Column
from whence.ranking.pool import CandidatePool
from whence.ranking.registry import signal


@signal()
def passage(pool: CandidatePool) -> Column:
    """How near this unit lies to the question in meaning: the similarity of the nearest passage that holds some of it."""
    values = pool.unit_nearness
    return Column(values, lambda row: f"similarity {values[row]:.2f}")

"""How near the file lies in meaning."""

from __future__ import annotations

from whence.ranking.ledger import Column
from whence.ranking.pool import CandidatePool
from whence.ranking.registry import signal


@signal()
def meaning(pool: CandidatePool) -> Column:
    """How near the file lies to the question in meaning.

    The mean similarity of its three nearest passages, by the vectors of the model in use.
    """
    values = pool.nearness
    return Column(values, lambda row: f"similarity {values[row]:.2f} over its nearest passages")

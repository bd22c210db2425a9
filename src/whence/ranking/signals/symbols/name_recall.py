"""How much of the question its name holds."""

from __future__ import annotations

from whence.ranking.ledger import Column
from whence.ranking.pool import CandidatePool
from whence.ranking.registry import signal


@signal()
def name_recall(pool: CandidatePool) -> Column:
    """The share of the query's words, rare ones counting more, that the symbol's name or its type's name holds."""
    values = pool.names.recall(pool.units)
    return Column(values, lambda row: f"its name holds {values[row]:.0%} of the question")

"""What past commits point at."""

from __future__ import annotations

from whence.ranking.ledger import Column
from whence.ranking.pool import CandidatePool
from whence.ranking.registry import signal


@signal()
def precedent(pool: CandidatePool) -> Column:
    """How much the file was changed by commits whose messages are like the question; 1 is the most of the pool."""
    values = pool.by_file(pool.commits.of_files(pool.distinct_files))
    return Column(values, lambda row: f"{values[row]:.0%} of the most" if values[row] else "no commit like this")

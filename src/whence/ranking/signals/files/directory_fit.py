"""The folders are named for it."""

from __future__ import annotations

from whence.ranking.ledger import Column
from whence.ranking.pool import CandidatePool
from whence.ranking.registry import signal


@signal()
def directory_fit(pool: CandidatePool) -> Column:
    """The share of the two nearest folders' words that the query names, rare words counting more."""
    values = pool.by_file(pool.path_match.directory_fit(pool.distinct_files))
    return Column(values, lambda row: f"folder {pool.path(row).rpartition('/')[0] or '.'}")

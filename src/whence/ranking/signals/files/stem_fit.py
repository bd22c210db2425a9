"""The file is named for it."""

from __future__ import annotations

from whence.ranking.ledger import Column
from whence.ranking.pool import CandidatePool
from whence.ranking.registry import signal


@signal()
def stem_fit(pool: CandidatePool) -> Column:
    """How well the file's name fits the query.

    What share of the query it matches and what share of it is matched (equal, same stem, prefix or
    synonym), rare words counting more.
    """
    values = pool.by_file(pool.path_match.stem_fit(pool.distinct_files))
    return Column(values, lambda row: f"name {pool.path(row).rsplit('/', 1)[-1]}")

"""The best piece of the file."""

from __future__ import annotations

from whence.ranking.columns import relative_to_best, spoken_terms, unit_scores
from whence.ranking.ledger import Column
from whence.ranking.pool import CandidatePool
from whence.ranking.registry import signal


@signal()
def unit(pool: CandidatePool) -> Column:
    """How well one unit speaks of the query.

    BM25 over its name, enclosing names, signature, doc, body and path; 1 is the best of the pool.
    """
    return Column(relative_to_best(unit_scores(pool)), lambda row: spoken_terms(pool, row))

from whence.ranking.ledger import Column, signal
from whence.ranking.pool import CandidatePool, matching_terms, relative_to_best, unit_scores


@signal()
def unit(pool: CandidatePool) -> Column:
    """BM25 of the unit over its name, enclosing names, signature, docs, body and path, relative to the best of the pool."""
    return Column(relative_to_best(unit_scores(pool)), lambda row: matching_terms(pool, row))

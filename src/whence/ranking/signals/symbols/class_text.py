from whence.ranking.ledger import Column, signal
from whence.ranking.pool import CandidatePool, relative_to_best


@signal()
def class_text(pool: CandidatePool) -> Column:
    """BM25 over all members of the symbol's type, relative to the best of the pool."""
    values = relative_to_best(pool.class_text.of_units(pool.units))
    return Column(values, lambda row: f"{values[row]:.0%} of the best type" if values[row] else "belongs to no type")

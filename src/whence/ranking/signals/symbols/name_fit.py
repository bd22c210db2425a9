from whence.ranking.ledger import Column, signal
from whence.ranking.pool import CandidatePool


@signal()
def name_fit(pool: CandidatePool) -> Column:
    """The share of the parts of the symbol's name, and of its type's, that the query contains; rare parts count more."""
    values = pool.names.precision(pool.units)
    return Column(values, lambda row: f"{values[row]:.0%} of its name is in the question")

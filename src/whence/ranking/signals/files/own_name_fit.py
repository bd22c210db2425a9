from whence.ranking.ledger import Column, signal
from whence.ranking.pool import CandidatePool


@signal()
def own_name_fit(pool: CandidatePool) -> Column:
    """The share of the parts of the unit's own name that the query contains."""
    _, values = pool.own_names
    return Column(values, lambda row: f"{values[row]:.0%} of its name is in the question")

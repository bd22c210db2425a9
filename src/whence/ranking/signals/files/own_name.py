from whence.ranking.ledger import Column, signal
from whence.ranking.pool import CandidatePool


@signal()
def own_name(pool: CandidatePool) -> Column:
    """The share of the query's words that the unit's own name contains, weighted by idf."""
    values, _ = pool.own_names
    return Column(values, lambda row: f"its name contains {values[row]:.0%} of the question")

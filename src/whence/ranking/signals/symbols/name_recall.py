from whence.ranking.ledger import Column, signal
from whence.ranking.pool import CandidatePool


@signal()
def name_recall(pool: CandidatePool) -> Column:
    """The share of the query's words that the name of the symbol or its type contains, weighted by idf."""
    values = pool.names.recall(pool.units)
    return Column(values, lambda row: f"its name holds {values[row]:.0%} of the question")

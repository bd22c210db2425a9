from whence.ranking.ledger import Column, signal
from whence.ranking.pool import CandidatePool


@signal()
def meaning(pool: CandidatePool) -> Column:
    """Similarity of the file to the query: the mean of its three nearest passages, by the model in use."""
    values = pool.nearness
    return Column(values, lambda row: f"similarity {values[row]:.2f} over its nearest passages")

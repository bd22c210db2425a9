from whence.ranking.ledger import Column, signal
from whence.ranking.pool import CandidatePool


@signal()
def passage(pool: CandidatePool) -> Column:
    """Similarity to the query of the nearest passage that overlaps the unit."""
    values = pool.unit_nearness
    return Column(values, lambda row: f"similarity {values[row]:.2f}")

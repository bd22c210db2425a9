from whence.core.types import VALUES
from whence.ranking.ledger import Column, signal
from whence.ranking.pool import CandidatePool, is_of_kind


@signal()
def value_kind(pool: CandidatePool) -> Column:
    """1 for a field or a constant."""
    values = is_of_kind(pool, VALUES)
    return Column(values, lambda row: "is a value" if values[row] else "is no value")

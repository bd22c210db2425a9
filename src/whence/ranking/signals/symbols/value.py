from whence.core.types import VALUES
from whence.ranking.ledger import Column, signal
from whence.ranking.pool import CandidatePool, is_of_kind


@signal()
def value(pool: CandidatePool) -> Column:
    """1 for fields and constants."""
    values = is_of_kind(pool, VALUES)
    return Column(values, lambda row: "a field or a constant" if values[row] else "does something, or is a type")

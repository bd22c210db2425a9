from whence.core.types import CALLABLES
from whence.ranking.ledger import Column, signal
from whence.ranking.pool import CandidatePool, is_of_kind


@signal()
def function_kind(pool: CandidatePool) -> Column:
    """1 for a function, method or macro."""
    values = is_of_kind(pool, CALLABLES)
    return Column(values, lambda row: "is a function" if values[row] else "is no function")

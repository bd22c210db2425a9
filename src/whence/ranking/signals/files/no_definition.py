from whence.core.types import TEXTS
from whence.ranking.ledger import Column, signal
from whence.ranking.pool import CandidatePool, is_of_kind


@signal()
def no_definition(pool: CandidatePool) -> Column:
    """1 for lines that define nothing: those between definitions, and prose."""
    values = is_of_kind(pool, TEXTS)
    return Column(values, lambda row: "defines nothing" if values[row] else "is a definition")

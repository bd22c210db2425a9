from whence.ranking.ledger import Column, signal
from whence.ranking.pool import CandidatePool, header_column


@signal()
def c_header(pool: CandidatePool) -> Column:
    """1 for C headers: the implementation is in the source file."""
    return header_column(pool, "c")

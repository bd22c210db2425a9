from whence.ranking.columns import header_column
from whence.ranking.ledger import Column
from whence.ranking.pool import CandidatePool
from whence.ranking.scoring import signal


@signal()
def c_header(pool: CandidatePool) -> Column:
    """1 for C headers: the implementation is in the source file."""
    return header_column(pool, "c")

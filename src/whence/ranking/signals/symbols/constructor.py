from whence.index.segment import CONSTRUCTS
from whence.ranking.ledger import Column, signal
from whence.ranking.pool import CandidatePool


@signal()
def constructor(pool: CandidatePool) -> Column:
    """1 for constructors: the type itself says as much."""
    values = (pool.snapshot.column("units.flags")[pool.units] & CONSTRUCTS > 0).astype(float)
    return Column(values, lambda row: "a constructor" if values[row] else "no constructor")

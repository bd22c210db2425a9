from whence.index.segment import HIDDEN
from whence.ranking.ledger import Column, signal
from whence.ranking.pool import CandidatePool


@signal()
def private(pool: CandidatePool) -> Column:
    """1 if the name or signature marks the symbol as private to its type, file or package."""
    values = (pool.snapshot.column("units.flags")[pool.units] & HIDDEN > 0).astype(float)
    return Column(values, lambda row: "kept to itself" if values[row] else "open to others")

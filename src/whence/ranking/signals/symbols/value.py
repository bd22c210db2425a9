from whence.index.symbols import IS_VALUE
from whence.ranking.ledger import Column, signal
from whence.ranking.pool import CandidatePool


@signal()
def value(pool: CandidatePool) -> Column:
    """1 for fields and constants."""
    values = IS_VALUE[pool.snapshot.kinds[pool.units]].astype(float)
    return Column(values, lambda row: "a field or a constant" if values[row] else "does something, or is a type")

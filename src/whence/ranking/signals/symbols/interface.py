from whence.index.symbols import IS_INTERFACE
from whence.ranking.ledger import Column, signal
from whence.ranking.pool import CandidatePool


@signal()
def interface(pool: CandidatePool) -> Column:
    """1 for interfaces and traits."""
    values = IS_INTERFACE[pool.snapshot.kinds[pool.units]].astype(float)
    return Column(values, lambda row: "an interface" if values[row] else "no interface")

from whence.index.symbols import IS_CONTAINER
from whence.ranking.ledger import Column, signal
from whence.ranking.pool import CandidatePool


@signal()
def type_kind(pool: CandidatePool) -> Column:
    """1 for classes, interfaces, structs and other types."""
    values = IS_CONTAINER[pool.snapshot.kinds[pool.units]].astype(float)
    return Column(values, lambda row: "a type" if values[row] else "no type")

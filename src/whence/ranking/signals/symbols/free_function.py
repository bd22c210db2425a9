from whence.index.symbols import IS_FUNCTION
from whence.ranking.ledger import Column, signal
from whence.ranking.pool import CandidatePool


@signal()
def free_function(pool: CandidatePool) -> Column:
    """1 for functions that are not methods."""
    values = IS_FUNCTION[pool.snapshot.kinds[pool.units]].astype(float)
    return Column(values, lambda row: "a function of no type" if values[row] else "no function, or a method")

from whence.ranking.ledger import Column, signal
from whence.ranking.pool import CandidatePool, logarithmic


@signal()
def used_by_best(pool: CandidatePool) -> Column:
    """How much the ten best first candidates call or reference the symbol; logarithmic, 0 for not at all."""
    values = logarithmic(pool.neighbour_scores.used if pool.neighbour_scores is not None else None, len(pool.units))
    return Column(values, lambda row: "called or named by the best" if values[row] else "not called by the best")

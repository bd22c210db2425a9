from whence.ranking.ledger import Column, signal
from whence.ranking.pool import CandidatePool, logarithmic


@signal()
def using_best(pool: CandidatePool) -> Column:
    """How much the symbol calls or references the ten best first candidates; logarithmic, 0 for not at all."""
    values = logarithmic(pool.neighbour_scores.using if pool.neighbour_scores is not None else None, len(pool.units))
    return Column(values, lambda row: "calls or names the best" if values[row] else "does not call the best")

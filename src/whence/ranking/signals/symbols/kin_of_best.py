from whence.ranking.ledger import Column, signal
from whence.ranking.pool import CandidatePool, logarithmic


@signal()
def kin_of_best(pool: CandidatePool) -> Column:
    """How closely containment or inheritance ties the symbol to the ten best first candidates; logarithmic, 0 for not at all."""
    values = logarithmic(pool.neighbour_scores.kin if pool.neighbour_scores is not None else None, len(pool.units))
    return Column(values, lambda row: "kin to the best" if values[row] else "not kin to the best")

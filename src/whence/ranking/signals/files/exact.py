import numpy as np

from whence.ranking.ledger import Column, signal
from whence.ranking.pool import CandidatePool


@signal()
def exact(pool: CandidatePool) -> Column:
    """The share of the query, or of a text or name in it, that the unit contains as typed; 0 if more than 3 files contain it."""
    found = pool.exact.by_unit if pool.exact is not None else {}
    matches = [found.get(unit) for unit in pool.units.tolist()] if found else [None] * len(pool.units)
    values = np.array([one.strength if one is not None else 0.0 for one in matches])

    def because(row: int) -> str:
        match = matches[row]
        if match is None:
            return "contains no text of the query as typed"
        others = f", in {match.files} files" if match.files > 1 else ", in no other file"
        return f"line {match.line}: {match.literal[:60]!r}{others}"

    return Column(values, because)

import numpy as np

from whence.ranking.ledger import Column, signal
from whence.ranking.pool import CandidatePool


@signal()
def length(pool: CandidatePool) -> Column:
    """ln(1 + lines of the symbol)."""
    first, last = (pool.snapshot.column(name)[pool.units].astype(np.int64) for name in ("units.first", "units.last"))
    lines = last - first + 1
    return Column(np.log1p(lines), lambda row: f"{lines[row]} lines")

"""How long it is."""

from __future__ import annotations

import numpy as np

from whence.ranking.ledger import Column
from whence.ranking.pool import CandidatePool
from whence.ranking.registry import signal


@signal()
def length(pool: CandidatePool) -> Column:
    """Logarithm of one more than the lines of the symbol."""
    first, last = (pool.snapshot.column(name)[pool.units].astype(np.int64) for name in ("units.first", "units.last"))
    lines = last - first + 1
    return Column(np.log1p(lines), lambda row: f"{lines[row]} lines")

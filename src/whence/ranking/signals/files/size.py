"""There is more of it."""

from __future__ import annotations

import numpy as np

from whence.ranking.ledger import Column
from whence.ranking.pool import CandidatePool
from whence.ranking.registry import signal


@signal()
def size(pool: CandidatePool) -> Column:
    """How large the file is: ln(1 + bytes)."""
    size = pool.column("files.bytes")
    return Column(np.log1p(size), lambda row: f"{size[row]} bytes")

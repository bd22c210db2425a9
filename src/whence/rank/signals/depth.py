"""Deep in the tree."""

from __future__ import annotations

import numpy as np

from whence.fuse.pool import Pool
from whence.rank.ledger import Column
from whence.rank.registry import signal


@signal()
def depth(pool: Pool) -> Column:
    """How deep the file lies: ln(1 + folders below the shallowest file)."""
    below = np.maximum(pool.column("files.depth").astype(np.int64) - pool.shallowest, 0)
    return Column(np.log1p(below), lambda row: f"{below[row]} folders below the shallowest file")

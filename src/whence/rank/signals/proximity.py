"""The words stand close together (Q5)."""

from __future__ import annotations

import numpy as np

from whence.fuse.pool import Pool
from whence.index.rows import member
from whence.rank.ledger import Column
from whence.rank.registry import signal


@signal()
def proximity(pool: Pool) -> Column:
    """The share of neighbouring words of the query that occur in one window of the file; a pair with an absent word is skipped."""
    pairs = pool.evidence.close_files
    values = np.zeros(len(pool.distinct_files))
    for files in pairs:
        values += member(pool.distinct_files, files)
    found = pool.by_file(values / len(pairs) if pairs else values)
    return Column(found, lambda row: f"{found[row]:.0%} of the neighbouring words stand together")

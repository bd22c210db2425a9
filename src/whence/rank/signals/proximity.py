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
    pairs = [
        (one, other)
        for one, other in zip(pool.evidence.terms, pool.evidence.terms[1:], strict=False)
        if len(one.windows[0]) and len(other.windows[0])
    ]
    values = np.zeros(len(pool.distinct_files))
    ends = pool.snapshot.window_starts[1:]
    for one, other in pairs:
        shared = one.windows[0][member(one.windows[0], other.windows[0])]
        values += member(pool.distinct_files, np.searchsorted(ends, shared, side="right"))
    found = pool.by_file(values / len(pairs) if pairs else values)
    return Column(found, lambda row: f"{found[row]:.0%} of the neighbouring words stand together")

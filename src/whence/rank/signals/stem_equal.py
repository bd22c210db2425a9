"""The file's name is the query."""

from __future__ import annotations

import numpy as np

from whence.fuse.pool import Pool
from whence.rank.ledger import Column
from whence.rank.registry import signal


@signal()
def stem_equal(pool: Pool) -> Column:
    """1 when the file's name, as one word (plural or not), is a word of the query or two or three neighbouring words joined."""
    joined = pool.plan.joined
    names = pool.path_match.joined_stems(pool.distinct_files)
    values = pool.by_file(
        np.array([float(bool(name) and (name in joined or name.rstrip("s") in joined or name + "s" in joined)) for name in names])
    )
    return Column(values, lambda row: "the file's name is in the query" if values[row] else "the file's name is not a word of the query")

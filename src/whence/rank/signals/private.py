"""It is not meant for others."""

from __future__ import annotations

import numpy as np

from whence.fuse.pool import Pool
from whence.rank.ledger import Column
from whence.rank.registry import signal


@signal()
def private(pool: Pool) -> Column:
    """1 for a name that begins with an underscore and is no special method."""
    names = [pool.snapshot.unit_name(unit) for unit in pool.units.tolist()]
    values = np.array([float(name.startswith("_") and not name.endswith("__")) for name in names])
    return Column(values, lambda row: "begins with an underscore" if values[row] else "a plain name")

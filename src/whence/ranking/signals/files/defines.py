import numpy as np

from whence.core.types import CONTAINERS
from whence.index.segment_writer import KIND_NAMES, TOP_LEVEL
from whence.ranking.ledger import Column
from whence.ranking.pool import CandidatePool
from whence.ranking.scoring import signal
from whence.storage.arrayfile import Array

#: A member of the name asked for is worth this much of a type or a top-level unit.
MEMBER = 0.6
_CONTAINER = np.array([kind in CONTAINERS for kind in KIND_NAMES])


@signal()
def defines(pool: CandidatePool) -> Column:
    """For a query that is a single name: 1 if the file defines a type or top-level unit of that name, 0.6 if a member."""
    values = np.zeros(len(pool.units))
    if pool.plan.symbol:
        rows = pool.snapshot.definitions(pool.plan.symbol)
        worth = _worth(pool, rows)
        for file in set(pool.snapshot.file_of_unit[rows].tolist()):
            values[pool.files == file] = worth[pool.snapshot.file_of_unit[rows] == file].max()
    return Column(values, lambda row: f"defines {pool.plan.symbol}" if values[row] else "defines no name that was asked for")


def _worth(pool: CandidatePool, rows: Array) -> Array:
    flags, kinds = pool.snapshot.column("units.flags")[rows], pool.snapshot.kinds[rows]
    leading = (flags & TOP_LEVEL > 0) | _CONTAINER[kinds]
    return np.where(leading, 1.0, MEMBER)

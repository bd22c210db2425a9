"""How near it is in the graph."""

from __future__ import annotations

import numpy as np

from whence.ranking.ledger import Column
from whence.ranking.pool import CandidatePool
from whence.ranking.registry import signal

#: What is not reached counts as this much of the best.
FLOOR = 1e-3


@signal()
def walk(pool: CandidatePool) -> Column:
    """How often a walk from the best candidates along calls, types and containment comes by: the logarithm of its share of the most."""
    walked = pool.walked if pool.walked is not None else np.zeros(len(pool.units))
    values = 1 + np.log(FLOOR + walked) / -np.log(FLOOR)
    return Column(values, lambda row: f"{walked[row]:.1%} of the most visited" if walked[row] else "the walk does not come by")

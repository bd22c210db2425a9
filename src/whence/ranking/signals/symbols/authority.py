"""Central to what is asked for, or to everything."""

from __future__ import annotations

import numpy as np

from whence.graph.walk import score_adjustment
from whence.ranking.ledger import Column
from whence.ranking.pool import CandidatePool
from whence.ranking.registry import signal


@signal()
def authority(pool: CandidatePool) -> Column:
    """More for a seed that much leads to or that leads to much, less for what else much leads to (W4)."""
    found = pool.seeding
    if found is None:
        return Column(np.zeros(len(pool.units)), lambda _: "not worked out")
    values = score_adjustment(found.authority, found.hub, found.is_seed)
    return Column(values, lambda row: f"authority {found.authority[row]:.2f}, hub {found.hub[row]:.2f}")

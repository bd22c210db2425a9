"""Software commonly calls it so."""

from __future__ import annotations

import numpy as np

from whence.ranking.ledger import Column
from whence.ranking.pool import CONCEPTS, CandidatePool
from whence.ranking.registry import signal


@signal()
def concept(pool: CandidatePool) -> Column:
    """The weight of an equivalence class whose phrase the task holds and that lists its name (N3)."""
    values = np.nan_to_num(pool.retrieved.get(CONCEPTS, np.zeros(len(pool.units))))
    return Column(values, lambda row: "a usual name for it" if values[row] else "no usual name for it")

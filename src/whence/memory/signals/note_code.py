"""Notes about code that has changed."""

from __future__ import annotations

import numpy as np

from whence.memory.pool import NotePool
from whence.ranking.ledger import Column, Operation, Phase, signal


@signal(Phase.PENALTY, Operation.MULTIPLY)
def note_code(pool: NotePool) -> Column:
    """Notes: a factor for a note whose code has changed or is gone."""
    values = np.array([pool.changed_factor if change else 1.0 for change in pool.changes], np.float64)
    return Column(values, lambda row: pool.changes[row] or "its code is unchanged, or it is about none")

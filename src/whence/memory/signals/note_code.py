"""Notes about code that has changed since."""

from __future__ import annotations

import numpy as np

from whence.memory.pool import NotePool
from whence.ranking.ledger import Column, Operation
from whence.ranking.registry import Phase, signal


@signal(Phase.PENALTY, Operation.MULTIPLY)
def note_code(pool: NotePool) -> Column:
    """Notes: a factor for a note whose code has changed or is gone (M8)."""
    values = np.array([pool.changed_factor if facts.changed else 1.0 for facts in pool.facts], np.float64)
    return Column(values, lambda row: pool.facts[row].changed or "its code is as it was, or it speaks of none")

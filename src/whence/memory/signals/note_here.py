"""Notes of the project one is in."""

from __future__ import annotations

import numpy as np

from whence.memory.pool import NotePool
from whence.ranking.ledger import Column
from whence.ranking.registry import signal


@signal()
def note_here(pool: NotePool) -> Column:
    """Notes: whether the note belongs to the project of whoever asks."""
    values = np.array([bool(pool.here) and facts.project == pool.here for facts in pool.facts], np.float64)
    return Column(values, lambda row: f"of {pool.here}" if values[row] else "of another project" if pool.here else "asked from no project")

"""Notes of the current project."""

from __future__ import annotations

import numpy as np

from whence.memory.pool import NotePool
from whence.ranking.ledger import Column, signal


@signal()
def note_here(pool: NotePool) -> Column:
    """Notes: whether the note belongs to the project that the query comes from."""
    values = np.array([bool(pool.project) and facts.project == pool.project for facts in pool.facts], np.float64)
    other = "of another project" if pool.project else "the query comes from no project"
    return Column(values, lambda row: f"of {pool.project}" if values[row] else other)

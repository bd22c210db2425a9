"""How near a note lies in meaning."""

from __future__ import annotations

from whence.memory.pool import NotePool
from whence.ranking.fusion import standing
from whence.ranking.ledger import Column
from whence.ranking.registry import signal


@signal()
def note_meaning(pool: NotePool) -> Column:
    """Notes: similarity of the nearest passage to the question above chance, by the vectors of the model in use."""
    near = pool.nearness
    return Column(standing(pool.semantic), lambda row: f"similarity {near[row]:.2f} of its nearest passage")

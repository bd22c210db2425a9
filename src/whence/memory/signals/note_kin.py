"""Words that are like those of the question."""

from __future__ import annotations

from whence.memory.pool import NotePool
from whence.ranking.fusion import standing
from whence.ranking.ledger import Column
from whence.ranking.registry import signal


@signal()
def note_kin(pool: NotePool) -> Column:
    """Notes: the best passage by the words most like each word of the question, as the shipped model knows them."""
    raw = pool.text.kin
    return Column(standing(raw, pool.evidence.enough), lambda row: f"{raw[row]:.2f} by words that are alike")

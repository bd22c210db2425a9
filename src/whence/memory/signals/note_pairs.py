"""Adjacent words."""

from __future__ import annotations

from whence.memory.pool import NotePool
from whence.ranking.ledger import Column, signal
from whence.ranking.pool import share_of_best


@signal()
def note_pairs(pool: NotePool) -> Column:
    """Notes: pairs of words that are adjacent in the query and in the note."""
    raw = pool.text.pairs
    found = share_of_best(raw, pool.statistics.good_score)
    return Column(found, lambda row: f"{raw[row]:.2f} by adjacent words" if raw[row] else "no adjacent words")

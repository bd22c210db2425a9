"""The best passage by words."""

from __future__ import annotations

from whence.memory.pool import NotePool
from whence.ranking.ledger import Column, signal
from whence.ranking.pool import share_of_best


@signal()
def note_passage(pool: NotePool) -> Column:
    """Notes: BM25 of the best passage of 32 words."""
    raw = pool.text.passage
    return Column(share_of_best(raw, pool.statistics.good_score), lambda row: f"BM25 {raw[row]:.2f} in its best passage")

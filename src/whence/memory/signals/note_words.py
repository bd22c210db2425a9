"""The words of a note."""

from __future__ import annotations

from whence.memory.pool import NotePool
from whence.ranking.ledger import Column, signal
from whence.ranking.pool import share_of_best


@signal()
def note_words(pool: NotePool) -> Column:
    """Notes: BM25 of the whole note, with idf over all notes of the requested projects."""
    raw = pool.statistics.word_scores[pool.units]
    return Column(share_of_best(raw, pool.statistics.good_score), lambda row: f"BM25 {raw[row]:.2f}")

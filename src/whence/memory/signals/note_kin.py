"""Words similar to those of the query."""

from __future__ import annotations

from whence.memory.pool import NotePool
from whence.ranking.ledger import Column, signal
from whence.ranking.pool import share_of_best


@signal()
def note_kin(pool: NotePool) -> Column:
    """Notes: BM25 of the best passage, with words that the shipped model finds similar counting in part."""
    raw = pool.text.similar_words
    return Column(share_of_best(raw, pool.statistics.good_score), lambda row: f"{raw[row]:.2f} by similar words")

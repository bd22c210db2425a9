"""Words with a similar spelling."""

from __future__ import annotations

from whence.memory.pool import NotePool
from whence.ranking.ledger import Column, signal
from whence.ranking.pool import share_of_best


@signal()
def note_spelling(pool: NotePool) -> Column:
    """Notes: BM25 of character 4-grams, so that misspelt and compound words count in part."""
    raw = pool.text.spelling
    return Column(share_of_best(raw, pool.text.good_ngram_score), lambda row: f"BM25 {raw[row]:.2f} by character n-grams")

"""Words that are spelt like those of the question."""

from __future__ import annotations

from whence.memory.pool import NotePool
from whence.ranking.fusion import standing
from whence.ranking.ledger import Column
from whence.ranking.registry import signal


@signal()
def note_spelling(pool: NotePool) -> Column:
    """Notes: BM25 of runs of four letters: misspelt and compound words count in part."""
    raw = pool.text.spelling
    return Column(standing(raw, pool.text.enough_runs), lambda row: f"BM25 {raw[row]:.2f} by runs of letters")

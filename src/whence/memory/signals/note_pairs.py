"""Words that stand side by side."""

from __future__ import annotations

from whence.memory.pool import NotePool
from whence.ranking.fusion import standing
from whence.ranking.ledger import Column
from whence.ranking.registry import signal


@signal()
def note_pairs(pool: NotePool) -> Column:
    """Notes: words that stand side by side in the question and in the note."""
    raw = pool.text.pairs
    return Column(
        standing(raw, pool.evidence.enough),
        lambda row: f"{raw[row]:.2f} by words side by side" if raw[row] else "no two words side by side",
    )

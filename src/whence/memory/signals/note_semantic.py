"""The semantic score of the classic profile."""

from __future__ import annotations

from whence.memory.pool import NotePool
from whence.ranking.ledger import Column, signal


@signal()
def note_semantic(pool: NotePool) -> Column:
    """Notes: the similarity of the nearest passage above chance, from 0 to 1."""
    values = pool.semantic
    return Column(values, lambda row: f"similarity {pool.similarity[row]:.2f}" if values[row] else "not found by vectors")

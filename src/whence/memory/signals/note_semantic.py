"""The semantic score of the rule M3."""

from __future__ import annotations

from whence.memory.pool import NotePool
from whence.ranking.ledger import Column
from whence.ranking.registry import signal


@signal()
def note_semantic(pool: NotePool) -> Column:
    """Notes: the semantic score, from 0 where likeness is no more than chance to 1 (M3)."""
    values = pool.semantic
    return Column(values, lambda row: f"similarity {pool.nearness[row]:.2f}" if values[row] else "not found by vectors")

"""Similarity in meaning."""

from __future__ import annotations

from whence.memory.pool import NotePool
from whence.ranking.ledger import Column, signal
from whence.ranking.pool import share_of_best


@signal()
def note_meaning(pool: NotePool) -> Column:
    """Notes: how similar the nearest passage is to the query, above chance, by the vectors of the model in use."""
    return Column(share_of_best(pool.semantic), lambda row: f"similarity {pool.similarity[row]:.2f} of its nearest passage")

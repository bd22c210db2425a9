"""Similarity in meaning."""

from __future__ import annotations

from whence.memory.pool import NotePool
from whence.ranking.columns import share_of_best
from whence.ranking.ledger import Column
from whence.ranking.scoring import signal


@signal()
def note_meaning(pool: NotePool) -> Column:
    """Notes: how similar the nearest passage is to the query, above chance, by the vectors of the model in use."""
    return Column(share_of_best(pool.semantic), lambda row: f"similarity {pool.similarity[row]:.2f} of its nearest passage")

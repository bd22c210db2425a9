"""The times that are asked for."""

from __future__ import annotations

from whence.memory.pool import NotePool
from whence.ranking.ledger import Column
from whence.ranking.registry import signal


@signal()
def note_when(pool: NotePool) -> Column:
    """Notes: how well the day of the note, or a time that its text speaks of, fits the times in the question."""
    values = pool.evidence.when(pool.units)
    asked = bool(pool.plan.spans)
    return Column(values, lambda row: f"{values[row]:.0%} of the time asked for" if asked else "no time is asked for")

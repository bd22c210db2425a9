"""The times in the query."""

from __future__ import annotations

from whence.memory.pool import NotePool
from whence.ranking.ledger import Column, signal


@signal()
def note_when(pool: NotePool) -> Column:
    """Notes: how well the note's date, or a date in its text, matches the times in the query."""
    values = pool.statistics.time_match(pool.units)
    dated = bool(pool.plan.spans)
    return Column(values, lambda row: f"matches the time by {values[row]:.0%}" if dated else "the query names no time")

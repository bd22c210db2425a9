"""What a recall gives back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from whence.memory.note import Note
from whence.memory.recall import RankedNotes, label_of
from whence.ranking.ledger import LedgerLine

#: Said before a list in which nothing was found by meaning (M5).
LOW_CONFIDENCE = "low confidence: these notes only share words with the question"


@dataclass(frozen=True)
class RecalledNote:
    """A note of an answer: its score and why, how it was found, and whether it still holds."""

    note: Note
    score: float
    label: str  # exact, keyword-only, semantic, dated or faint
    semantic: float  # from 0, where vectors find nothing, to 1
    distance: float | None  # 1 - similarity of the nearest passage; None where vectors did not find it
    changed: str = ""  # what has become of the code it speaks of, if that is not as it was
    alike: tuple[str, ...] = ()  # keys of notes that say nearly the same and are not shown
    _ranked: RankedNotes | None = field(default=None, repr=False, compare=False)
    _row: int = field(default=0, repr=False, compare=False)

    @property
    def category(self) -> str:
        """The part of the answer that it belongs to."""
        return self.note.category

    @cached_property
    def why(self) -> list[LedgerLine]:
        """The ledger whose sum is the score."""
        return self._ranked.ledger.lines(self._row) if self._ranked is not None else []


def recalled(ranked: RankedNotes, row: int, note: Note) -> RecalledNote:
    """A candidate of an answer with the note it is."""
    pool = ranked.pool
    near = float(pool.semantic[row])
    return RecalledNote(
        note,
        float(ranked.scores[row]),
        label_of(pool, row),
        near,
        1 - float(pool.nearness[row]) if near > 0 else None,
        pool.facts[row].changed,
        tuple(pool.facts[other].key for other in ranked.alike.get(row, ())),
        ranked,
        row,
    )


def is_low_confidence(found: Sequence[RecalledNote]) -> bool:
    """Whether nothing in an answer was found by meaning."""
    return bool(found) and all(one.semantic == 0 for one in found)

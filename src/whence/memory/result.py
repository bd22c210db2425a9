"""What a recall returns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from whence.memory.note import Note
from whence.ranking.ledger import Ledger, LedgerLine

#: Printed above an answer in which nothing was found by meaning.
LOW_CONFIDENCE = "low confidence: these notes only share words with the question"


@dataclass(frozen=True)
class RecalledNote:
    """A note of an answer: its score and why, how it was found, and whether its code has changed."""

    note: Note
    score: float
    label: str  # exact, keyword-only, semantic, dated or faint
    semantic: float  # from 0, where vectors find nothing, to 1
    distance: float | None  # 1 - similarity of the nearest passage; None where vectors did not find it
    changed: str = ""  # what has become of the code it is about; empty where that is unchanged
    alike: tuple[str, ...] = ()  # keys of near-duplicates that are not listed
    _ledger: Ledger | None = field(default=None, repr=False, compare=False)
    _row: int = field(default=0, repr=False, compare=False)

    @property
    def category(self) -> str:
        """The category it is listed under."""
        return self.note.category

    @cached_property
    def why(self) -> list[LedgerLine]:
        """The ledger, whose sum is the score."""
        return self._ledger.lines(self._row) if self._ledger is not None else []


class RecallResponse(list[RecalledNote]):
    """The notes that answer a request, by category and then best first, with facts about the whole answer."""

    def __init__(self, notes: Iterable[RecalledNote] = (), *, words: Sequence[str] = (), searched: int = 0, remark: str = "") -> None:
        super().__init__(notes)
        self.words = tuple(words)  # of the query, to choose and mark lines by
        self.searched = searched  # how many notes could have been in the answer
        self.remark = remark  # how the question was found in pasted text

    @property
    def is_low_confidence(self) -> bool:
        """Whether nothing was found by meaning."""
        return bool(self) and all(one.semantic == 0 for one in self)

    def filtered(self, keep: Callable[[RecalledNote], bool]) -> RecallResponse:
        """The same response with some of its notes."""
        return RecallResponse(filter(keep, self), words=self.words, searched=self.searched, remark=self.remark)

"""The ledger: every contribution to every score. A score is nothing but the fold of its ledger."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np

from whence.storage.arrayfile import Array


class Operation(Enum):
    """How a contribution enters the score."""

    ADD = "+"
    MULTIPLY = "x"

    def changes(self, contribution: float) -> bool:
        """Whether a contribution changes a score within four decimals."""
        return round(contribution, 4) != (1.0 if self is Operation.MULTIPLY else 0.0)


@dataclass(frozen=True, slots=True)
class Column:
    """A signal's value for every candidate, and its reason in words for one."""

    values: Array
    because: Callable[[int], str]


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """One signal's contributions to the whole pool."""

    signal: str
    phase: str
    operation: Operation
    weight: float
    column: Column
    contribution: Array


@dataclass(frozen=True, slots=True)
class LedgerLine:
    """One signal's contribution to one candidate."""

    signal: str
    phase: str
    operation: str
    value: float
    weight: float
    contribution: float
    because: str

    @property
    def is_visible(self) -> bool:
        """Whether it changes the score within four decimals."""
        return Operation(self.operation).changes(self.contribution)


@dataclass(frozen=True, slots=True)
class Ledger:
    """All entries, in the order in which they enter the score."""

    size: int
    entries: tuple[LedgerEntry, ...] = ()

    def scores(self) -> Array:
        """The score of each candidate."""
        return fold(self.size, self.entries)

    def lines(self, row: int) -> list[LedgerLine]:
        """The lines of one candidate."""
        return [
            LedgerLine(
                entry.signal,
                entry.phase,
                entry.operation.value,
                float(entry.column.values[row]),
                entry.weight,
                float(entry.contribution[row]),
                entry.column.because(row),
            )
            for entry in self.entries
        ]

    def with_entries(self, entries: Sequence[LedgerEntry]) -> Ledger:
        """The ledger with more entries."""
        return Ledger(self.size, (*self.entries, *entries))


def fold(size: int, entries: Sequence[LedgerEntry]) -> Array:
    """The scores: contributions added and multiplied in order, from zero."""
    scores = np.zeros(size)
    for entry in entries:
        if entry.operation is Operation.ADD:
            scores += entry.contribution
        else:
            scores *= entry.contribution
    return scores

"""The ledger: every contribution to every score. There is no score beside it."""

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

    def tells(self, contribution: float) -> bool:
        """Whether a contribution changes a score, as far as can be seen in four places."""
        return round(contribution, 4) != (1.0 if self is Operation.MULTIPLY else 0.0)


@dataclass(frozen=True, slots=True)
class Column:
    """What a signal says of every candidate, and how to put it in words for one."""

    values: Array
    because: Callable[[int], str]


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """One signal's line in the ledger, over the whole pool."""

    signal: str
    phase: str
    operation: Operation
    weight: float
    column: Column
    contribution: Array


@dataclass(frozen=True, slots=True)
class LedgerLine:
    """One signal's line for one candidate."""

    signal: str
    phase: str
    operation: str
    value: float
    weight: float
    contribution: float
    because: str

    @property
    def tells(self) -> bool:
        """Whether it changes the score, as far as can be seen in four places."""
        return Operation(self.operation).tells(self.contribution)


@dataclass(frozen=True, slots=True)
class Ledger:
    """All lines, in the order in which they enter the score."""

    size: int
    entries: tuple[LedgerEntry, ...] = ()

    def scores(self) -> Array:
        """Fold the ledger."""
        return fold(self.size, self.entries)

    def lines(self, row: int) -> list[LedgerLine]:
        """The ledger of one candidate."""
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
        """The ledger with more lines."""
        return Ledger(self.size, (*self.entries, *entries))


def fold(size: int, entries: Sequence[LedgerEntry]) -> Array:
    """The score: contributions added and multiplied in order, from zero."""
    scores = np.zeros(size)
    for entry in entries:
        if entry.operation is Operation.ADD:
            scores += entry.contribution
        else:
            scores *= entry.contribution
    return scores

"""Signals, and the ledger they fill: every contribution to every score. A score is nothing but the fold of its ledger.

A signal is one decorated function, in the file of its name (`PACKAGES`) or, for notes, in `NOTES`; its docstring is its
documentation (docs/signals.md).
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, IntEnum
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from whence.core.errors import SettingError
from whence.core.profiles import Profile, Weight
from whence.core.trace import Trace
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
    value: float  # the signal's value for this candidate, before its weight
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


def fold(size: int, entries: Sequence[LedgerEntry]) -> Array:
    """The scores: contributions added and multiplied in order, from zero."""
    scores = np.zeros(size)
    for entry in entries:
        if entry.operation is Operation.ADD:
            scores += entry.contribution
        else:
            scores *= entry.contribution
    return scores


#: Computes a signal over a pool of files and symbols, or of notes.
Score = Callable[[Any], Column]
PACKAGES = ("whence.ranking.signals.files", "whence.ranking.signals.symbols")
#: The module and the prefix of signals that rank notes.
NOTES, OF_NOTES = "whence.memory.signals", "note_"


class Phase(IntEnum):
    """When a signal is computed. Signals of one phase see the same frozen scores."""

    MATCH = 0
    PENALTY = 1
    STEM = 2
    DEFINITION = 3
    RERANK = 4  # only after a second look; later phases are then computed again
    COHERENCE = 5


@dataclass(frozen=True, slots=True)
class Signal:
    """One reason to rank a candidate higher or lower."""

    name: str
    doc: str
    phase: Phase
    operation: Operation
    relative: bool  # its value is a share of the best score so far
    score: Score


_signals: dict[str, Signal] = {}


def signal(phase: Phase = Phase.MATCH, operation: Operation = Operation.ADD, *, relative: bool = False) -> Callable[[Score], Score]:
    """Register a function as the signal of its name."""

    def register(score: Score) -> Score:
        doc = " ".join((score.__doc__ or "").split())
        _signals[score.__name__] = Signal(score.__name__, doc, phase, operation, relative, score)
        return score

    return register


@cache
def signal_named(name: str) -> Signal:
    """A signal, loaded from its file on first use."""
    if name in _packages():
        import_module(f"{_packages()[name]}.{name}")
    elif name.startswith(OF_NOTES):
        import_module(NOTES)
    if name not in _signals:
        raise SettingError(f"there is no signal {name!r}", hint="see docs/signals.md")
    return _signals[name]


def signal_names() -> list[str]:
    """The names of all signals, in order."""
    import_module(NOTES)
    return sorted([*_packages(), *(name for name in _signals if name.startswith(OF_NOTES))])


@cache
def _packages() -> dict[str, str]:
    rooms = Path(__file__).parents[1]
    folders = {package: rooms.joinpath(*package.split(".")[1:]) for package in PACKAGES}
    return {module.name: package for package, folder in folders.items() for module in pkgutil.iter_modules([str(folder)])}


class Pool(Protocol):
    """What scoring needs of a pool of files and symbols, or of notes."""

    @property
    def units(self) -> Array:
        """The candidates."""

    @property
    def scores(self) -> Array:
        """Their scores after the earlier phases."""

    @property
    def profile(self) -> Profile:
        """The weights."""

    @property
    def mix(self) -> float:
        """Where the query lies between the two weights of each signal, 0..1."""

    @property
    def second_look(self) -> Any:
        """What a second look found; None before it, or without one."""

    def with_scores(self, scores: Array) -> Any:
        """The pool of the next phase."""


def score(pool: Pool, signals: Mapping[str, Weight] | None = None, *, leave_out: str = "", before: Ledger | None = None) -> Ledger:
    """The ledger of a pool: every signal with a weight, except one that is left out.

    `signals` replaces those of the profile, for a first pass over the candidates. `before` is the ledger before a second look.
    """
    chosen = pool.profile.signals if signals is None else signals
    weights = {name: weight.at_length(pool.mix) for name, weight in chosen.items()}
    used = [signal_named(name) for name, weight in weights.items() if weight and name != leave_out]
    known = () if before is None else tuple(one for one in before.entries if Phase[one.phase.upper()] < Phase.RERANK)
    ledger = Ledger(len(pool.units), known)
    for phase in sorted({one.phase for one in used}):
        if (before is not None and phase < Phase.RERANK) or (phase is Phase.RERANK and pool.second_look is None):
            continue
        pool = frozen = pool.with_scores(ledger.scores())
        ledger = Ledger(ledger.size, (*ledger.entries, *(_entry(one, frozen, weights[one.name]) for one in used if one.phase is phase)))
    return ledger


def _entry(one: Signal, pool: Pool, weight: float) -> LedgerEntry:
    column = one.score(pool)
    values = np.asarray(column.values, np.float64)
    scale = float(np.nanmax(pool.scores, initial=0.0)) if one.relative else 1.0
    contribution = values**weight if one.operation is Operation.MULTIPLY else values * (weight * scale)
    return LedgerEntry(one.name, one.phase.name.lower(), one.operation, weight, column, contribution)


#: Where a candidate is: (path, line).
Locate = Callable[[int], tuple[str, int]]


def trace_ranking(trace: Trace, query: str, retrieved: Mapping[str, Array], ledger: Ledger, locate: Locate) -> None:
    """Write what each retriever found, and the candidates after each signal (E2)."""
    for name, scores in retrieved.items():
        trace.stage(f"retrieved by {name}", query, _ranking(scores, locate))
    for number, entry in enumerate(ledger.entries, 1):
        after = fold(ledger.size, ledger.entries[:number])
        trace.stage(f"after {entry.signal}", query, _ranking(after, locate), weight=entry.weight)


def _ranking(scores: Array, locate: Locate) -> list[tuple[str, int, float]]:
    known = np.flatnonzero(np.isfinite(scores))
    order = known[np.argsort(-scores[known], kind="stable")]
    return [(*locate(row), float(scores[row])) for row in order.tolist()]

"""The stages of a ranking, written to a trace: what each retriever found, and the pool after each signal (E2)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np

from whence.core.profiles import Profile, Weight
from whence.core.trace import Trace
from whence.ranking.ledger import Ledger, LedgerEntry, Operation, fold
from whence.ranking.pool import CandidatePool
from whence.ranking.registry import Signal, signal_named
from whence.storage.arrayfile import Array

#: Where a candidate is: (path, line).
Place = Callable[[int], tuple[str, int]]


def trace_ranking(trace: Trace, pool: CandidatePool, ledger: Ledger) -> None:
    """Write what led to the scores of a pool."""
    write_stages(trace, pool.plan.text, pool.retrieved, ledger, lambda row: place(pool, row))


def write_stages(trace: Trace, query: str, retrieved: Mapping[str, Array], ledger: Ledger, place_of: Place) -> None:
    """Write what each retriever found, and the candidates after each signal."""
    for name, scores in retrieved.items():
        trace.stage(f"retrieved by {name}", query, _best(scores, place_of))
    for number, entry in enumerate(ledger.entries, 1):
        after = fold(ledger.size, ledger.entries[:number])
        trace.stage(f"after {entry.signal}", query, _best(after, place_of), weight=entry.weight)


def _best(scores: Array, place_of: Place) -> list[tuple[str, int, float]]:
    known = np.flatnonzero(np.isfinite(scores))
    order = known[np.argsort(-scores[known], kind="stable")]
    return [(*place_of(row), float(scores[row])) for row in order.tolist()]


def place(pool: CandidatePool, row: int) -> tuple[str, int]:
    """Where a candidate is: (path, line)."""
    return pool.path(row), int(pool.snapshot.column("units.first")[pool.units[row]])


class Ranks(Protocol):
    """A pool, as far as ranking knows one: of files and symbols, or of notes."""

    @property
    def units(self) -> Array:
        """The candidates."""

    @property
    def scores(self) -> Array:
        """What the phases before have made of them."""

    @property
    def profile(self) -> Profile:
        """The weights."""

    @property
    def plan(self) -> Any:
        """The question, which has a length."""

    def with_scores(self, scores: Array) -> Any:
        """The pool of the next phase."""


def score(pool: Ranks, signals: Mapping[str, Weight] | None = None, *, leave_out: str = "") -> Ledger:
    """The ledger of a pool: every signal that has a weight (but one that is left out), in the order of phases.

    `signals` takes the place of the profile's, for a first look at the candidates.
    """
    chosen = pool.profile.signals if signals is None else signals
    weights = {name: weight.at_length(pool.plan.length) for name, weight in chosen.items()}
    used = [signal_named(name) for name, weight in weights.items() if weight and name != leave_out]
    ledger = Ledger(len(pool.units))
    for phase in sorted({one.phase for one in used}):
        frozen = pool.with_scores(ledger.scores())
        pool = frozen
        ledger = ledger.with_entries([_entry(one, frozen, weights[one.name]) for one in used if one.phase is phase])
    return ledger


def _entry(one: Signal, pool: Ranks, weight: float) -> LedgerEntry:
    column = one.score(pool)
    return LedgerEntry(one.name, one.phase.name.lower(), one.operation, weight, column, _contribution(one, pool, weight, column.values))


def _contribution(one: Signal, pool: Ranks, weight: float, values: Array) -> Array:
    if one.operation is Operation.MULTIPLY:
        return np.asarray(values, np.float64) ** weight
    scale = float(np.nanmax(pool.scores, initial=0.0)) if one.relative else 1.0
    return np.asarray(values, np.float64) * (weight * scale)

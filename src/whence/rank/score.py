"""Run the signals of a profile over a pool, phase by phase."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from whence.index.arrayfile import Array
from whence.profiles import Profile, Weight
from whence.rank.ledger import Entry, Ledger, Operation
from whence.rank.registry import Signal, signal_named


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
    weights = {name: weight.at(pool.plan.length) for name, weight in chosen.items()}
    used = [signal_named(name) for name, weight in weights.items() if weight and name != leave_out]
    ledger = Ledger(len(pool.units))
    for phase in sorted({one.phase for one in used}):
        frozen = pool.with_scores(ledger.scores())
        pool = frozen
        ledger = ledger.with_entries([_entry(one, frozen, weights[one.name]) for one in used if one.phase is phase])
    return ledger


def _entry(one: Signal, pool: Ranks, weight: float) -> Entry:
    column = one.score(pool)
    return Entry(one.name, one.phase.name.lower(), one.operation, weight, column, _contribution(one, pool, weight, column.values))


def _contribution(one: Signal, pool: Ranks, weight: float, values: Array) -> Array:
    if one.operation is Operation.MULTIPLY:
        return np.asarray(values, np.float64) ** weight
    scale = float(np.nanmax(pool.scores, initial=0.0)) if one.relative else 1.0
    return np.asarray(values, np.float64) * (weight * scale)

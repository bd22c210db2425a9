"""Run the signals of a profile over a pool, phase by phase."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from whence.fuse.pool import Pool
from whence.index.arrayfile import Array
from whence.profiles import Weight
from whence.rank.ledger import Entry, Ledger, Operation
from whence.rank.registry import Signal, signal_named


def score(pool: Pool, signals: Mapping[str, Weight] | None = None, *, leave_out: str = "") -> Ledger:
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


def _entry(one: Signal, pool: Pool, weight: float) -> Entry:
    column = one.score(pool)
    return Entry(one.name, one.phase.name.lower(), one.operation, weight, column, _contribution(one, pool, weight, column.values))


def _contribution(one: Signal, pool: Pool, weight: float, values: Array) -> Array:
    if one.operation is Operation.MULTIPLY:
        return np.asarray(values, np.float64) ** weight
    scale = float(np.nanmax(pool.scores, initial=0.0)) if one.relative else 1.0
    return np.asarray(values, np.float64) * (weight * scale)

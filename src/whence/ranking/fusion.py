"""Scores of one retriever made comparable with another's: by their range, or by their rank (F2)."""

from __future__ import annotations

import numpy as np

from whence.core.profiles import RRF
from whence.storage.arrayfile import Array

#: Added to every rank: the higher it is, the less the first places stand out.
RANK_OFFSET = 60


def scaled(scores: Array, how: str) -> Array:
    """Scores of one side's candidates on a common scale; 0 for what it did not find (not a number)."""
    found = np.flatnonzero(np.isfinite(scores))
    values = np.zeros(len(scores))
    if len(found):
        values[found] = _by_rank(scores[found]) if how == RRF else _by_range(scores[found])
    return values


def _by_range(scores: Array) -> Array:
    """From 0 for the lowest to 1 for the highest; one score, or equal ones, are 1."""
    low, high = float(scores.min()), float(scores.max())
    return (scores - low) / (high - low) if high > low else np.ones(len(scores))


def _by_rank(scores: Array) -> Array:
    """1 / (60 + rank + 1), the rank counted from 0; equal scores share the better rank."""
    ordered = np.sort(-scores)
    return 1 / (RANK_OFFSET + np.searchsorted(ordered, -scores) + 1)


#: How slowly the places after the first lose worth.
PLACES = 6


def standing(scores: Array, enough: float = 0.0) -> Array:
    """The share of the highest score, and 6 / (6 + place) beside: how much less than the best, and after how many.

    Scores are not spread from 0 to 1 here: of two notes that fit nearly alike neither is made out to be far better.
    Where even the best has less than would be `enough`, all stand lower: sharing common words is no great thing.
    """
    best = float(scores.max(initial=0.0))
    if best <= 0:
        return np.zeros(len(scores))
    place = np.searchsorted(np.sort(-scores), -scores)
    whole = best / enough if enough > best else 1.0
    return np.where(scores > 0, whole * (np.maximum(scores, 0) / best + PLACES / (PLACES + place)), 0.0)

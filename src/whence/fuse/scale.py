"""Scores of one retriever made comparable with another's: by their range, or by their rank (F2)."""

from __future__ import annotations

import numpy as np

from whence.index.arrayfile import Array
from whence.profiles import RRF

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


def standing(scores: Array) -> Array:
    """From 0 for the lowest to 1 for the highest, and 6 / (6 + place) beside: how much better, and before how many.

    One score, or equal ones, stand as high as can be (F2); where all are 0, none does.
    """
    if not len(scores) or not np.any(scores):
        return np.zeros(len(scores))
    place = np.searchsorted(np.sort(-scores), -scores)
    return _by_range(scores) + PLACES / (PLACES + place)

"""Candidates by words: the best units, and the files with the best windows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from whence.retrieval.term_statistics import TermStatistics
from whence.storage.arrayfile import Array
from whence.storage.rows import best_first, first_of_each, highest, ranges

#: A file's mass is the sum of its best windows, each later one counting less.
BEST_WINDOWS = 10
WINDOW_DECAY = 0.8


def best_units(statistics: TermStatistics, count: int, allowed: Array | None) -> tuple[Array, Array]:
    """The units with the highest lexical score: (units, scores)."""
    return top(statistics.unit_scores, count, allowed, statistics.snapshot.unit_order)


def best_windows(statistics: TermStatistics, count: int, allowed_files: Array | None) -> tuple[Array, Array]:
    """The files with the best single window: (files, scores)."""
    starts = statistics.snapshot.window_starts
    if statistics.snapshot.files == 0 or statistics.snapshot.windows == 0:
        return np.empty(0, np.int64), np.empty(0, np.float32)
    best = np.maximum.reduceat(statistics.window_scores, starts[:-1])
    return top(best, count, allowed_files, statistics.snapshot.file_order)


def mass(statistics: TermStatistics, files: Array) -> Array:
    """How much of each file is about the query: its ten best windows, decayed."""
    owner, window = ranges(statistics.snapshot.window_starts, files)
    scores = statistics.window_scores[window]
    hit = scores > 0
    owner, scores = owner[hit], scores[hit]
    owner, scores, rank = best_first(owner, scores)
    kept = rank < BEST_WINDOWS
    return np.bincount(owner[kept], weights=scores[kept] * WINDOW_DECAY ** rank[kept], minlength=len(files))


def best_unit_of(statistics: TermStatistics, files: Array) -> Array:
    """The unit of each file with the best lexical score; its first where no unit has one."""
    if not len(files):
        return np.empty(0, np.int64)
    owner, unit = ranges(statistics.snapshot.unit_starts, files)
    scores = statistics.unit_scores[unit]
    best = np.maximum.reduceat(scores, np.searchsorted(owner, np.arange(len(files))))
    leading = np.flatnonzero(scores == best[owner])
    first = leading[first_of_each(owner[leading])]
    return unit[first]


def top(scores: Array, count: int, allowed: Array | None, places: Callable[[Array], Array] | None) -> tuple[Array, Array]:
    """The rows with the highest scores above zero, best first."""
    rows = np.flatnonzero(scores > 0) if allowed is None else np.flatnonzero((scores > 0) & allowed)
    return highest(rows, scores[rows], count, places)

"""Candidates by words: where the terms of a query occur and how rare they are, the best units, and the files with the best windows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from whence.core.profiles import ColumnWeights, Profile
from whence.core.types import DocumentFrequency
from whence.index.segment import FIELDS, IN_DIRECTORY, IN_STEM, LEVELS, SHIFTS
from whence.index.snapshot import Snapshot
from whence.query.plan import QueryPlan, QueryTerm
from whence.storage.arrayfile import Array
from whence.storage.postings import best_first, distinct, first_of_each, highest, is_member, ranges, values_at
from whence.text.bm25 import idf

#: Occurrences by the level that a window stores: the highest means three or more.
COUNT_WORTH = (0.0, 1.0, 2.0, 4.0)


class TermPostings:
    """Where one term of the query occurs."""

    def __init__(self, snapshot: Snapshot, term: QueryTerm) -> None:
        self.term = term
        self._snapshot = snapshot
        self._rows = snapshot.find_term(term.text)

    @cached_property
    def units(self) -> tuple[Array, Array]:
        """The units that hold it, and their codes."""
        return self._snapshot.unit_postings(self._rows)

    @cached_property
    def windows(self) -> tuple[Array, Array]:
        """The windows that hold it, and how often."""
        return self._snapshot.window_postings(self._rows)

    @cached_property
    def paths(self) -> tuple[Array, Array]:
        """The files whose path holds it, and where."""
        return self._snapshot.path_postings(self._rows)

    @cached_property
    def files(self) -> Array:
        """The files whose text holds it, sorted."""
        owners = self._snapshot.file_of_unit[self.units[0]]
        return owners[first_of_each(owners)]

    @property
    def is_known(self) -> bool:
        """Whether any unit or path holds it."""
        return bool(len(self.units[0]) or len(self.paths[0]))

    @cached_property
    def _known(self) -> DocumentFrequency | None:
        """How many hold it in the whole corpus, where only a part of it is here."""
        return self._snapshot.term_counts(self.term.text)

    @property
    def holders(self) -> int:
        """In how many files' text it occurs."""
        return len(self.files) if self._known is None else max(self._known.files, len(self.files))

    @cached_property
    def unit_idf(self) -> float:
        """Its idf over units."""
        return idf(self._snapshot.live_units, len(self.units[0]) if self._known is None else self._known.units)

    @property
    def unit_weight(self) -> float:
        """Its idf over units, times its weight in the query."""
        return self.term.weight * self.unit_idf

    @cached_property
    def window_idf(self) -> float:
        """Its idf over windows."""
        return idf(self._snapshot.live_windows, len(self.windows[0]) if self._known is None else self._known.windows)

    @cached_property
    def file_idf(self) -> float:
        """Its idf over files, by text and path."""
        if self._known is not None:
            return idf(self._snapshot.live_files, self._known.files)
        by_path_alone = int((~is_member(self.paths[0], self.files)).sum())
        return idf(self._snapshot.live_files, len(self.files) + by_path_alone)


class RowCache:
    """One value for each row, computed on first use."""

    def __init__(self, size: int, compute: Callable[[Array], Array], kind: type = np.float64) -> None:
        self._compute = compute
        self._values: Array = np.zeros(size, kind)
        self._known = np.zeros(size, bool)

    def at(self, rows: Array) -> Array:
        """The value of each row; rows may repeat."""
        missing = rows[~self._known[rows]]
        if len(missing):
            missing = distinct(missing)
            self._values[missing], self._known[missing] = self._compute(missing), True
        return self._values[rows]


@dataclass(frozen=True, slots=True)
class FieldWeights:
    """The weight of every posting code under a profile, as one table."""

    worth: Array  # of each code, before saturation
    saturated: Array  # worth / (worth + k1)

    @classmethod
    def of(cls, profile: Profile) -> FieldWeights:
        """The table of a profile; cached."""
        return _weight_table(profile.fields)


@lru_cache(maxsize=32)
def _weight_table(fields: ColumnWeights) -> FieldWeights:
    worth = np.zeros(1 << 16, np.float32)
    code = np.arange(1 << 16)
    for field, levels, shift in zip(FIELDS, LEVELS, SHIFTS, strict=True):
        worth += np.float32(getattr(fields, field)) * levels[code >> shift & (len(levels) - 1)]
    return FieldWeights(worth, (worth / (worth + np.float32(fields.saturation))).astype(np.float32))


class TermStatistics:
    """Postings and lexical scores of a query's terms over one snapshot."""

    def __init__(self, snapshot: Snapshot, plan: QueryPlan, profile: Profile, weights: FieldWeights) -> None:
        self.snapshot = snapshot
        self.plan = plan
        self.profile = profile
        self.weights = weights
        self.terms = [TermPostings(snapshot, term) for term in plan.terms]
        self._matrix = np.empty(0, np.int64), np.empty((len(self.terms), 0), np.float32)  # of the units last read

    @cached_property
    def unit_scores(self) -> Array:
        """BM25 of every unit over its weighted fields."""
        scores = np.zeros(self.snapshot.units, np.float32)
        for postings in self.terms:
            rows, codes = postings.units
            if len(rows):
                scores[rows] += np.float32(postings.unit_weight) * self.weights.saturated[codes]
        return scores

    @cached_property
    def window_scores(self) -> Array:
        """BM25 of every window."""
        scores = np.zeros(self.snapshot.windows, np.float32)
        table = np.array(COUNT_WORTH, np.float32)
        table = table / (table + np.float32(self.profile.fields.window_saturation))
        for postings in self.terms:
            rows, counts = postings.windows
            if len(rows):
                scores[rows] += np.float32(postings.term.weight * postings.window_idf) * table[counts]
        return scores

    @cached_property
    def close_files(self) -> list[Array]:
        """For each pair of neighbouring terms that both occur: the files with a window that holds both."""
        ends = self.snapshot.window_starts[1:]
        close = []
        for one, other in zip(self.terms, self.terms[1:], strict=False):
            if len(one.windows[0]) and len(other.windows[0]):
                few, many = sorted((one.windows[0], other.windows[0]), key=len)
                files = np.searchsorted(ends, few[is_member(few, many)], side="right")
                close.append(files[first_of_each(files)])
        return close

    def unit_matrix(self, units: Array) -> Array:
        """The weight of each term in each of some units (sorted), including what the file's path adds: (terms, units)."""
        known, matrix = self._matrix
        if not is_member(known, units).all():
            known, matrix = units[:0], matrix[:, :0]
        fresh = ~is_member(units, known)
        whole = np.empty((len(self.terms), len(units)), np.float32)
        whole[:, ~fresh], whole[:, fresh] = matrix, self._term_weights(units[fresh])
        self._matrix = units, whole
        return whole

    def _term_weights(self, units: Array) -> Array:
        owners = self.snapshot.file_of_unit[units]
        new = first_of_each(owners)  # units in rising order lie file by file
        files, owner = owners[new], np.repeat(np.arange(len(new)), np.diff(new, append=len(units)))
        fields, place = self.profile.fields, np.arange(IN_STEM + IN_DIRECTORY + 1)
        bonus = (fields.stem * ((place & IN_STEM) > 0) + fields.directory * ((place & IN_DIRECTORY) > 0)).astype(np.float32)
        matrix = np.zeros((len(self.terms), len(units)), np.float32)
        for number, postings in enumerate(self.terms):
            matrix[number] = values_at(units, *postings.units, self.weights.worth)
            path_files, places = postings.paths
            if len(path_files):
                matrix[number] += values_at(files, path_files, places, bonus)[owner]
        return matrix

    def holds(self, files: Array) -> Array:
        """Whether the text of each file holds each term: (terms, files)."""
        held = np.zeros((len(self.terms), len(files)), bool)
        for number, postings in enumerate(self.terms):
            held[number] = is_member(files, postings.files)
        return held


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

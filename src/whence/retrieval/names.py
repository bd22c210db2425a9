"""How the words of a query match the names of units and the text of types."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from whence.retrieval.files import name_strengths
from whence.retrieval.lexical import RowCache, TermStatistics
from whence.storage.arrayfile import Array
from whence.storage.postings import distinct, first_of_each, ranges


class NameMatch:
    """Matches between the parts of a query and the parts of all names."""

    def __init__(self, statistics: TermStatistics) -> None:
        self.statistics = statistics
        self.parts = statistics.snapshot.name_parts
        self.query = statistics.plan.parts
        # The two passes over a task's candidates read nearly the same units.
        self._precision = RowCache(statistics.snapshot.units, self._compute_precision)
        self._recall = RowCache(statistics.snapshot.units, self._compute_recall)

    @cached_property
    def _matched(self) -> Array:
        """The parts of names that match any part of the query, sorted."""
        return distinct(np.concatenate([np.empty(0, np.int64), *(rows for rows, _ in self._matches)]))

    @cached_property
    def _matches(self) -> list[tuple[Array, Array]]:
        """For each part of the query: the parts of names that match it, and how well."""
        return [name_strengths(part, self.parts.names, self.parts.known) for part in self.query]

    @cached_property
    def _strength(self) -> Array:
        """How well each part of the query matches each of `_matched`: (query, matched)."""
        strength = np.zeros((len(self.query), len(self._matched)), np.float32)
        for number, (rows, strengths) in enumerate(self._matches):
            strength[number, np.searchsorted(self._matched, rows)] = strengths
        return strength

    @cached_property
    def weights(self) -> Array:
        """The weight of each part of the query: by its position and its idf."""
        known = {postings.term.text: postings for postings in self.statistics.terms}
        rarest = max((postings.unit_idf for postings in known.values()), default=1.0)
        return np.array([part.weight * (known[part.stem].unit_idf if part.stem in known else rarest) for part in self.query])

    def precision(self, units: Array) -> Array:
        """The share of each unit's name, and of its type's, that the query matches; rare parts count more."""
        return self._precision.at(units)

    def recall(self, units: Array) -> Array:
        """The share of the query that each unit's name, or its type's, matches."""
        return self._recall.at(units)

    def _compute_precision(self, units: Array) -> Array:
        best = np.zeros(len(self.parts.names), np.float32)
        best[self._matched] = self._strength.max(axis=0, initial=0.0)
        owner, part = self._parts_of(units)
        worth = self.parts.idf[part]
        matched = np.bincount(owner, weights=worth * best[part], minlength=len(units))
        return matched / np.maximum(np.bincount(owner, weights=worth, minlength=len(units)), 1e-9)

    def _compute_recall(self, units: Array) -> Array:
        owner, part = self._parts_of(units)
        column = np.full(len(self.parts.names), -1)
        column[self._matched] = np.arange(len(self._matched))
        column = column[part]
        owner, column = owner[column >= 0], column[column >= 0]
        best = np.zeros((len(self.query), len(units)), np.float32)
        first = first_of_each(owner)
        if len(first):
            best[:, owner[first]] = np.maximum.reduceat(self._strength[:, column], first, axis=1)
        return np.asarray(self.weights @ best / max(float(self.weights.sum()), 1e-9))

    def _parts_of(self, units: Array) -> tuple[Array, Array]:
        """The parts of each unit's name and of its type's: (index of the unit, part)."""
        own, at = ranges(self.parts.starts, units)
        types = self.statistics.snapshot.symbols.owner[units]
        inside = np.flatnonzero(types >= 0)
        outer, of_type = ranges(self.parts.starts, types[inside])
        owner, part = np.concatenate([own, inside[outer]]), np.concatenate([self.parts.parts[at], self.parts.parts[of_type]])
        once = distinct(owner.astype(np.int64) << 32 | part)
        return once >> 32, once & 0xFFFFFFFF


class ClassText:
    """Lexical scores of types, over all their members together."""

    def __init__(self, statistics: TermStatistics) -> None:
        self.statistics = statistics
        self._types = statistics.snapshot.symbols.type_table

    @cached_property
    def scores(self) -> Array:
        """BM25 of each type over the words of all its members, by unit row."""
        scores = np.zeros(self.statistics.snapshot.units, np.float32)
        scores[self._types.rows] = self._scores
        return scores

    @cached_property
    def _scores(self) -> Array:
        """The same, by type."""
        total = np.zeros(len(self._types.rows), np.float32)
        k = self.statistics.profile.fields.saturation
        for postings in self.statistics.terms:
            rows, codes = postings.units
            if not len(rows):
                continue
            types = self._types.of[rows]
            inside = types >= 0
            worth = np.bincount(types[inside], weights=self.statistics.weights.worth[codes[inside]], minlength=len(total))
            total += (postings.unit_weight * worth / (worth + k)).astype(np.float32)
        return total

    def of_units(self, units: Array) -> Array:
        """The score of each unit's type; 0 where it has none."""
        if not len(self._types.rows):
            return np.zeros(len(units))
        types = self._types.of[units]
        return np.where(types >= 0, self._scores[types], 0.0)

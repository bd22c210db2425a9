"""How the words of a query match the names of units, part by part."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from whence.retrieval.paths import name_strengths
from whence.retrieval.term_statistics import CachedPostings, TermStatistics
from whence.storage.arrayfile import Array
from whence.storage.rows import distinct, first_of_each, ranges


class NameMatch:
    """The parts of all names of a snapshot against the parts of a query."""

    def __init__(self, statistics: TermStatistics) -> None:
        self.statistics = statistics
        self.parts = statistics.snapshot.name_parts
        self.query = statistics.plan.parts
        # Both looks at the candidates of a task ask for nearly the same units.
        self._precision = CachedPostings(statistics.snapshot.units, self._find_precision)
        self._recall = CachedPostings(statistics.snapshot.units, self._find_recall)

    @cached_property
    def _matched(self) -> Array:
        """The parts of names that match some part of the query, in order."""
        return distinct(np.concatenate([np.empty(0, np.int64), *(rows for rows, _ in self._matches)]))

    @cached_property
    def _matches(self) -> list[tuple[Array, Array]]:
        """For each part of the query, the parts of names that match it and how well."""
        return [name_strengths(part, self.parts.names, self.parts.known) for part in self.query]

    @cached_property
    def _strength(self) -> Array:
        """How well each part of the query matches each part of a name that any of them matches: (query, matched)."""
        found = np.zeros((len(self.query), len(self._matched)), np.float32)
        for number, (rows, strengths) in enumerate(self._matches):
            found[number, np.searchsorted(self._matched, rows)] = strengths
        return found

    @cached_property
    def weights(self) -> Array:
        """What each part of the query counts: by its place, and by how few units hold it."""
        known = {found.term.text: found for found in self.statistics.terms}
        rarest = max((found.unit_idf for found in known.values()), default=1.0)
        return np.array([part.weight * (known[part.stem].unit_idf if part.stem in known else rarest) for part in self.query])

    def precision(self, units: Array) -> Array:
        """The share of each unit's name, and of its type's, that the query speaks of; rare parts count more."""
        return self._precision.at(units)

    def recall(self, units: Array) -> Array:
        """The share of the query that each unit's name, or its type's, speaks of."""
        return self._recall.at(units)

    def _find_precision(self, units: Array) -> Array:
        best = np.zeros(len(self.parts.names), np.float32)
        best[self._matched] = self._strength.max(axis=0, initial=0.0)
        owner, part = self._parts_of(units)
        worth = self.parts.idf[part]
        matched = np.bincount(owner, weights=worth * best[part], minlength=len(units))
        return matched / np.maximum(np.bincount(owner, weights=worth, minlength=len(units)), 1e-9)

    def _find_recall(self, units: Array) -> Array:
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
        """(place of the unit, part) of each unit's name and of the type it belongs to."""
        own, at = ranges(self.parts.starts, units)
        types = self.statistics.snapshot.symbols.owner[units]
        inside = np.flatnonzero(types >= 0)
        outer, of_type = ranges(self.parts.starts, types[inside])
        owner, part = np.concatenate([own, inside[outer]]), np.concatenate([self.parts.parts[at], self.parts.parts[of_type]])
        once = distinct(owner.astype(np.int64) << 32 | part)
        return once >> 32, once & 0xFFFFFFFF


class ClassText:
    """What all of a type's members together say of the query."""

    def __init__(self, statistics: TermStatistics) -> None:
        self.statistics = statistics
        self._types = statistics.snapshot.symbols.type_table

    @cached_property
    def scores(self) -> Array:
        """BM25 of each type over the words of all its members, at its row."""
        found = np.zeros(self.statistics.snapshot.units, np.float32)
        found[self._types.rows] = self._scores
        return found

    @cached_property
    def _scores(self) -> Array:
        """The same, type by type."""
        total = np.zeros(len(self._types.rows), np.float32)
        k = self.statistics.profile.fields.saturation
        for found in self.statistics.terms:
            rows, codes = found.units
            if not len(rows):
                continue
            types = self._types.of[rows]
            inside = types >= 0
            worth = np.bincount(types[inside], weights=self.statistics.weights.worth[codes[inside]], minlength=len(total))
            total += (found.term.weight * found.unit_idf * worth / (worth + k)).astype(np.float32)
        return total

    def of_units(self, units: Array) -> Array:
        """The score of each unit's type; 0 where it has none."""
        if not len(self._types.rows):
            return np.zeros(len(units))
        types = self._types.of[units]
        return np.where(types >= 0, self._scores[types], 0.0)

"""How the words of a query match the names of units, part by part."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from whence.index.arrayfile import Array
from whence.index.rows import ranges
from whence.retrieve.evidence import Evidence
from whence.retrieve.paths import name_strengths


class NameMatch:
    """The parts of all names of a snapshot against the parts of a query."""

    def __init__(self, evidence: Evidence) -> None:
        self.evidence = evidence
        self.parts = evidence.snapshot.name_parts
        self.query = evidence.plan.parts

    @cached_property
    def strength(self) -> Array:
        """How well each part of the query matches each part of a name: (query, parts)."""
        found = np.zeros((len(self.query), len(self.parts.names)), np.float32)
        for number, part in enumerate(self.query):
            for row, strength in name_strengths(part, self.parts.names, self.parts.known):
                found[number, row] = strength
        return found

    @cached_property
    def weights(self) -> Array:
        """What each part of the query counts: by its place, and by how few units hold it."""
        known = {found.term.text: found for found in self.evidence.terms}
        rarest = max((found.unit_rarity for found in known.values()), default=1.0)
        return np.array([part.weight * (known[part.stem].unit_rarity if part.stem in known else rarest) for part in self.query])

    def precision(self, units: Array) -> Array:
        """The share of each unit's name, and of its type's, that the query speaks of; rare parts count more."""
        best = self.strength.max(axis=0, initial=0.0)
        owner, part = self._parts_of(units)
        worth = self.parts.rarity[part]
        matched = np.bincount(owner, weights=worth * best[part], minlength=len(units))
        return matched / np.maximum(np.bincount(owner, weights=worth, minlength=len(units)), 1e-9)

    def recall(self, units: Array) -> Array:
        """The share of the query that each unit's name, or its type's, speaks of."""
        owner, part = self._parts_of(units)
        best = np.zeros((len(self.query), len(units)), np.float32)
        for number in range(len(self.query)):
            np.maximum.at(best[number], owner, self.strength[number, part])
        return np.asarray(self.weights @ best / max(float(self.weights.sum()), 1e-9))

    def _parts_of(self, units: Array) -> tuple[Array, Array]:
        """(place of the unit, part) of each unit's name and of the type it belongs to."""
        own, at = ranges(self.parts.starts, units)
        types = self.evidence.snapshot.symbols.owner[units]
        inside = np.flatnonzero(types >= 0)
        outer, of_type = ranges(self.parts.starts, types[inside])
        owner, part = np.concatenate([own, inside[outer]]), np.concatenate([self.parts.parts[at], self.parts.parts[of_type]])
        once = np.unique(owner.astype(np.int64) << 32 | part)
        return once >> 32, once & 0xFFFFFFFF


class ClassText:
    """What all of a type's members together say of the query."""

    def __init__(self, evidence: Evidence) -> None:
        self.evidence = evidence
        symbols = evidence.snapshot.symbols
        #: The type each unit belongs to, a type to itself; -1 for what belongs to none.
        self.of = np.where(symbols.owner >= 0, symbols.owner, np.where(symbols.container, np.arange(symbols.units), -1))

    @cached_property
    def scores(self) -> Array:
        """BM25 of each type over the words of all its members, at its row."""
        total = np.zeros(self.evidence.snapshot.units, np.float32)
        k = self.evidence.profile.fields.saturation
        for found in self.evidence.terms:
            rows, codes = found.units
            if not len(rows):
                continue
            types = self.of[rows]
            inside = types >= 0
            worth = np.bincount(types[inside], weights=self.evidence.weights.worth[codes[inside]], minlength=len(total))
            total += (found.term.weight * found.unit_rarity * worth / (worth + k)).astype(np.float32)
        return total

    def of_units(self, units: Array) -> Array:
        """The score of each unit's type; 0 where it has none."""
        types = self.of[units]
        return np.where(types >= 0, self.scores[np.maximum(types, 0)], 0.0)

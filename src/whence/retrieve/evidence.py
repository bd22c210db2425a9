"""What the index knows of a query's terms, read once and shared by retrievers and signals."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from whence.index.arrayfile import Array
from whence.index.digest import FIELDS, IN_DIRECTORY, IN_STEM, LEVELS, SHIFTS
from whence.index.rows import first_of_each, member, values_at
from whence.index.snapshot import Snapshot
from whence.profiles import Profile
from whence.query.plan import Plan, Term

#: What a window's count stands for: fillers nothing, the highest level three or more.
COUNT_WORTH = (0.0, 1.0, 2.0, 4.0)


def rarity(total: int, holding: int) -> float:
    """The weight of a term by how few of all hold it (BM25's idf, never negative)."""
    return math.log(1 + (total - holding + 0.5) / (holding + 0.5))


class TermEvidence:
    """Where one term of the query occurs."""

    def __init__(self, snapshot: Snapshot, term: Term) -> None:
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
        """The files on whose path it stands, and where."""
        return self._snapshot.path_postings(self._rows)

    @cached_property
    def files(self) -> Array:
        """The files whose text holds it, in order."""
        owners = self._snapshot.file_of_unit[self.units[0]]
        return owners[first_of_each(owners)]

    @cached_property
    def unit_rarity(self) -> float:
        """Its weight among units."""
        return rarity(self._snapshot.live_units, len(self.units[0]))

    @cached_property
    def window_rarity(self) -> float:
        """Its weight among windows."""
        return rarity(self._snapshot.live_windows, len(self.windows[0]))

    @cached_property
    def file_rarity(self) -> float:
        """Its weight among files, by text and path."""
        by_path_alone = int((~member(self.paths[0], self.files)).sum())
        return rarity(self._snapshot.live_files, len(self.files) + by_path_alone)


@dataclass(frozen=True, slots=True)
class FieldWeights:
    """What a posting's code is worth under a profile's weights: one table for all codes."""

    worth: Array  # of each code, before saturation
    saturated: Array  # worth / (worth + k1)

    @classmethod
    def of(cls, profile: Profile) -> FieldWeights:
        """Lay out the table for a profile."""
        worth = np.zeros(1 << 16, np.float32)
        code = np.arange(1 << 16)
        for field, levels, shift in zip(FIELDS, LEVELS, SHIFTS, strict=True):
            worth += np.float32(getattr(profile.fields, field)) * levels[code >> shift & (len(levels) - 1)]
        return cls(worth, (worth / (worth + np.float32(profile.fields.saturation))).astype(np.float32))


class Evidence:
    """All that a query's terms have to say about one snapshot."""

    def __init__(self, snapshot: Snapshot, plan: Plan, profile: Profile, weights: FieldWeights) -> None:
        self.snapshot = snapshot
        self.plan = plan
        self.profile = profile
        self.weights = weights
        self.terms = [TermEvidence(snapshot, term) for term in plan.terms]

    @cached_property
    def unit_scores(self) -> Array:
        """Every unit's score by its own text: BM25 over weighted fields."""
        scores = np.zeros(self.snapshot.units, np.float32)
        for found in self.terms:
            rows, codes = found.units
            if len(rows):
                scores[rows] += np.float32(found.term.weight * found.unit_rarity) * self.weights.saturated[codes]
        return scores

    @cached_property
    def window_scores(self) -> Array:
        """Every window's score: BM25 over even cuts of the file."""
        scores = np.zeros(self.snapshot.windows, np.float32)
        table = np.array(COUNT_WORTH, np.float32)
        table = table / (table + np.float32(self.profile.fields.window_saturation))
        for found in self.terms:
            rows, counts = found.windows
            if len(rows):
                scores[rows] += np.float32(found.term.weight * found.window_rarity) * table[counts]
        return scores

    def unit_matrix(self, units: Array) -> Array:
        """The worth of each term in each of some units, with what its file's path adds: (terms, units)."""
        files = self.snapshot.file_of_unit[units]
        matrix = np.zeros((len(self.terms), len(units)), np.float32)
        for number, found in enumerate(self.terms):
            matrix[number] = values_at(units, *found.units, self.weights.worth)
            path_files, places = found.paths
            if len(path_files):
                place = values_at(files, path_files, places, np.arange(4, dtype=np.float32)).astype(np.uint8)
                bonus = self.profile.fields.stem * ((place & IN_STEM) > 0) + self.profile.fields.directory * ((place & IN_DIRECTORY) > 0)
                matrix[number] += bonus.astype(np.float32)
        return matrix

    def holds(self, files: Array) -> Array:
        """Whether the text of each file holds each term: (terms, files)."""
        held = np.zeros((len(self.terms), len(files)), bool)
        for number, found in enumerate(self.terms):
            held[number] = member(files, found.files)
        return held

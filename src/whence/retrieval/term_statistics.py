"""What the index knows of a query's terms, read once and shared by retrievers and signals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from whence.core.profiles import ColumnWeights, Profile
from whence.core.types import DocumentFrequency
from whence.index.segment_writer import FIELDS, IN_DIRECTORY, IN_STEM, LEVELS, SHIFTS
from whence.index.snapshot import Snapshot
from whence.query.plan import QueryPlan, QueryTerm
from whence.storage.arrayfile import Array
from whence.storage.rows import distinct, first_of_each, is_member, values_at
from whence.text.bm25 import idf

#: What a window's count stands for: fillers nothing, the highest level three or more.
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
        """The files on whose path it stands, and where."""
        return self._snapshot.path_postings(self._rows)

    @cached_property
    def files(self) -> Array:
        """The files whose text holds it, in order."""
        owners = self._snapshot.file_of_unit[self.units[0]]
        return owners[first_of_each(owners)]

    @property
    def is_known(self) -> bool:
        """Whether any unit or path holds it."""
        return bool(len(self.units[0]) or len(self.paths[0]))

    @cached_property
    def _known(self) -> DocumentFrequency | None:
        """How many hold it, where not all that do are here."""
        return self._snapshot.term_counts(self.term.text)

    @property
    def holders(self) -> int:
        """How many files hold it in their text."""
        return len(self.files) if self._known is None else max(self._known.files, len(self.files))

    @cached_property
    def unit_idf(self) -> float:
        """Its weight among units."""
        return idf(self._snapshot.live_units, len(self.units[0]) if self._known is None else self._known.units)

    @cached_property
    def window_idf(self) -> float:
        """Its weight among windows."""
        return idf(self._snapshot.live_windows, len(self.windows[0]) if self._known is None else self._known.windows)

    @cached_property
    def file_idf(self) -> float:
        """Its weight among files, by text and path."""
        if self._known is not None:
            return idf(self._snapshot.live_files, self._known.files)
        by_path_alone = int((~is_member(self.paths[0], self.files)).sum())
        return idf(self._snapshot.live_files, len(self.files) + by_path_alone)


class CachedPostings:
    """Values of rows, each worked out when first asked for."""

    def __init__(self, size: int, find: Callable[[Array], Array], kind: type = np.float64) -> None:
        self._find = find
        self._values: Array = np.zeros(size, kind)
        self._known = np.zeros(size, bool)

    def at(self, rows: Array) -> Array:
        """The value of each row; the same row may be asked for more than once."""
        missing = rows[~self._known[rows]]
        if len(missing):
            missing = distinct(missing)
            self._values[missing], self._known[missing] = self._find(missing), True
        return self._values[rows]


@dataclass(frozen=True, slots=True)
class FieldWeights:
    """What a posting's code is worth under a profile's weights: one table for all codes."""

    worth: Array  # of each code, before saturation
    saturated: Array  # worth / (worth + k1)

    @classmethod
    def of(cls, profile: Profile) -> FieldWeights:
        """The table of a profile, laid out once."""
        return _laid_out(profile.fields)


@lru_cache(maxsize=32)
def _laid_out(fields: ColumnWeights) -> FieldWeights:
    worth = np.zeros(1 << 16, np.float32)
    code = np.arange(1 << 16)
    for field, levels, shift in zip(FIELDS, LEVELS, SHIFTS, strict=True):
        worth += np.float32(getattr(fields, field)) * levels[code >> shift & (len(levels) - 1)]
    return FieldWeights(worth, (worth / (worth + np.float32(fields.saturation))).astype(np.float32))


class TermStatistics:
    """All that a query's terms have to say about one snapshot."""

    def __init__(self, snapshot: Snapshot, plan: QueryPlan, profile: Profile, weights: FieldWeights) -> None:
        self.snapshot = snapshot
        self.plan = plan
        self.profile = profile
        self.weights = weights
        self.terms = [TermPostings(snapshot, term) for term in plan.terms]
        self._matrix = np.empty(0, np.int64), np.empty((len(self.terms), 0), np.float32)  # of the units last asked for

    @cached_property
    def unit_scores(self) -> Array:
        """Every unit's score by its own text: BM25 over weighted fields."""
        scores = np.zeros(self.snapshot.units, np.float32)
        for found in self.terms:
            rows, codes = found.units
            if len(rows):
                scores[rows] += np.float32(found.term.weight * found.unit_idf) * self.weights.saturated[codes]
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
                scores[rows] += np.float32(found.term.weight * found.window_idf) * table[counts]
        return scores

    @cached_property
    def close_files(self) -> list[Array]:
        """For each two neighbouring terms that both occur, the files in one window of which they stand together."""
        ends = self.snapshot.window_starts[1:]
        found = []
        for one, other in zip(self.terms, self.terms[1:], strict=False):
            if len(one.windows[0]) and len(other.windows[0]):
                few, many = sorted((one.windows[0], other.windows[0]), key=len)
                files = np.searchsorted(ends, few[is_member(few, many)], side="right")
                found.append(files[first_of_each(files)])
        return found

    def unit_matrix(self, units: Array) -> Array:
        """The worth of each term in each of some units in rising order, with what its file's path adds: (terms, units)."""
        known, matrix = self._matrix
        if not is_member(known, units).all():
            known, matrix = units[:0], matrix[:, :0]
        fresh = ~is_member(units, known)
        found = np.empty((len(self.terms), len(units)), np.float32)
        found[:, ~fresh], found[:, fresh] = matrix, self._worth_of_terms(units[fresh])
        self._matrix = units, found
        return found

    def _worth_of_terms(self, units: Array) -> Array:
        owners = self.snapshot.file_of_unit[units]
        new = first_of_each(owners)  # units in rising order lie file by file
        files, owner = owners[new], np.repeat(np.arange(len(new)), np.diff(new, append=len(units)))
        fields, place = self.profile.fields, np.arange(IN_STEM + IN_DIRECTORY + 1)
        bonus = (fields.stem * ((place & IN_STEM) > 0) + fields.directory * ((place & IN_DIRECTORY) > 0)).astype(np.float32)
        matrix = np.zeros((len(self.terms), len(units)), np.float32)
        for number, found in enumerate(self.terms):
            matrix[number] = values_at(units, *found.units, self.weights.worth)
            path_files, places = found.paths
            if len(path_files):
                matrix[number] += values_at(files, path_files, places, bonus)[owner]
        return matrix

    def holds(self, files: Array) -> Array:
        """Whether the text of each file holds each term: (terms, files)."""
        held = np.zeros((len(self.terms), len(files)), bool)
        for number, found in enumerate(self.terms):
            held[number] = is_member(files, found.files)
        return held

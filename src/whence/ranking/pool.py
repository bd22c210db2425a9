"""The pool: every candidate unit once, with what each retriever said of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from whence.core.profiles import Profile
from whence.index.snapshot import Snapshot
from whence.query.plan import QueryPlan
from whence.retrieval.commits import CommitMatches
from whence.retrieval.dense import DenseMatches
from whence.retrieval.paths import PathMatch
from whence.retrieval.term_statistics import TermStatistics
from whence.storage.arrayfile import Array
from whence.storage.rows import distinct

if TYPE_CHECKING:  # what only symbols need: a search must not load it
    from whence.graph.reader import Graph
    from whence.retrieval.names import ClassText, NameMatch

#: The name of the retriever that goes by vectors.
MEANING = "meaning"
#: The names of those that go by what use taught, and by what software commonly calls a thing.
LEARNED, CONCEPTS = "learned", "concepts"
#: The name under which units stand in the pool that were asked for, not found.
ASKED = "asked"


@dataclass(frozen=True, slots=True)
class SeedScores:
    """What the classic signals need to know of each candidate of a pool."""

    is_seed: Array
    authority: Array
    hub: Array
    ranks: Mapping[str, Array]  # by channel: the place of each candidate in it, counted from 1; 0 where it was not found
    now: float  # seconds since 1970


@dataclass(frozen=True, slots=True)
class GraphFacts:
    """How much each candidate has to do with the best, one step along the graph."""

    used: Array  # by them
    using: Array  # them
    kin: Array  # to them


@dataclass(frozen=True)
class CandidatePool:
    """Candidates to be ranked. Signals read it and change nothing.

    `scores` is what the phases before have made of the candidates; it is frozen for
    the length of a phase, so the order of signals inside a phase cannot matter.
    """

    statistics: TermStatistics
    path_match: PathMatch
    units: Array
    retrieved: Mapping[str, Array]  # raw scores by retriever; NaN where it did not find the unit
    shallowest: int
    scores: Array
    commits: CommitMatches  # what past commits point at
    dense: DenseMatches | None = None  # None where vectors have nothing to say
    graph: Graph | None = None  # for symbols: what they refer to and what refers to them
    walked: Array | None = None  # for symbols: how near the walk found each candidate
    beside: GraphFacts | None = None  # for symbols: what the best of them call, are called by and descend from
    seeding: SeedScores | None = None  # for symbols of the classic profile: where the walk began
    feedback: Array | None = None  # for symbols: what verdicts add to each (L2)
    session: Array | None = None  # for symbols: what having been shown adds to each (L1)

    @property
    def snapshot(self) -> Snapshot:
        """The index the candidates are of."""
        return self.statistics.snapshot

    @property
    def plan(self) -> QueryPlan:
        """The query."""
        return self.statistics.plan

    @property
    def profile(self) -> Profile:
        """The ranking profile in use."""
        return self.statistics.profile

    @cached_property
    def files(self) -> Array:
        """The file of each candidate."""
        return self.snapshot.file_of_unit[self.units].astype(np.int64)

    @cached_property
    def _distinct(self) -> tuple[Array, Array]:
        files, back = np.unique(self.files, return_inverse=True)
        return files, back

    @property
    def distinct_files(self) -> Array:
        """Each file of the pool once."""
        return self._distinct[0]

    def by_file(self, values: Array) -> Array:
        """One value per distinct file, given to each of its units."""
        return np.asarray(values)[self._distinct[1]]

    def column(self, name: str) -> Array:
        """A column of the snapshot's files, for each candidate."""
        return self.by_file(self.snapshot.column(name)[self.distinct_files])

    def matrix(self) -> Array:
        """The worth of each term in each candidate: (terms, units)."""
        return self._matrix

    @cached_property
    def _matrix(self) -> Array:
        return self.statistics.unit_matrix(self.units)

    @cached_property
    def names(self) -> NameMatch:
        """How the query matches the names of units."""
        from whence.retrieval.names import NameMatch  # noqa: PLC0415  -- as above

        return NameMatch(self.statistics)

    @cached_property
    def class_text(self) -> ClassText:
        """How the query matches types with all their members."""
        from whence.retrieval.names import ClassText  # noqa: PLC0415  -- as above

        return ClassText(self.statistics)

    @cached_property
    def nearness(self) -> Array:
        """How near each candidate's file is to the question in meaning; 0 where vectors have nothing to say."""
        return self.by_file(self.dense.of_files(self.distinct_files)) if self.dense else np.zeros(len(self.units))

    @cached_property
    def unit_nearness(self) -> Array:
        """The same of each candidate itself."""
        return self.dense.of_units(self.units) if self.dense else np.zeros(len(self.units))

    def path(self, row: int) -> str:
        """The path of a candidate."""
        return self.snapshot.path(int(self.files[row]))

    def with_scores(self, scores: Array) -> CandidatePool:
        """The same pool in a later phase; what was worked out stays worked out."""
        return self._kept(
            replace(self, scores=scores), ("files", "_distinct", "_matrix", "nearness", "unit_nearness", "names", "class_text")
        )

    def with_candidates(self, units: Array, retrieved: Mapping[str, Array], **facts: Any) -> CandidatePool:
        """The same question with other candidates; what depends on the question alone stays worked out."""
        later = replace(self, units=units, retrieved=retrieved, scores=np.zeros(len(units)), **facts)
        return self._kept(later, ("names", "class_text"))

    def _kept(self, later: CandidatePool, names: tuple[str, ...]) -> CandidatePool:
        for name in names:
            if name in self.__dict__:
                later.__dict__[name] = self.__dict__[name]
        return later


def union(found: Mapping[str, tuple[Array, Array]]) -> tuple[Array, dict[str, Array]]:
    """Every unit that any retriever found, in row order, with each one's raw score."""
    units = distinct(np.concatenate([rows for rows, _ in found.values()])).astype(np.int64) if found else np.empty(0, np.int64)
    raw: dict[str, Array] = {}
    for name, (rows, scores) in found.items():
        column = np.full(len(units), np.nan)
        column[np.searchsorted(units, rows)] = scores
        raw[name] = column
    return units, raw

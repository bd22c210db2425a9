"""The candidate pool: every candidate unit once with what each retriever found, and the files the units collapse to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from whence.core.profiles import Profile
from whence.index.snapshot import Snapshot
from whence.query.plan import QueryPlan
from whence.retrieval.commits import CommitMatches
from whence.retrieval.dense import DenseMatches
from whence.retrieval.exact import ExactMatches
from whence.retrieval.paths import PathMatch
from whence.retrieval.term_statistics import TermStatistics
from whence.storage.arrayfile import Array
from whence.storage.rows import distinct

if TYPE_CHECKING:  # only symbols need these: a search must not load them
    from whence.graph.reader import Graph
    from whence.retrieval.names import ClassText, NameMatch

#: Retrievers by the names that `whence why` prints: words, vectors, past feedback, usual names of concepts.
LEXICAL, DENSE, LEARNED, CONCEPTS = "words", "meaning", "learned", "concepts"
#: Units that were not retrieved but have to be ranked.
INCLUDED = "asked"


@dataclass(frozen=True, slots=True)
class SeedScores:
    """What the classic signals read of each candidate."""

    is_seed: Array
    authority: Array
    hub: Array
    ranks: Mapping[str, Array]  # by channel: the rank of each candidate, from 1; 0 where the channel did not find it
    now: float  # seconds since 1970


@dataclass(frozen=True, slots=True)
class NeighbourScores:
    """How strongly each candidate is tied to the best ones, one edge away."""

    used: Array  # by them
    using: Array  # them
    kin: Array  # to them


@dataclass(frozen=True)
class CandidatePool:
    """Candidates to rank. Signals read it and change nothing.

    `scores` are those of the earlier phases. They are frozen during a phase, so the order of its signals cannot matter.
    """

    statistics: TermStatistics
    path_match: PathMatch
    units: Array
    retrieved: Mapping[str, Array]  # raw scores by retriever; NaN where it did not find the unit
    min_depth: int
    scores: Array
    commits: CommitMatches
    dense: DenseMatches | None = None  # None without vectors or without a known word
    exact: ExactMatches | None = None  # where the query occurs as typed
    graph: Graph | None = None
    # For symbols only.
    walk_scores: Array | None = None  # how near the walk found each candidate
    neighbour_scores: NeighbourScores | None = None
    seed_scores: SeedScores | None = None  # of the classic profile
    feedback: Array | None = None  # what verdicts add (L2)
    session: Array | None = None  # what having been shown adds (L1)

    @property
    def snapshot(self) -> Snapshot:
        """The index that the candidates are from."""
        return self.statistics.snapshot

    @property
    def plan(self) -> QueryPlan:
        """The query plan."""
        return self.statistics.plan

    @property
    def profile(self) -> Profile:
        """The ranking profile."""
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
        """One value per distinct file, spread to its units."""
        return np.asarray(values)[self._distinct[1]]

    def column(self, name: str) -> Array:
        """A column of the snapshot's files, for each candidate."""
        return self.by_file(self.snapshot.column(name)[self.distinct_files])

    @cached_property
    def term_weights(self) -> Array:
        """The weight of each term in each candidate: (terms, units)."""
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
        """The similarity of each candidate's file to the query; 0 without vectors."""
        return self.by_file(self.dense.of_files(self.distinct_files)) if self.dense else np.zeros(len(self.units))

    @cached_property
    def unit_nearness(self) -> Array:
        """The similarity of each candidate itself."""
        return self.dense.of_units(self.units) if self.dense else np.zeros(len(self.units))

    def path(self, row: int) -> str:
        """The path of a candidate."""
        return self.snapshot.path(int(self.files[row]))

    def location(self, row: int) -> tuple[str, int]:
        """The path and first line of a candidate."""
        return self.path(row), int(self.snapshot.column("units.first")[self.units[row]])

    def with_scores(self, scores: Array) -> CandidatePool:
        """The pool of a later phase; cached values stay."""
        cached = ("files", "_distinct", "term_weights", "nearness", "unit_nearness", "names", "class_text")
        return self._with_cached(replace(self, scores=scores), cached)

    def with_candidates(self, units: Array, retrieved: Mapping[str, Array], **scores: Any) -> CandidatePool:
        """The same query with other candidates; cached values of the query stay."""
        later = replace(self, units=units, retrieved=retrieved, scores=np.zeros(len(units)), **scores)
        return self._with_cached(later, ("names", "class_text"))

    def _with_cached(self, later: CandidatePool, names: tuple[str, ...]) -> CandidatePool:
        for name in names:
            if name in self.__dict__:
                later.__dict__[name] = self.__dict__[name]
        return later


def union(found: Mapping[str, tuple[Array, Array]]) -> tuple[Array, dict[str, Array]]:
    """Every unit that any retriever found, in row order, with each retriever's scores."""
    units = distinct(np.concatenate([rows for rows, _ in found.values()])).astype(np.int64) if found else np.empty(0, np.int64)
    retrieved: dict[str, Array] = {}
    for name, (rows, scores) in found.items():
        column = np.full(len(units), np.nan)
        column[np.searchsorted(units, rows)] = scores
        retrieved[name] = column
    return units, retrieved


@dataclass(frozen=True, slots=True)
class FileHit:
    """A ranked file: its best candidate and its score."""

    file: int
    row: int  # of the best candidate in the pool
    score: float


def collapse(pool: CandidatePool, scores: Array) -> list[FileHit]:
    """One hit per file, best first; ties in the order of the pool, scores that are not finite last (F4)."""
    order = np.argsort(-np.where(np.isfinite(scores), scores, -np.inf), kind="stable")
    files = pool.files[order]
    _, first = np.unique(files, return_index=True)
    first.sort()
    leading = order[first]
    return [FileHit(*hit) for hit in zip(files[first].tolist(), leading.tolist(), scores[leading].tolist(), strict=True)]


def break_ties(hits: list[FileHit], concentration: Callable[[int], int], path: Callable[[int], str]) -> list[FileHit]:
    """Order hits of equal score by the most query words on one line, then by path (Q3)."""
    ordered: list[FileHit] = []
    at = 0
    while at < len(hits):
        end = at + 1
        while end < len(hits) and hits[end].score == hits[at].score:
            end += 1
        group = hits[at:end]
        ordered += sorted(group, key=lambda hit: (-concentration(hit.file), path(hit.file))) if len(group) > 1 else group
        at = end
    return ordered

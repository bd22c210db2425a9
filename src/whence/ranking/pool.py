"""The candidate pool: every candidate unit once with what each retriever found, and the files the units collapse to."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import fsum
from typing import TYPE_CHECKING, Any

import numpy as np

from whence.core.profiles import RRF, Profile
from whence.index.segment import KIND_NAMES
from whence.index.snapshot import Snapshot
from whence.parse.paths import Role
from whence.query.plan import QueryPlan
from whence.ranking.ledger import Column
from whence.retrieval.dense import DenseMatches
from whence.retrieval.exact import ExactMatches
from whence.retrieval.files import CommitMatches, PathMatch
from whence.retrieval.lexical import TermStatistics
from whence.storage.arrayfile import Array
from whence.storage.postings import distinct, first_of_each
from whence.text.analyzer import parts as name_parts
from whence.text.analyzer import stem

if TYPE_CHECKING:  # only symbols and second looks need these: a search must not load them
    from whence.graph.reader import Graph
    from whence.ranking.rerank import SecondLook
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
    second_look: SecondLook | None = None
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
    def mix(self) -> float:
        """Where the query lies between the two weights of each signal: by its length for files, by what it tells of for symbols."""
        return self.plan.length if self.graph is None else self.plan.problem

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
        files = distinct(self.files)  # np.unique loads masked arrays, for as long as the rest of a search takes
        return files, np.searchsorted(files, self.files)

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

    @cached_property
    def own_names(self) -> tuple[Array, Array]:
        """The share of the query, weighted by idf, that each candidate's own name contains; the share of the name that is in the query."""
        worth = {found.term.text: found.term.weight * found.unit_idf for found in self.statistics.terms if not found.term.whole}
        total = fsum(worth.values()) or 1.0
        shares = np.zeros((2, len(self.units)))
        for row, unit in enumerate(self.units.tolist()):
            parts = {stem(part) for part in name_parts(self.snapshot.unit_name(unit))}
            if held := parts & worth.keys():
                shares[:, row] = fsum(worth[part] for part in held) / total, len(held) / len(parts)
        return shares[0], shares[1]

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
    grouped = np.argsort(files, kind="stable")
    first = np.sort(grouped[first_of_each(files[grouped])])
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


#: Added to every rank: the higher it is, the less the first ranks stand out.
RANK_OFFSET = 60
#: How slowly the ranks after the first lose weight in `standing`.
RANK_DECAY = 6
#: The smallest mass that counts, on the logarithmic scale.
MIN_MASS = 1e-2


def header_column(pool: CandidatePool, language: str) -> Column:
    """1 for headers of a language."""
    header = pool.column("files.roles") & int(Role.HEADER) > 0
    if header.any():
        languages = pool.snapshot.languages
        header &= pool.by_file(np.array([languages[file] == language for file in pool.distinct_files.tolist()]))
    values = header.astype(np.float64)
    return Column(values, lambda row: f"a header of {language}" if values[row] else f"not a header of {language}")


def role_column(pool: CandidatePool, role: Role, asked: str, yes: str) -> Column:
    """1 for files that play a role; 0 for all when the query asks for such files."""
    if pool.plan.asks_for(asked):
        return Column(np.zeros(len(pool.units)), lambda _: "the query asks for such files")
    values = (pool.column("files.roles") & int(role) > 0).astype(np.float64)
    return Column(values, lambda row: yes if values[row] else f"not {yes}")


def coverage(pool: CandidatePool) -> Array:
    """The share of the query's terms that each candidate's file holds, raised to the profile's power (Q1)."""
    if not pool.profile.coverage:
        return np.ones(len(pool.units))
    held = pool.statistics.holds(pool.distinct_files)
    return pool.by_file(held.mean(axis=0) ** pool.profile.coverage)


def is_of_kind(pool: CandidatePool, kinds: Collection[str]) -> Array:
    """1 for each candidate of some kinds, 0 for others."""
    return np.array([float(kind in kinds) for kind in KIND_NAMES])[pool.snapshot.kinds[pool.units]]


def unit_scores(pool: CandidatePool) -> Array:
    """BM25 of each candidate over its weighted fields and its file's path, times the coverage where the profile has one."""
    matrix = pool.term_weights
    weight = np.array([postings.unit_weight for postings in pool.statistics.terms])
    return np.asarray(weight @ (matrix / (matrix + pool.profile.fields.saturation)) * coverage(pool))


def matching_terms(pool: CandidatePool, row: int) -> str:
    """Which terms a candidate holds, the weightiest first, and which it lacks."""
    weights, terms = pool.term_weights[:, row], pool.statistics.terms
    held = sorted((number for number in range(len(weights)) if weights[number] > 0), key=lambda number: -terms[number].unit_weight)
    missing = [postings.term.text for number, postings in enumerate(terms) if weights[number] <= 0 and not postings.term.whole]
    text = "holds " + ", ".join(terms[number].term.text for number in held[:6]) if held else "holds none of the words"
    return text + (f"; not {', '.join(missing[:4])}" if missing else "")


def relative_to_best(scores: Array) -> Array:
    """Scores as shares of the best."""
    best = float(scores.max(initial=0.0))
    return scores / best if best > 0 else scores


def logarithmic(mass: Array | None, size: int) -> Array:
    """A mass on a logarithmic scale; 0 for none."""
    return np.log1p(mass / MIN_MASS) if mass is not None else np.zeros(size)


def better_in_group(group: Array, scores: Array) -> Array:
    """How many of the same group have a better score; ties in their order."""
    order = np.lexsort((-scores, group))
    ordered = group[order]
    better = np.empty(len(group), np.int64)
    better[order] = np.arange(len(group)) - np.searchsorted(ordered, ordered)
    return better


def rescale(scores: Array, how: str) -> Array:
    """One retriever's scores on a common scale, by range or by rank (F2); 0 for what it did not find (NaN)."""
    found = np.flatnonzero(np.isfinite(scores))
    values = np.zeros(len(scores))
    known = scores[found]
    if len(found) and how == RRF:  # 1 / (60 + rank + 1), ranks counted from 0; equal scores share the better rank
        values[found] = 1 / (RANK_OFFSET + np.searchsorted(np.sort(-known), -known) + 1)
    elif len(found):  # from 0 for the lowest to 1 for the highest; equal scores are 1
        low, high = float(known.min()), float(known.max())
        values[found] = (known - low) / (high - low) if high > low else 1.0
    return values


def share_of_best(scores: Array, enough: float = 0.0) -> Array:
    """Each score as a share of the best, plus 6 / (6 + rank).

    Scores are not stretched to the range 0 to 1: two notes that fit almost equally stay close. Where even the best is
    below `enough`, all are lowered: sharing a few common words says little.
    """
    best = float(scores.max(initial=0.0))
    if best <= 0:
        return np.zeros(len(scores))
    rank = np.searchsorted(np.sort(-scores), -scores)
    whole = best / enough if enough > best else 1.0
    return np.where(scores > 0, whole * (np.maximum(scores, 0) / best + RANK_DECAY / (RANK_DECAY + rank)), 0.0)

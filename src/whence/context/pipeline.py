"""Ranks the symbols of a task over one snapshot. Reads top to bottom.

Symbols are found by their words, by the words of their types and files, by name and by meaning, and scored a first
time; a graph walk from the best of them adds what is near; then all are scored again. The score is the fold of the ledger.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from whence.core.profiles import RERANK, Profile
from whence.core.trace import Trace
from whence.embed.encoder import Encoder
from whence.graph.reader import IS_STRUCTURE, IS_USE, Graph
from whence.graph.walk import walk
from whence.index.segment import name_hash
from whence.index.snapshot import Snapshot
from whence.index.symbols import scoped_key
from whence.parse.paths import Role
from whence.query.concepts import is_generic, match_concepts, name_key
from whence.query.plan import QueryPlan, make_plan
from whence.ranking.confidence import MAX_LEADING, Confidence, LeadingFiles, confidence_of, nothing_found
from whence.ranking.ledger import Ledger, score, trace_ranking
from whence.ranking.pool import CONCEPTS, DENSE, INCLUDED, LEARNED, CandidatePool, FileHit, NeighbourScores, union
from whence.retrieval import lexical
from whence.retrieval.dense import dense_matches
from whence.retrieval.files import CommitMatches, PathMatch
from whence.retrieval.lexical import FieldWeights, TermStatistics
from whence.storage.arrayfile import Array
from whence.storage.postings import highest, ranges

if TYPE_CHECKING:
    from whence.ranking.rerank import UnitReranker

#: Candidates by their own words; types and files whose members become candidates; candidates by meaning and by the walk.
BY_WORDS, BY_CLASS, BY_FILE, BY_MEANING, BY_WALK = 600, 25, 20, 60, 100
#: Members of one type or file that become candidates, the best by their words.
MAX_MEMBERS = 60
#: Where the walk starts (the best candidates), its steps, and its probability of returning.
SEEDS, STEPS, RETURN = 10, 4, 0.3
#: Digits of scores and of sums over the graph: further ones depend on the order of summation, and so on that of indexing.
DIGITS = 9
#: A common name that more symbols have says nothing.
MAX_OF_A_NAME = 20
#: Characters of a task that are searched for concepts.
MAX_READ = 4_000
#: The feedback on some units: what verdicts add to each, and what having been shown adds.
FeedbackOf = Callable[[Array], tuple[Array, Array]]
#: Stages that can be left out, to measure what each contributes.
STAGES = ("words", "types", "files", "names", DENSE, CONCEPTS, "walk")


@dataclass(frozen=True, slots=True)
class ContextRun:
    """A task's inputs: snapshot, graph, profiles, feedback."""

    snapshot: Snapshot
    graph: Graph
    first: Profile  # for the first scoring
    profile: Profile
    weights: FieldWeights
    encoder: Encoder | None = None
    include: Array | None = None  # units to rank whether or not they are found
    within: Array | None = None  # a mask of the units that may be ranked; None: all
    now: float = 0.0
    feedback: FeedbackOf | None = None
    learned: Sequence[tuple[int, float]] = ()  # units that words of the task led to before (L5)
    without: str = ""  # a stage or a signal to leave out
    reranker: UnitReranker | None = None
    trace: Trace | None = None


@dataclass(frozen=True, slots=True)
class RankedSymbols:
    """Candidates with their ledger, best first, each name once."""

    pool: CandidatePool
    ledger: Ledger
    order: list[int]  # rows of the pool
    scores: Array  # of all rows of the pool

    def confidence(self, line: float, *, shipped_model: bool) -> Confidence | None:
        """The confidence that the task is about this code; None if unknown."""
        pool = self.pool
        if not self.order:
            known = any(term.is_known for term in pool.statistics.terms)
            return None if known or not pool.plan.terms else nothing_found(pool.plan.text, line)
        best: dict[int, FileHit] = {}
        for row in self.order:
            file = int(pool.files[row])
            best.setdefault(file, FileHit(file, row, float(self.scores[row])))
        leading = LeadingFiles(pool, self.ledger, list(best.values())[:MAX_LEADING], np.array(sorted(best)))
        return confidence_of(leading, line, shipped_model=shipped_model)


def rank_symbols(task: str, run: ContextRun) -> RankedSymbols:
    """The symbols that a task needs, best first."""
    plan = _plan(task, run.profile)
    allowed = _allowed(run, plan)
    pool = _first_pool(run, plan, allowed)
    if run.without != "walk":
        pool = _with_neighbours(pool, score(pool, run.first.signals).scores(), allowed, run.include)
    else:
        pool = _with_included(pool, run.include)
    return rank_pool(pool, run, by_file=plan.problem == 1)  # what was changed is one of several functions of that name


def first_look(task: str, run: ContextRun) -> RankedSymbols:
    """The candidates before the walk, ranked by the final profile; used to learn where walks should begin."""
    plan = _plan(task, run.profile)
    return rank_pool(_first_pool(run, plan, _allowed(run, plan)), run)


def _plan(task: str, profile: Profile) -> QueryPlan:
    return make_plan(task, decay=profile.decay, quoted=profile.quoted, boilerplate=profile.boilerplate)


def rank_pool(pool: CandidatePool, run: ContextRun, *, by_file: bool = False) -> RankedSymbols:
    """Final scores of the candidates, with feedback; each name once, or once per file."""
    if run.feedback is not None:
        feedback, session = run.feedback(pool.units)
        pool = replace(pool, feedback=feedback, session=session)
    ledger = score(pool, leave_out=run.without)
    found = _best_of(pool, ledger, run, by_file=by_file)
    if run.reranker is not None and run.profile.weighs(RERANK) and run.without != RERANK:
        pool = run.reranker.look(pool, found.order)
        found = _best_of(pool, score(pool, leave_out=run.without, before=ledger), run, by_file=by_file)
    if run.trace is not None:
        trace_ranking(run.trace, pool.plan.text, pool.retrieved, found.ledger, pool.location)
        final = [(*pool.location(row), float(found.scores[row])) for row in found.order]
        run.trace.stage("final", pool.plan.text, final, not_finite=int((~np.isfinite(found.scores)).sum()))
    return found


def _best_of(pool: CandidatePool, ledger: Ledger, run: ContextRun, *, by_file: bool) -> RankedSymbols:
    """The candidates that may be returned, in the order of their scores."""
    scores = ledger.scores()
    order = _ordered(pool, scores, by_file=by_file)
    if run.within is not None:
        included = set() if run.include is None else set(run.include.tolist())
        order = [row for row in order if run.within[pool.units[row]] or int(pool.units[row]) in included]
    return RankedSymbols(pool, ledger, order, scores)


def _allowed(run: ContextRun, plan: QueryPlan) -> Array:
    """Definitions outside tests and examples, unless the task mentions those or there are no others."""
    snapshot = run.snapshot
    defines = snapshot.symbols.defines if run.within is None else snapshot.symbols.defines & run.within
    unwanted = 0 if plan.asks_for("test") else int(Role.TEST)
    unwanted |= 0 if plan.asks_for("example") else int(Role.EXAMPLE)
    files = (snapshot.column("files.roles") & unwanted) == 0
    allowed = np.asarray(defines & files[snapshot.file_of_unit])
    return allowed if allowed.any() else defines


def _first_pool(run: ContextRun, plan: QueryPlan, allowed: Array) -> CandidatePool:
    snapshot = run.snapshot
    statistics = TermStatistics(snapshot, plan, run.profile, run.weights)
    path_match = PathMatch(statistics)
    dense = dense_matches(snapshot, run.encoder, plan.text)
    bare = CandidatePool(
        statistics, path_match, np.empty(0, np.int64), {}, 0, np.zeros(0), CommitMatches(snapshot, plan), dense, graph=run.graph
    )
    _ = bare.names  # cached for all later pools, so that names are matched once
    found = {
        "words": lexical.best_units(statistics, BY_WORDS, allowed),
        "types": _members_of_best_types(bare, allowed),
        "files": _members_of_best_files(bare, allowed),
        "names": _named(snapshot, plan, allowed),
    }
    if dense is not None:
        passages, scores = dense.nearest(BY_MEANING, allowed)
        found[DENSE] = dense.units_of(passages, scores, statistics.unit_scores, allowed)
    found[CONCEPTS] = _concept_names(snapshot, plan, allowed)
    found[LEARNED] = _learned(run, allowed)
    found.pop(run.without, None)
    units, retrieved = union(found)
    depth = snapshot.column("files.depth")[snapshot.alive]
    return bare.with_candidates(units, retrieved, min_depth=int(depth.min(initial=255)))


def _members_of_best_types(pool: CandidatePool, allowed: Array) -> tuple[Array, Array]:
    types, scores = lexical.top(pool.class_text.scores, BY_CLASS, allowed, pool.snapshot.unit_order)
    place, units = pool.snapshot.symbols.type_table.members.pairs(types)
    return _best_of_each(pool, place, units, scores, allowed)


def _members_of_best_files(pool: CandidatePool, allowed: Array) -> tuple[Array, Array]:
    files, scores = lexical.best_windows(pool.statistics, BY_FILE, pool.snapshot.content_mask("code"))
    place, units = ranges(pool.snapshot.unit_starts, files)
    return _best_of_each(pool, place, units, scores, allowed)


def _best_of_each(pool: CandidatePool, place: Array, units: Array, scores: Array, allowed: Array) -> tuple[Array, Array]:
    """Members with the score of their type or file, the best of each by their own words."""
    keep = allowed[units]
    place, units = place[keep], units[keep]
    order = np.lexsort((-pool.statistics.unit_scores[units], place))
    place, units = place[order], units[order]
    first = np.arange(len(place)) - np.searchsorted(place, place) < MAX_MEMBERS
    units, index = np.unique(units[first], return_index=True)
    return units, scores[place[first][index]]


def _named(snapshot: Snapshot, plan: QueryPlan, allowed: Array) -> tuple[Array, Array]:
    wanted = np.array(sorted(name_hash(word) for word in plan.identifiers), np.int64)
    units = np.flatnonzero(np.isin(snapshot.symbols.name, wanted) & allowed)[:BY_WORDS] if len(wanted) else np.empty(0, np.int64)
    return units, np.ones(len(units))


def _concept_names(snapshot: Snapshot, plan: QueryPlan, allowed: Array) -> tuple[Array, Array]:
    """Symbols with a name that software commonly gives to the concepts of the task, with the concept's weight (N3)."""
    found: dict[int, float] = {}
    sounds = snapshot.symbols.by_folded_name
    for match in match_concepts(plan.text[:MAX_READ], frozenset(snapshot.languages)):
        for target in match.concept.targets:
            if is_generic(target):
                continue
            _, units = sounds.pairs(np.array([name_hash(name_key(target.rpartition(".")[2]))]))
            kept = units[allowed[units]]
            if len(kept) <= MAX_OF_A_NAME:
                found |= {unit: max(match.concept.weight, found.get(unit, 0.0)) for unit in kept.tolist()}
    units = np.array(sorted(found), np.int64)
    return units, np.array([found[unit] for unit in units.tolist()])


def _learned(run: ContextRun, allowed: Array) -> tuple[Array, Array]:
    kept = sorted({unit: weight for unit, weight in run.learned if allowed[unit]}.items())
    return np.array([unit for unit, _ in kept], np.int64), np.array([weight for _, weight in kept])


def _found(pool: CandidatePool) -> dict[str, tuple[Array, Array]]:
    return {name: (pool.units[np.isfinite(raw)], raw[np.isfinite(raw)]) for name, raw in pool.retrieved.items()}


def _with_included(pool: CandidatePool, include: Array | None) -> CandidatePool:
    return pool if include is None else pool.with_candidates(*union({**_found(pool), INCLUDED: (include, np.zeros(len(include)))}))


def _with_neighbours(pool: CandidatePool, scores: Array, allowed: Array, include: Array | None) -> CandidatePool:
    """The pool with what a walk from its best candidates finds, and how near everything is to them.

    Units to include are added after the walk: explaining one symbol changes nothing for the others.
    """
    graph = pool.graph
    places = pool.snapshot.unit_order
    rows, best = highest(np.arange(len(scores)), np.round(scores, DIGITS), SEEDS, lambda rows: places(pool.units[rows]))
    if graph is None or not len(rows):
        return _with_included(pool, include)
    seeds, restart = pool.units[rows], np.exp(best - best.max())
    walked = walk(graph.undirected, seeds, restart, alpha=RETURN, rounds=STEPS, hops=STEPS, stable_top=0, floor=0.0)
    walked = np.round(walked, DIGITS)
    near = lexical.top(walked[: len(allowed)], BY_WALK, allowed, pool.snapshot.unit_order)
    asked = {} if include is None else {INCLUDED: (include, np.zeros(len(include)))}
    units, retrieved = union({**_found(pool), "graph": near, **asked})
    beside = _beside(graph, seeds, restart / restart.sum(), units)
    return pool.with_candidates(units, retrieved, walk_scores=walked[units], neighbour_scores=beside)


def _beside(graph: Graph, seeds: Array, share: Array, units: Array) -> NeighbourScores:
    """How strongly one edge joins every candidate with the seeds."""
    used, using, kin = (np.zeros(graph.nodes) for _ in range(3))
    for seed, worth in zip(seeds.tolist(), share.tolist(), strict=True):
        out, into = graph.edges_from(seed), graph.edges_to(seed)
        for edges, ends, mass in (
            (out[IS_USE[graph.kind[out]]], graph.target, used),
            (into[IS_USE[graph.kind[into]]], graph.source, using),
            (out[IS_STRUCTURE[graph.kind[out]]], graph.target, kin),
        ):
            if len(edges):
                np.add.at(mass, ends[edges], worth * graph.confidence[edges] / np.sqrt(len(edges)))
    return NeighbourScores(*(np.round(mass[units], DIGITS) for mass in (used, using, kin)))


def _ordered(pool: CandidatePool, scores: Array, *, by_file: bool) -> list[int]:
    """Rows by score, best first; of several symbols with one name (or one name in one file), the best.

    Ties are ordered by path and line, and scores are rounded: the order must not depend on the order of indexing.
    """
    snapshot = pool.snapshot
    paths = np.argsort(np.argsort([snapshot.path(file) for file in pool.distinct_files.tolist()]))
    lines = snapshot.column("units.first")[pool.units]
    order = np.lexsort((lines, pool.by_file(paths), -np.round(np.nan_to_num(scores, nan=-np.inf), DIGITS)))
    names = snapshot.symbols.full[pool.units]
    _, first = np.unique((scoped_key(pool.files, names) if by_file else names)[order], return_index=True)
    return [int(row) for row in order[np.sort(first)]]

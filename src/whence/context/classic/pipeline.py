"""The classic ranking of a task's symbols: seeds from several channels, a walk from them, authorities among what it reaches.

Channels are fused by reciprocal rank and made coherent (N3, N5 to N7); the walk and the authorities are W3 and W4; the
signals of the profile score the resulting pool (S1, S2).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from whence.context.classic.channels import ClassicQuery, by_folders, by_names, by_words
from whence.context.classic.keywords import STOP_WORDS, keywords
from whence.context.pipeline import ContextRun, RankedSymbols, rank_pool
from whence.core.settings import ClassicSettings
from whence.core.types import EDGE_KINDS
from whence.graph.reader import Graph
from whence.graph.walk import best_rows, hits, walk
from whence.index.segment import KIND_NAMES
from whence.query.concepts import GENERIC, ConceptMatch, is_generic, is_strong, match_concepts, name_key
from whence.query.plan import QueryPlan, make_plan
from whence.ranking.pool import CandidatePool, SeedScores
from whence.retrieval.dense import dense_matches
from whence.retrieval.files import CommitMatches, PathMatch
from whence.retrieval.lexical import TermStatistics
from whence.storage.arrayfile import Array
from whence.storage.postings import distinct, ranges
from whence.text.analyzer import parts, stem, words

#: The channels, as ranks show them.
NAMES, WORDS, CLASSES, LEARNED, FOLDERS, VECTORS = "names", "words", "classes", "learned", "folders", "vectors"
#: Callers and callees of a seed whose names are read.
MOST_NEIGHBOURS = 100
#: Words that are in so many names that two of them in a row mean little.
GENERIC_WORDS = GENERIC | STOP_WORDS | frozenset("handle handler init process self test tests".split())
#: Units that vectors may contribute.
MOST_NEAREST = 30
_CALLS, _IMPLEMENTS, _EXTENDS = (EDGE_KINDS.index(kind) for kind in ("calls", "implements", "extends"))
#: Kinds whose subtypes are all implementors, in languages that write both the same way.
_PROMISES = np.array([kind in ("interface", "trait") for kind in KIND_NAMES])

#: The units nearest in meaning, at most this many, best first.
Nearest = Callable[[int], Array]
#: Units that words of the task led to before, each with its weight in the fusion (L5).
Learned = Sequence[tuple[int, float]]


def rank_classic(task: str, run: ContextRun, limits: ClassicSettings) -> RankedSymbols:
    """The symbols of a task by the classic rules, best first."""
    plan = make_plan(task, decay=run.profile.decay, quoted=run.profile.quoted)
    return rank_pool(classic_pool(plan, run, limits), run)


def classic_pool(plan: QueryPlan, run: ContextRun, limits: ClassicSettings) -> CandidatePool:
    """The candidates of a task for the signals of the classic profile; tests are among them, and S2 ranks them lower."""
    snapshot, graph, task = run.snapshot, run.graph, plan.text
    statistics = TermStatistics(snapshot, plan, run.profile, run.weights)
    query = ClassicQuery(task, keywords(task), graph, snapshot.symbols.defines, run.weights, run.profile.fields, limits)
    seeds = find_seeds(query, run.learned, _nearest(run, statistics, query.returnable))
    walked = _walked(graph, seeds, limits)
    units = np.flatnonzero((walked[: snapshot.units] > 0) & query.returnable)
    if run.include is not None:
        units = distinct(np.concatenate([units, run.include])).astype(np.int64)
    seeding = _seeding(graph, seeds, walked, units, run.now, limits.authorities)
    depth = snapshot.column("files.depth")[snapshot.alive]
    return CandidatePool(
        statistics,
        PathMatch(statistics),
        units,
        {channel: np.where(ranks > 0, 1 / (limits.fusion_k + np.maximum(ranks, 1)), np.nan) for channel, ranks in seeding.ranks.items()},
        int(depth.min(initial=255)),
        np.zeros(len(units)),
        CommitMatches(snapshot, plan),
        graph=graph,
        walk_scores=walked[units],
        seed_scores=seeding,
    )


def _nearest(run: ContextRun, statistics: TermStatistics, allowed: Array) -> Nearest | None:
    """A function that asks vectors; it is called only if the other channels find next to nothing (N5)."""
    if run.encoder is None or run.snapshot.vectors is None:
        return None

    def nearest(count: int) -> Array:
        dense = dense_matches(run.snapshot, run.encoder, statistics.plan.text)
        if dense is None:
            return np.empty(0, np.int64)
        units, similar = dense.units_of(*dense.nearest(count, allowed), statistics.unit_scores, allowed)
        return units[np.argsort(-similar, kind="stable")]

    return nearest


def _walked(graph: Graph, seeds: Seeds, limits: ClassicSettings) -> Array:
    """How near each node is to the seeds and, with less weight, to units in folders that the task names."""
    begun = np.concatenate([seeds.units, seeds.folders])
    restart = np.concatenate([seeds.restart, np.full(len(seeds.folders), limits.folder_restart)])
    return walk(
        graph.undirected,
        begun,
        restart,
        alpha=limits.walk_return,
        rounds=limits.walk_rounds,
        tolerance=limits.walk_tolerance,
        hops=limits.walk_hops,
        floor=limits.walk_floor,
        external=np.arange(graph.symbols.units, graph.nodes),
    )


def _seeding(graph: Graph, seeds: Seeds, walked: Array, units: Array, now: float, authorities: int) -> SeedScores:
    rows = best_rows(walked, authorities)
    authority, hub = np.zeros(graph.nodes), np.zeros(graph.nodes)
    authority[rows], hub[rows] = hits(graph.starts, graph.target, rows)
    ranks = {}
    for channel, found in seeds.channels.items():
        place = np.zeros(graph.nodes, np.int64)
        place[found] = np.arange(1, len(found) + 1)
        ranks[channel] = place[units]
    return SeedScores(np.isin(units, seeds.units), authority[units], hub[units], ranks, now)


@dataclass(frozen=True, slots=True)
class Seeds:
    """Where a walk begins, and which channels proposed it."""

    units: Array  # best first
    restart: Array  # the weight of each in the walk
    folders: Array  # units by folders (N4): they enter the walk without competing for a place
    channels: Mapping[str, Array]  # what each channel found, in its order


def find_seeds(query: ClassicQuery, learned: Learned = (), nearest: Nearest | None = None) -> Seeds:
    """The seeds of a task."""
    limits = query.limits
    named, worded, folders = by_names(query), by_words(query), by_folders(query)
    matches = match_concepts(query.task, frozenset(query.snapshot.languages))
    most = int(limits.equivalent_share * (len(named) + len(worded)))
    classes = _equivalents(query, matches, named)[:most]
    taught = {unit: weight for unit, weight in sorted(learned, key=lambda one: -one[1]) if query.returnable[unit]}
    found = {NAMES: named, WORDS: worded, CLASSES: classes, LEARNED: np.array(list(taught), np.int64), FOLDERS: folders}
    weights = {NAMES: limits.tiered_weight, WORDS: limits.bm25_weight, CLASSES: limits.equivalent_weight}
    few = len(np.unique(np.concatenate(list(found.values())))) < limits.vector_below
    if nearest is not None and (few or limits.vector_weight > 0):
        found[VECTORS] = nearest(MOST_NEAREST)
        weights[VECTORS] = limits.vector_weight or limits.tiered_weight
    scores = _fused(query, found, weights, taught)
    best = sorted(scores, key=lambda unit: (-scores[unit], unit))
    candidates = np.array(list(dict.fromkeys((*_injected(query, matches), *best)))[: limits.candidates], np.int64)
    chosen = candidates[np.sort(_coherent(query, candidates)[: _seed_count(query)])]
    joining = _implementors(query, chosen)
    restart = np.linspace(limits.restart_first, limits.restart_last, len(chosen))
    restart = np.concatenate([restart, np.full(len(joining), limits.restart_last)])
    return Seeds(np.concatenate([chosen, joining]), restart, folders, found)


def _fused(query: ClassicQuery, found: Mapping[str, Array], weights: Mapping[str, float], taught: Mapping[int, float]) -> dict[int, float]:
    """Reciprocal rank fusion; learned units each have their own weight."""
    k = query.limits.fusion_k
    scores: dict[int, float] = {}
    for channel, weight in weights.items():
        for rank, unit in enumerate(found[channel].tolist() if weight else ()):
            scores[unit] = scores.get(unit, 0.0) + weight / (k + rank + 1)
    for rank, (unit, weight) in enumerate(taught.items()):
        scores[unit] = scores.get(unit, 0.0) + weight / (k + rank + 1)
    return scores


# N3: equivalence classes.
def _equivalents(query: ClassicQuery, matches: Sequence[ConceptMatch], named: Array) -> Array:
    """Units that equivalence classes and the neighbours of named units point at, surest first."""
    weights: dict[int, float] = {}
    for match in matches:
        for unit in _targets(query, match):
            weights[unit] = max(weights.get(unit, 0.0), match.concept.weight)
    for unit in _aliases(query, named[: query.limits.alias_seeds]):
        weights[unit] = max(weights.get(unit, 0.0), query.limits.alias_weight)
    return np.array(sorted(weights, key=lambda unit: -weights[unit]), np.int64)


def _targets(query: ClassicQuery, match: ConceptMatch) -> list[int]:
    """The units that the targets of a class name; for `Type.member` the type must match too."""
    found: dict[int, None] = {}
    for target in match.concept.targets:
        if is_generic(target):
            continue
        outer, _, name = target.rpartition(".")
        units = query.tables.joined.equal(name_key(name))
        if outer:
            owners = query.symbols.owner[units].tolist()
            units = units[[owner >= 0 and name_key(query.snapshot.unit_name(owner)) == name_key(outer) for owner in owners]]
        found.update(dict.fromkeys(query.by_importance(units).tolist()))
    return list(found)


def _injected(query: ClassicQuery, matches: Sequence[ConceptMatch]) -> list[int]:
    """The targets of heavy classes of which two phrases matched, or one of several words: they come first."""
    sure = [match for match in matches if match.concept.weight >= query.limits.injected_weight and is_strong(match)]
    return list(dict.fromkeys(unit for match in sure for unit in _targets(query, match)))


def _aliases(query: ClassicQuery, named: Array) -> list[int]:
    """The units whose callers or callees have two words in a row that the task has in a row."""
    said = [stem(part) for word in words(query.task) for part in parts(word)]
    spoken = set(pairwise(said))
    found = []
    for unit in named.tolist():
        for neighbour in _callers_and_callees(query, unit):
            telling = [stem(part) for part in parts(query.snapshot.unit_name(neighbour)) if part not in GENERIC_WORDS]
            if not spoken.isdisjoint(pairwise(telling)):
                found.append(unit)
                break
    return found


def _callers_and_callees(query: ClassicQuery, unit: int) -> list[int]:
    graph = query.graph
    out, into = graph.edges_from(unit), graph.edges_to(unit)
    ends = np.concatenate([graph.target[out[graph.kind[out] == _CALLS]], graph.source[into[graph.kind[into] == _CALLS]]])
    return [int(end) for end in ends[ends < query.symbols.units][:MOST_NEIGHBOURS]]


# N6 and N7: implementors, and the order of seeds.
def _implementors(query: ClassicQuery, seeds: Array) -> Array:
    """Types that implement one of the seeds, in the order of the seeds."""
    graph, symbols = query.graph, query.symbols
    edges = graph.in_edges[ranges(graph.in_starts, seeds[symbols.container[seeds]])[1]]
    promised = _PROMISES[query.snapshot.kinds[graph.target[edges]]]
    kinds = graph.kind[edges]
    sources = graph.source[edges[(kinds == _IMPLEMENTS) | (promised & (kinds == _EXTENDS))]]
    joining = dict.fromkeys(unit for unit in sources.tolist() if query.returnable[unit])
    return np.array([unit for unit in joining if unit not in set(seeds.tolist())][: query.limits.implementors], np.int64)


def _coherent(query: ClassicQuery, ranked: Array) -> Array:
    """The candidates in order: those of the package with most of them first; in a large graph, types before the rest."""
    symbols = query.symbols
    if not len(ranked):
        return np.empty(0, np.int64)
    packages = symbols.folder[symbols.file[ranked]]
    known, first, counts = np.unique(packages, return_index=True, return_counts=True)
    largest = known[np.lexsort((first, -counts))[0]]
    large = int(symbols.defines.sum()) > query.limits.large_nodes
    after = ~symbols.container[ranked] if large else np.zeros(len(ranked), bool)
    return np.lexsort((after, packages != largest))


def _seed_count(query: ClassicQuery) -> int:
    limits, nodes = query.limits, int(query.symbols.defines.sum())
    if nodes > limits.large_nodes:
        return limits.seeds_large
    return limits.seeds_medium if nodes > limits.medium_nodes else limits.seeds_small

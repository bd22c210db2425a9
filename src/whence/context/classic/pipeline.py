"""The classic way from a task to symbols: seeds by channels, a walk from them, authorities among what it finds (N, W3, W4).

It gives a pool; the signals of the profile score it (S1, S2).
"""

from __future__ import annotations

import numpy as np

from whence.context.classic.channels import Sought
from whence.context.classic.keywords import keywords
from whence.context.classic.seeds import Nearest, Seeds, find_seeds
from whence.context.pipeline import ContextRun, RankedSymbols, rank_pool
from whence.core.settings_schema import ClassicSettings
from whence.graph.reader import Graph
from whence.graph.walk import best_rows, hits, walk
from whence.query.plan import QueryPlan, make_plan
from whence.ranking.pool import CandidatePool, SeedScores
from whence.retrieval.commits import CommitMatches
from whence.retrieval.dense import dense_matches
from whence.retrieval.paths import PathMatch
from whence.retrieval.term_statistics import TermStatistics
from whence.storage.arrayfile import Array
from whence.storage.rows import distinct


def rank_classic(task: str, run: ContextRun, limits: ClassicSettings) -> RankedSymbols:
    """The symbols of a task by the classic rules, best first."""
    plan = make_plan(task, decay=run.profile.decay, quoted=run.profile.quoted)
    return rank_pool(classic_pool(plan, run, limits), run)


def classic_pool(plan: QueryPlan, run: ContextRun, limits: ClassicSettings) -> CandidatePool:
    """The candidates of a task for the signals of the classic profile; tests are among them, and S2 ranks them lower."""
    snapshot, graph, task = run.snapshot, run.graph, plan.text
    statistics = TermStatistics(snapshot, plan, run.profile, run.weights)
    sought = Sought(task, keywords(task), graph, snapshot.symbols.defines, run.weights, run.profile.fields, limits)
    seeds = find_seeds(sought, run.learned, _nearest(run, statistics, sought.returnable))
    walked = _walked(graph, seeds, limits)
    units = np.flatnonzero((walked[: snapshot.units] > 0) & sought.returnable)
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
    """How to ask vectors, which happens only when the other channels find next to nothing (N5)."""
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
    """How near each node is to the seeds, and less strongly to what stands in folders that the task names."""
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

"""The classic way from a task to symbols: seeds by channels, a walk from them, authorities among what it finds (N, W3, W4).

It gives a pool; the signals of the profile score it (S1, S2).
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from whence.context.classic.channels import Sought
from whence.context.classic.keywords import keywords
from whence.context.classic.seeds import Learned, Nearest, Seeds, find_seeds
from whence.core.profiles import Profile
from whence.core.settings_schema import ClassicSettings
from whence.embed.encoder import Encoder
from whence.graph.hits import best_rows, hits
from whence.graph.reader import Graph
from whence.graph.walk import walk
from whence.index.snapshot import Snapshot
from whence.query.plan import QueryPlan
from whence.ranking.pool import CandidatePool, SeedScores
from whence.retrieval.commits import CommitMatches
from whence.retrieval.dense import dense_matches
from whence.retrieval.paths import PathMatch
from whence.retrieval.term_statistics import FieldWeights, TermStatistics
from whence.storage.arrayfile import Array
from whence.storage.rows import distinct


class ClassicIndex(Protocol):
    """What a task is asked of."""

    @property
    def snapshot(self) -> Snapshot:
        """The index."""

    @property
    def graph(self) -> Graph:
        """Its symbol graph."""

    @property
    def profile(self) -> Profile:
        """The weights of columns and signals."""

    @property
    def weights(self) -> FieldWeights:
        """What postings are worth under the profile."""

    @property
    def encoder(self) -> Encoder | None:
        """What reads meaning, where something does."""

    @property
    def include(self) -> Array | None:
        """Units to rank whether or not they are found."""


def classic_pool(
    task: str,
    run: ClassicIndex,
    plan: QueryPlan,
    allowed: Array,
    *,
    now: float,
    learned: Learned = (),
    limits: ClassicSettings | None = None,
) -> CandidatePool:
    """The candidates of a task for the signals of the classic profile. `allowed` must hold tests: S2 makes less of them."""
    snapshot, graph = run.snapshot, run.graph
    limits = limits or ClassicSettings()
    statistics = TermStatistics(snapshot, plan, run.profile, run.weights)
    sought = Sought(task, keywords(task), graph, allowed, run.weights, run.profile.fields, limits)
    seeds = find_seeds(sought, learned, _nearest(run, statistics, sought.kept))
    walked = _walked(graph, seeds, limits)
    units = np.flatnonzero((walked[: snapshot.units] > 0) & sought.kept)
    if run.include is not None:
        units = distinct(np.concatenate([units, run.include])).astype(np.int64)
    seeding = _seeding(graph, seeds, walked, units, now, limits.authorities)
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
        walked=walked[units],
        seeding=seeding,
    )


def _nearest(run: ClassicIndex, statistics: TermStatistics, allowed: Array) -> Nearest | None:
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

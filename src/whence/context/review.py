"""Symbols around files or a change, ranked by the graph alone (P3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from whence.context.pipeline import ContextRun, RankedSymbols, rank_pool
from whence.core.errors import UsageError
from whence.graph.reader import IS_REFERENCE
from whence.graph.walk import walk
from whence.query.plan import EMPTY_PLAN
from whence.ranking.pool import INCLUDED, CandidatePool, SeedScores
from whence.retrieval.files import CommitMatches, PathMatch
from whence.retrieval.lexical import TermStatistics
from whence.storage.arrayfile import Array
from whence.storage.postings import distinct, ranges


def rank_files(paths: Sequence[str], run: ContextRun) -> RankedSymbols:
    """The symbols of files and those that refer to them; most referenced first."""
    snapshot, graph = run.snapshot, run.graph
    files = sorted({file for path in paths for file in _files_of(path, snapshot.symbols.file_row)})
    _, units = ranges(snapshot.unit_starts, np.array(files, np.int64))
    seeds = units[snapshot.symbols.defines[units]]
    callers = _callers(run, seeds)
    blast = graph.referrers / max(float(graph.referrers[seeds].max(initial=0.0)), 1.0)
    return _near(run, seeds, distinct(np.concatenate([seeds, callers])), np.minimum(blast, 1.0))


def rank_changes(seeds: Array, run: ContextRun) -> RankedSymbols:
    """The symbols that changed, and what a walk from them finds."""
    snapshot, graph = run.snapshot, run.graph
    walked = walk(graph.undirected, seeds, np.ones(len(seeds)), external=np.arange(graph.symbols.units, graph.nodes))
    found = np.flatnonzero((walked[: snapshot.units] > 0) & snapshot.symbols.defines)
    return _near(run, seeds, distinct(np.concatenate([seeds, found])), walked)


def _files_of(path: str, row_of: Mapping[str, int]) -> list[int]:
    """A file's row, or those of all files in a folder; `.` is the root."""
    folder = "" if path == "." else path.rstrip("/") + "/"
    found = [row_of[path]] if path in row_of else [row for one, row in row_of.items() if one.startswith(folder)]
    if not found:
        raise UsageError(f"{path!r} is not indexed", hint="whence status --files says why a file is left out")
    return found


def _callers(run: ContextRun, seeds: Array) -> Array:
    graph, symbols = run.graph, run.snapshot.symbols
    _, at = ranges(graph.in_starts, seeds)
    edges = graph.in_edges[at]
    sources = graph.source[edges[IS_REFERENCE[graph.kind[edges]]]].astype(np.int64)
    return distinct(sources[symbols.defines[sources]]) if len(sources) else sources


def _near(run: ContextRun, seeds: Array, units: Array, blast: Array) -> RankedSymbols:
    snapshot = run.snapshot
    statistics = TermStatistics(snapshot, EMPTY_PLAN, run.profile, run.weights)
    none = np.zeros(len(units))
    seeding = SeedScores(np.isin(units, seeds), none, none, {}, run.now)
    retrieved = {INCLUDED: np.where(seeding.is_seed, 1.0, np.nan), "graph": np.where(blast[units] > 0, blast[units], np.nan)}
    pool = CandidatePool(
        statistics,
        PathMatch(statistics),
        units,
        retrieved,
        0,
        none,
        CommitMatches(snapshot, EMPTY_PLAN),
        graph=run.graph,
        walk_scores=blast[units],
        seed_scores=seeding,
    )
    return rank_pool(pool, run, by_file=True)

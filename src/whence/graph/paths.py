"""The shortest path from one symbol to another, along calls, references and containment."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from whence.core.types import EDGE_KINDS, PROVENANCES
from whence.graph.neighbours import by_name_note, display_name, edge_place, is_by_name
from whence.graph.reader import KIND_ROWS, Adjacency, Graph, edges_of
from whence.storage.arrayfile import Array

#: A longer path says nothing.
MAX_HOPS = 12
#: Kinds of edge that a path may take. A call of a method also leads to its overrides.
_STEPS = "calls references type_hint_of contains extends implements accesses_field decorates throws handles_route consumes_endpoint"
_IS_STEP = np.array([kind in _STEPS.split() for kind in EDGE_KINDS])
_START, _UNSEEN = -1, -2


@dataclass(frozen=True, slots=True)
class PathStep:
    """One edge of a path."""

    source: str
    target: str
    kind: str
    path: str  # the file and line of the edge
    line: int
    provenance: str
    confidence: float
    source_key: str
    target_key: str
    note: str = ""


class PathFinder:
    """Finds shortest paths in one graph."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    def shortest(self, sources: Array, goals: Array, max_hops: int) -> list[PathStep] | None:
        """A shortest path from any source to any goal, certain calls first among equals; None if there is none."""
        best: Array | None = None
        for adjacency in self._adjacencies():
            found = shortest_path(adjacency, sources, goals, max_hops=max_hops)
            if found is not None and (best is None or len(found) < len(best)):
                best = found
        if best is None:
            return None
        edges, is_reversed = self._steps
        return [self._step(int(edges[at]), is_reversed=bool(is_reversed[at])) for at in best.tolist()]

    @cached_property
    def _steps(self) -> tuple[Array, Array]:
        """The edges a path may take, sorted by where a step along them starts, and whether it goes against the edge."""
        graph = self._graph
        forward, overrides = np.flatnonzero(_IS_STEP[graph.kind]), np.flatnonzero(graph.kind == KIND_ROWS["overrides"])
        edges, is_reversed = np.concatenate([forward, overrides]), np.repeat([False, True], [len(forward), len(overrides)])
        order = np.argsort(np.where(is_reversed, graph.target[edges], graph.source[edges]), kind="stable")
        return edges[order], is_reversed[order]

    def _adjacencies(self) -> Iterator[Adjacency]:
        """The same edges four times: certain calls, all calls, everything certain, everything."""
        graph, (edges, is_reversed) = self._graph, self._steps
        start = np.where(is_reversed, graph.target[edges], graph.source[edges])
        end = np.where(is_reversed, graph.source[edges], graph.target[edges])
        starts = np.searchsorted(start, np.arange(graph.nodes + 1))
        certain = ~is_by_name(graph, edges)
        calls = is_reversed | (graph.kind[edges] == KIND_ROWS["calls"])
        for allowed in (certain & calls, calls, certain, np.ones(len(edges), bool)):
            yield Adjacency(graph.nodes, starts, end, allowed)

    def _step(self, edge: int, *, is_reversed: bool) -> PathStep:
        graph = self._graph
        ends = int(graph.source[edge]), int(graph.target[edge])
        source, target = reversed(ends) if is_reversed else ends
        path, line = edge_place(graph, edge)
        by_name = bool(is_by_name(graph, np.array([edge]))[0])
        return PathStep(
            source=display_name(graph, source),
            target=display_name(graph, target),
            kind="overridden_by" if is_reversed else EDGE_KINDS[int(graph.kind[edge])],
            path=path,
            line=line,
            provenance=PROVENANCES[int(graph.provenance[edge])],
            confidence=round(float(graph.confidence[edge]), 3),
            source_key=graph.key(source),
            target_key=graph.key(target),
            note="may reach" if is_reversed else by_name_note(graph, edge) if by_name else "",
        )


def shortest_path(graph: Adjacency, sources: Array, goals: Array, *, max_hops: int | None = None) -> Array | None:
    """The edges of a shortest path from any source to any goal; empty if they overlap, None if there is no path."""
    is_goal = np.zeros(graph.nodes, np.bool_)
    is_goal[graph.checked_rows(goals)] = True
    level = graph.checked_rows(sources)
    via = np.full(graph.nodes, _UNSEEN, np.int64)  # the edge by which each node was first reached
    via[level] = _START
    hops_left = graph.nodes if max_hops is None else max_hops
    while len(level):
        arrived = level[is_goal[level]]
        if len(arrived):
            return _trace_back(graph, via, int(arrived[0]))
        if hops_left <= 0:
            return None
        hops_left -= 1
        level = _next_level(graph, level, via)
    return None


def _next_level(graph: Adjacency, level: Array, via: Array) -> Array:
    """The unseen nodes one edge further, each marked in `via` with the first edge that leads to it."""
    edges, _ = edges_of(graph.starts, level)
    targets = graph.targets[edges]
    useful = (via[targets] == _UNSEEN) & (graph.weights[edges] > 0)
    edges, targets = edges[useful], targets[useful].astype(np.int64)
    # numpy keeps the last of several values for one place: assign in reverse to keep the first edge.
    via[targets[::-1]] = edges[::-1]
    fresh: Array = targets[via[targets] == edges]
    return fresh


def _trace_back(graph: Adjacency, via: Array, node: int) -> Array:
    edges: list[int] = []
    while via[node] != _START:
        edges.append(int(via[node]))
        node = int(np.searchsorted(graph.starts, edges[-1], side="right")) - 1
    return np.array(edges[::-1], np.int64)

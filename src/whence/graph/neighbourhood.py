"""Kinds of edge as a picture tells them apart."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from whence.core.errors import UsageError
from whence.core.types import EDGE_KINDS, PROVENANCES
from whence.graph.names import NamedSymbol
from whence.graph.neighbours import definition_place, display_name
from whence.graph.paths import edges_of
from whence.graph.reader import Adjacency, Graph
from whence.graph.walk import walk
from whence.index.symbols import NameTable, scoped_key
from whence.storage.arrayfile import Array
from whence.storage.rows import distinct, first_of_each, is_member, ranges

#: Kinds by what they say; every other kind is `other`.
_KINDS_OF = {
    "calls": frozenset({"calls"}),
    "inheritance": frozenset({"extends", "implements", "implements_rpc", "overrides", "inherits"}),
    "tests": frozenset({"tests", "tested_by", "co_tested_with"}),
    "contains": frozenset({"contains", "member_of"}),
}
GROUPS = (*_KINDS_OF, "other")
#: The group of each kind, by its row.
GROUP_OF = tuple(next((group for group, kinds in _KINDS_OF.items() if kind in kinds), "other") for kind in EDGE_KINDS)
#: Whether a kind is drawn, by its row. The others say an edge once more from its other end, or only that two symbols have
#: a test in common: they are walked, and a picture of them is a knot.
DRAWN = np.array([kind not in ("member_of", "tested_by", "co_tested_with") for kind in EDGE_KINDS])


@dataclass(frozen=True, slots=True)
class EdgeAmong:
    """Two of the nodes, and how the first has to do with the second."""

    source: int
    target: int
    group: str
    weight: float  # how readily a walk follows it


def edges_among(graph: Graph, nodes: Sequence[int]) -> list[EdgeAmong]:
    """The edges between some nodes; of several of one group from one node to another, the one that is followed most readily."""
    inside = np.unique(np.array(nodes, np.int64))
    _, edges = ranges(graph.starts, inside)
    edges = edges[is_member(graph.target[edges].astype(np.int64), inside) & DRAWN[graph.kind[edges]]]
    edges = edges[graph.source[edges] != graph.target[edges]]
    found: dict[tuple[int, int, str], float] = {}
    for edge, weight in zip(edges.tolist(), graph.walk_weights[edges].tolist(), strict=True):
        key = (int(graph.source[edge]), int(graph.target[edge]), GROUP_OF[int(graph.kind[edge])])
        found[key] = max(weight, found.get(key, 0.0))
    return [EdgeAmong(*key, weight) for key, weight in found.items()]


DEFAULT_DEPTH, MAX_DEPTH = 2, 4
DEFAULT_NODES, MAX_NODES = 60, 500
#: Scores that differ by less are equal: the order in which numbers are summed is not that of any two indexes.
_DIGITS = 6


@dataclass(frozen=True, slots=True)
class GraphNode:
    """A symbol in a neighbourhood: all definitions of one key."""

    key: str
    name: str  # as its language writes it; empty for code outside of any definition
    kind: str  # of unit, or what a node outside the source is: route, env, process
    path: str  # empty outside the source
    line: int
    end_line: int
    score: float  # how often the walk is there, 1 where it is most often
    distance: int  # hops from the symbol that was asked about
    in_tests: bool

    @property
    def folder(self) -> str:
        """The folder that its file is in."""
        return self.path.rpartition("/")[0]


@dataclass(frozen=True, slots=True)
class GraphEdge:
    """All edges of one kind from one place to another."""

    source: str
    target: str
    kind: str
    group: str
    confidence: float  # of the surest
    provenance: str  # of the surest
    line: int  # where the surest is written, in the file of the source; 0 where that is not known
    count: int


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """A symbol and what is around it, best first."""

    focus: str
    nodes: tuple[GraphNode, ...]
    edges: tuple[GraphEdge, ...]
    omitted: int  # places that the walk came to and that are not among these


@dataclass(frozen=True, slots=True)
class _Reached:
    """Places within some hops, those where the walk begins first."""

    spot: Array  # each by the first of its nodes
    distance: Array
    edge: Array  # all edges that may be followed between them
    number: Array  # of each node of the graph: which of these places it belongs to, or -1


class NeighbourhoodFinder:
    """Finds neighbourhoods in one graph. Definitions of one key are one place."""

    def __init__(self, graph: Graph) -> None:
        self._graph, self._symbols = graph, graph.symbols

    def around(
        self, symbol: NamedSymbol, *, groups: Collection[str] = GROUPS, depth: int = DEFAULT_DEPTH, most: int = DEFAULT_NODES
    ) -> Neighbourhood:
        """The places to which a walk from a symbol along edges of some groups comes most often, within some hops."""
        _check(groups, depth, most)
        reached = self._within(np.array(symbol.nodes, np.int64), np.array([group in groups for group in GROUP_OF]), depth)
        scores = self._walked(reached, depth)
        best = self._best(symbol, reached, scores, most)
        places = [self._place(key, int(reached.spot[at]), float(scores[at]), int(reached.distance[at])) for key, at in best]
        joints = self._joints(reached, {at: key for key, at in best})
        return Neighbourhood(symbol.key, tuple(places), tuple(joints), int((scores > 0).sum()) - len(places))

    # Places.
    @cached_property
    def _spots(self) -> Array:
        """The place of each node: the first node that has the same key."""
        units, nodes = self._symbols.units, self._graph.nodes
        spots = np.arange(nodes)
        same = scoped_key(self._symbols.file, self._symbols.full)
        order = np.argsort(same, kind="stable")
        first = first_of_each(same[order])
        spots[order] = np.repeat(order[first], np.diff(first, append=units))
        return spots

    @cached_property
    def _nodes_at(self) -> NameTable:
        return NameTable(self._spots, np.arange(self._graph.nodes))

    def _key(self, node: int) -> str:
        return self._symbols.key(node) if node < self._symbols.units else self._graph.name(node)

    def _place(self, key: str, node: int, score: float, distance: int) -> GraphNode:
        graph, symbols = self._graph, self._symbols
        path, line = definition_place(graph, node)
        return GraphNode(
            key=key,
            name=display_name(graph, node),
            kind=symbols.snapshot.kind(node) if path else key.partition(":")[0],
            path=path,
            line=line,
            end_line=int(symbols.snapshot.column("units.last")[node]) if path else 0,
            score=score,
            distance=distance,
            in_tests=bool(path and symbols.test[symbols.file[node]]),
        )

    # The walk.
    def _within(self, begin: Array, allowed: Array, depth: int) -> _Reached:
        """All places within some hops, whichever way the edges point. What one name means together is one place."""
        focus = int(self._spots[begin[0]])
        spots = self._spots.copy()
        spots[np.isin(spots, spots[begin])] = focus
        number = np.full(self._graph.nodes, -1, np.int64)
        levels = [np.array([focus])]
        nodes = np.flatnonzero(spots == focus)
        number[nodes] = 0
        edges = [np.empty(0, np.int64)]
        for _ in range(depth):
            edge = self._touching(nodes, allowed)
            edges.append(edge)
            ends = distinct(spots[np.concatenate([self._graph.source[edge], self._graph.target[edge]])])
            fresh = ends[number[ends] < 0]
            _, nodes = self._nodes_at.pairs(fresh)
            number[nodes] = sum(map(len, levels)) + np.searchsorted(fresh, spots[nodes])
            levels.append(fresh)
        distance = np.repeat(np.arange(len(levels)), [len(level) for level in levels])
        among = self._among(distinct(np.concatenate([*edges, self._touching(nodes, allowed)])), number)
        return _Reached(np.concatenate(levels), distance, among, number)

    def _touching(self, nodes: Array, allowed: Array) -> Array:
        """The edges at some nodes that may be followed."""
        outward, _ = edges_of(self._graph.starts, nodes)
        inward, _ = edges_of(self._graph.in_starts, nodes)
        edges = np.concatenate([outward, self._graph.in_edges[inward].astype(np.int64)])
        return distinct(edges[allowed[self._graph.kind[edges]] & (self._weights[edges] > 0)])

    def _among(self, edges: Array, number: Array) -> Array:
        """Those edges that join two different places that were reached."""
        source, target = number[self._graph.source[edges]], number[self._graph.target[edges]]
        return np.asarray(edges[(source >= 0) & (target >= 0) & (source != target)])

    @cached_property
    def _weights(self) -> Array:
        return self._graph.walk_weights

    def _walked(self, reached: _Reached, depth: int) -> Array:
        """How often a walk that keeps returning to the first place is at each."""
        source, target = reached.number[self._graph.source[reached.edge]], reached.number[self._graph.target[reached.edge]]
        begin, end = np.concatenate([source, target]), np.concatenate([target, source])
        order = np.argsort(begin, kind="stable")
        weights = np.tile(self._weights[reached.edge].astype(np.float64), 2)[order]
        starts = np.searchsorted(begin[order], np.arange(len(reached.spot) + 1))
        ways = Adjacency(len(reached.spot), starts, end[order], weights)
        return walk(ways, np.zeros(1, np.int64), np.ones(1), hops=depth, stable_top=0, floor=0.0)

    def _best(self, symbol: NamedSymbol, reached: _Reached, scores: Array, most: int) -> list[tuple[str, int]]:
        """The keys of the best places and their numbers, where the walk began first; equal ones by their keys."""
        rounded = scores.round(_DIGITS)
        least = np.sort(rounded)[::-1][min(most, len(rounded)) - 1]
        others = np.flatnonzero((rounded >= least) & (scores > 0) & (reached.distance > 0)).tolist()
        keys = {at: self._key(int(reached.spot[at])) for at in others}
        ordered = sorted(others, key=lambda at: (-rounded[at], keys[at]))[: most - 1]
        return [(symbol.key, 0), *((keys[at], at) for at in ordered)]

    # Edges.
    def _joints(self, reached: _Reached, keys: dict[int, str]) -> list[GraphEdge]:
        """The edges among some places, those of one kind between two as one; by their keys."""
        graph = self._graph
        kept = np.zeros(len(reached.spot), bool)
        kept[list(keys)] = True
        source, target = reached.number[graph.source[reached.edge]], reached.number[graph.target[reached.edge]]
        shown = kept[source] & kept[target] & DRAWN[graph.kind[reached.edge]]
        edge, source, target = reached.edge[shown], source[shown], target[shown]
        same = (source * len(reached.spot) + target) * len(EDGE_KINDS) + graph.kind[edge]
        order = np.lexsort((graph.line[edge], -graph.confidence[edge], same))
        first = first_of_each(same[order])
        counts = np.diff(first, append=len(order)).tolist()
        rows = order[first].tolist()
        joints = [
            self._joint(int(edge[row]), keys[int(source[row])], keys[int(target[row])], count)
            for row, count in zip(rows, counts, strict=True)
        ]
        return sorted(joints, key=lambda one: (one.source, one.target, one.kind))

    def _joint(self, edge: int, source: str, target: str, count: int) -> GraphEdge:
        graph = self._graph
        kind, provenance = int(graph.kind[edge]), PROVENANCES[int(graph.provenance[edge])]
        confidence = round(float(graph.confidence[edge]), 3)
        return GraphEdge(source, target, EDGE_KINDS[kind], GROUP_OF[kind], confidence, provenance, int(graph.line[edge]), count)


def _check(groups: Collection[str], depth: int, most: int) -> None:
    if unknown := sorted(set(groups) - set(GROUPS)):
        raise UsageError(f"there is no group of edges {unknown[0]!r}", hint=f"allowed: {', '.join(GROUPS)}")
    if not 1 <= depth <= MAX_DEPTH:
        raise UsageError(f"a depth of {depth}", hint=f"from 1 to {MAX_DEPTH}")
    if not 1 <= most <= MAX_NODES:
        raise UsageError(f"{most} nodes", hint=f"from 1 to {MAX_NODES}")

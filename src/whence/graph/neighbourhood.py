"""What is around a symbol, as a picture shows it: the best nodes of a walk and the edges among them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from whence.core.errors import UsageError
from whence.core.types import EDGE_KINDS, PROVENANCES
from whence.graph.names import NamedSymbol
from whence.graph.questions import definition_place, display_name
from whence.graph.reader import Adjacency, Graph, edges_of
from whence.graph.walk import walk
from whence.index.symbols import NameTable, scoped_key
from whence.storage.arrayfile import Array
from whence.storage.postings import distinct, first_of_each, is_member

#: Kinds of edge that a picture tells apart; every other kind is `other`.
_KINDS_OF = {
    "calls": frozenset({"calls"}),
    "inheritance": frozenset({"extends", "implements", "implements_rpc", "overrides", "inherits"}),
    "tests": frozenset({"tests", "tested_by", "co_tested_with"}),
    "contains": frozenset({"contains", "member_of"}),
}
GROUPS = (*_KINDS_OF, "other")
_GROUP_OF = tuple(next((group for group, kinds in _KINDS_OF.items() if kind in kinds), "other") for kind in EDGE_KINDS)
#: By kind row, whether an edge is drawn. The others repeat an edge from its other end, or join symbols that only share a test:
#: a walk follows them, but drawn they make a knot.
_IS_DRAWN = np.array([kind not in ("member_of", "tested_by", "co_tested_with") for kind in EDGE_KINDS])
DEFAULT_DEPTH, MAX_DEPTH = 2, 4
DEFAULT_NODES, MAX_NODES = 60, 500
#: Scores are compared rounded, because the order of summation differs between indexes.
_DIGITS = 6


@dataclass(frozen=True, slots=True)
class EdgeAmong:
    """An edge between two of some nodes."""

    source: int
    target: int
    group: str
    weight: float  # how readily a walk follows it


def edges_among(graph: Graph, nodes: Sequence[int]) -> list[EdgeAmong]:
    """The edges between some nodes; of several of one group from one node to another, the heaviest."""
    inside = np.unique(np.array(nodes, np.int64))
    edges, _ = edges_of(graph.starts, inside)
    edges = edges[is_member(graph.target[edges].astype(np.int64), inside) & _IS_DRAWN[graph.kind[edges]]]
    edges = edges[graph.source[edges] != graph.target[edges]]
    found: dict[tuple[int, int, str], float] = {}
    for edge, weight in zip(edges.tolist(), graph.walk_weights[edges].tolist(), strict=True):
        key = (int(graph.source[edge]), int(graph.target[edge]), _GROUP_OF[int(graph.kind[edge])])
        found[key] = max(weight, found.get(key, 0.0))
    return [EdgeAmong(*key, weight) for key, weight in found.items()]


@dataclass(frozen=True, slots=True)
class GraphNode:
    """A symbol in a neighbourhood: all definitions of one key."""

    key: str
    name: str  # as its language writes it; empty for code outside any definition
    kind: str  # of unit, or of endpoint: route, env, process
    path: str  # empty for an endpoint
    line: int
    end_line: int
    score: float  # how often the walk is there, 1 where it is most often
    distance: int  # hops from the focus
    in_tests: bool  # whether it is in a test

    @property
    def folder(self) -> str:
        """The folder of its file."""
        return self.path.rpartition("/")[0]


@dataclass(frozen=True, slots=True)
class GraphEdge:
    """All edges of one kind from one symbol to another."""

    source: str  # the key of the symbol it leads from
    target: str  # the key of the symbol it leads to
    kind: str  # calls, inherits, contains and so on
    group: str  # calls, inheritance, tests, contains or other
    confidence: float  # the highest of them
    provenance: str  # of the one with the highest confidence, as is the line
    line: int  # in the file of the source; 0 if unknown
    count: int  # how many edges: a symbol may have several definitions


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """A symbol and what is around it, best first."""

    focus: str
    nodes: tuple[GraphNode, ...]
    edges: tuple[GraphEdge, ...]
    omitted: int  # nodes that the walk reached and that are not among these


@dataclass(frozen=True, slots=True)
class _Reached:
    """The symbols within some hops, the focus first; each is the first of its nodes."""

    symbol: Array
    distance: Array
    edge: Array  # all edges among them that may be followed
    number: Array  # of each node of the graph: its row among the symbols, or -1

    def ends(self, graph: Graph) -> tuple[Array, Array]:
        """The symbols that each edge joins."""
        return self.number[graph.source[self.edge]], self.number[graph.target[self.edge]]


class NeighbourhoodFinder:
    """Finds neighbourhoods in one graph."""

    def __init__(self, graph: Graph) -> None:
        self._graph, self._symbols = graph, graph.symbols

    def around(
        self, symbol: NamedSymbol, *, groups: Collection[str] = GROUPS, depth: int = DEFAULT_DEPTH, most: int = DEFAULT_NODES
    ) -> Neighbourhood:
        """The symbols that a walk from a symbol, along edges of some groups and within some hops, reaches most often."""
        _check(groups, depth, most)
        reached = self._within(np.array(symbol.nodes, np.int64), np.array([group in groups for group in _GROUP_OF]), depth)
        scores = self._scores(reached, depth)
        best = self._best(symbol, reached, scores, most)
        nodes = [self._node(key, int(reached.symbol[at]), float(scores[at]), int(reached.distance[at])) for key, at in best]
        edges = self._edges(reached, {at: key for key, at in best})
        return Neighbourhood(symbol.key, tuple(nodes), tuple(edges), int((scores > 0).sum()) - len(nodes))

    # Symbols: the definitions of one key count as one.
    @cached_property
    def _first_nodes(self) -> Array:
        """For each node the first node that has the same key."""
        first_nodes = np.arange(self._graph.nodes)
        keys = scoped_key(self._symbols.file, self._symbols.full)
        order = np.argsort(keys, kind="stable")
        first = first_of_each(keys[order])
        first_nodes[order] = np.repeat(order[first], np.diff(first, append=self._symbols.units))
        return first_nodes

    @cached_property
    def _nodes_of(self) -> NameTable:
        return NameTable(self._first_nodes, np.arange(self._graph.nodes))

    def _node(self, key: str, node: int, score: float, distance: int) -> GraphNode:
        symbols = self._symbols
        path, line = definition_place(self._graph, node)
        return GraphNode(
            key=key,
            name=display_name(self._graph, node),
            kind=symbols.snapshot.kind(node) if path else key.partition(":")[0],
            path=path,
            line=line,
            end_line=int(symbols.snapshot.column("units.last")[node]) if path else 0,
            score=score,
            distance=distance,
            in_tests=bool(path and symbols.test[symbols.file[node]]),
        )

    # The walk.
    def _within(self, start: Array, allowed: Array, depth: int) -> _Reached:
        """All symbols within some hops along edges in either direction. The nodes at the start count as one symbol."""
        focus = int(self._first_nodes[start[0]])
        symbol_of = self._first_nodes.copy()
        symbol_of[np.isin(symbol_of, symbol_of[start])] = focus
        number = np.full(self._graph.nodes, -1, np.int64)
        levels = [np.array([focus])]
        nodes = np.flatnonzero(symbol_of == focus)
        number[nodes] = 0
        edges = [np.empty(0, np.int64)]
        for _ in range(depth):
            edge = self._edges_at(nodes, allowed)
            edges.append(edge)
            ends = distinct(symbol_of[np.concatenate([self._graph.source[edge], self._graph.target[edge]])])
            fresh = ends[number[ends] < 0]
            _, nodes = self._nodes_of.pairs(fresh)
            number[nodes] = sum(map(len, levels)) + np.searchsorted(fresh, symbol_of[nodes])
            levels.append(fresh)
        distance = np.repeat(np.arange(len(levels)), [len(level) for level in levels])
        edge = distinct(np.concatenate([*edges, self._edges_at(nodes, allowed)]))
        source, target = number[self._graph.source[edge]], number[self._graph.target[edge]]
        return _Reached(np.concatenate(levels), distance, edge[(source >= 0) & (target >= 0) & (source != target)], number)

    def _edges_at(self, nodes: Array, allowed: Array) -> Array:
        """The edges from or to some nodes that may be followed."""
        outgoing, _ = edges_of(self._graph.starts, nodes)
        incoming, _ = edges_of(self._graph.in_starts, nodes)
        edges = np.concatenate([outgoing, self._graph.in_edges[incoming].astype(np.int64)])
        return distinct(edges[allowed[self._graph.kind[edges]] & (self._weights[edges] > 0)])

    @cached_property
    def _weights(self) -> Array:
        return self._graph.walk_weights

    def _scores(self, reached: _Reached, depth: int) -> Array:
        """How often a walk that keeps restarting at the focus is at each symbol."""
        source, target = reached.ends(self._graph)
        weights = np.tile(self._weights[reached.edge].astype(np.float64), 2)
        both_ways = np.concatenate([source, target]), np.concatenate([target, source])
        adjacency = Adjacency.of_edges(len(reached.symbol), *both_ways, weights)
        return walk(adjacency, np.zeros(1, np.int64), np.ones(1), hops=depth, stable_top=0, floor=0.0)

    def _best(self, symbol: NamedSymbol, reached: _Reached, scores: Array, most: int) -> list[tuple[str, int]]:
        """Key and row of the best symbols, the focus first; ties by key."""
        rounded = scores.round(_DIGITS)
        least = np.sort(rounded)[::-1][min(most, len(rounded)) - 1]
        others = np.flatnonzero((rounded >= least) & (scores > 0) & (reached.distance > 0)).tolist()
        keys = {at: self._graph.key(int(reached.symbol[at])) for at in others}
        ordered = sorted(others, key=lambda at: (-rounded[at], keys[at]))[: most - 1]
        return [(symbol.key, 0), *((keys[at], at) for at in ordered)]

    # Edges.
    def _edges(self, reached: _Reached, keys: dict[int, str]) -> list[GraphEdge]:
        """The edges among some symbols, those of one kind between two as one, sorted by key."""
        graph = self._graph
        is_shown = np.zeros(len(reached.symbol), bool)
        is_shown[list(keys)] = True
        source, target = reached.ends(graph)
        rows = is_shown[source] & is_shown[target] & _IS_DRAWN[graph.kind[reached.edge]]
        edge, source, target = reached.edge[rows], source[rows], target[rows]
        same = (source * len(reached.symbol) + target) * len(EDGE_KINDS) + graph.kind[edge]
        order = np.lexsort((graph.line[edge], -graph.confidence[edge], same))
        first = first_of_each(same[order])
        counts = np.diff(first, append=len(order)).tolist()
        edges = [
            self._edge(int(edge[row]), keys[int(source[row])], keys[int(target[row])], count)
            for row, count in zip(order[first].tolist(), counts, strict=True)
        ]
        return sorted(edges, key=lambda one: (one.source, one.target, one.kind))

    def _edge(self, edge: int, source: str, target: str, count: int) -> GraphEdge:
        graph = self._graph
        kind, provenance = int(graph.kind[edge]), PROVENANCES[int(graph.provenance[edge])]
        confidence = round(float(graph.confidence[edge]), 3)
        return GraphEdge(source, target, EDGE_KINDS[kind], _GROUP_OF[kind], confidence, provenance, int(graph.line[edge]), count)


def _check(groups: Collection[str], depth: int, most: int) -> None:
    if unknown := sorted(set(groups) - set(GROUPS)):
        raise UsageError(f"unknown group of edges: {unknown[0]!r}", hint=f"allowed: {', '.join(GROUPS)}")
    if not 1 <= depth <= MAX_DEPTH:
        raise UsageError(f"depth {depth} is out of range", hint=f"from 1 to {MAX_DEPTH}")
    if not 1 <= most <= MAX_NODES:
        raise UsageError(f"{most} nodes is out of range", hint=f"from 1 to {MAX_NODES}")

"""Questions to the graph: who calls this, what does it call, what would a change affect, which tests cover it (W5).

Answers stay columns until they are shown, so that a symbol on which half of a
repository depends takes no longer than any other.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from whence.core.errors import UsageError
from whence.core.types import EDGE_KINDS
from whence.graph.names import NamedSymbol, SymbolNames
from whence.graph.neighbours import Neighbour, NeighbourRows
from whence.graph.paths import MAX_HOPS, PathFinder, PathStep
from whence.graph.reader import KIND_ROWS, PARSED_CONFIDENCE, Graph, edges_of
from whence.graph.unresolved import UnresolvedCalls, UnresolvedFinder
from whence.index.segment import name_hash
from whence.index.symbols import IS_CALLABLE, NameTable
from whence.storage.arrayfile import Array
from whence.storage.postings import distinct, first_of_each

CALLS = frozenset({"calls"})
#: Kinds of edge whose source depends on the target; the others only say that two symbols belong together.
DEPENDENCIES = frozenset(EDGE_KINDS) - frozenset(
    "contains member_of tests tested_by co_tested_with documents similar_to deployed_by owned_by authored_by".split()
)
CALLERS_DEPTH, IMPACT_DEPTH, TESTS_DEPTH = 1, 3, 4
#: Names of constructors, besides the name of the type itself: a call of the type calls them.
_CONSTRUCTORS = np.array([name_hash(name) for name in "__init__ __new__ constructor __construct initialize init".split()])
_CALLS, _OVERRIDES, _CONTAINS = (KIND_ROWS[kind] for kind in ("calls", "overrides", "contains"))


@dataclass(frozen=True, slots=True)
class NeighbourAnswer:
    """The neighbours of one symbol, and the calls that the graph could not resolve."""

    symbol: NamedSymbol
    rows: NeighbourRows
    unresolved: UnresolvedCalls
    other_uses: tuple[tuple[str, int], ...] = ()  # kinds that were not asked for, and how many such edges there are

    @property
    def code(self) -> NeighbourRows:
        """Those outside tests."""
        return self.rows.take(np.flatnonzero(~self.rows.in_tests))

    @property
    def tests(self) -> NeighbourRows:
        """Those in tests."""
        return self.rows.take(np.flatnonzero(self.rows.in_tests))

    def neighbours(self, limit: int | None = None) -> list[Neighbour]:
        """The nearest and most certain first."""
        return self.rows.take(np.arange(len(self.rows.node))[:limit]).neighbours()


@dataclass(frozen=True, slots=True)
class _Hop:
    """Edges from one level to the next, some of which lead to nodes already seen."""

    edge: Array
    node: Array
    previous: Array
    confidence: Array
    via_override: Array


class Questions:
    """Answers questions about one graph."""

    def __init__(self, graph: Graph) -> None:
        self.graph, self.symbols = graph, graph.symbols
        self.names, self.unresolved = SymbolNames(graph), UnresolvedFinder(graph)
        self._paths = PathFinder(graph)

    def resolve(self, text: str) -> list[NamedSymbol]:
        """Every symbol that a name may mean. UsageError if it is only called here, or is unknown."""
        found = self.names.find(text)
        if found:
            return found
        parts = text.strip().removesuffix("()").replace("::", ".").split(".")
        calls = self.unresolved.calls_named(parts[-1], receiver=parts[-2] if len(parts) > 1 else "")
        if not calls.total:
            return self.names.resolve(text)
        places = ", ".join(f"{one.path}:{one.line}" for one in calls.sample[:3])
        count = f"{calls.total} place{'s' if calls.total > 1 else ''}"
        raise UsageError(f"{text!r} is called in {count}, not defined in this repository: {places}{', ...' if calls.total > 3 else ''}")

    def resolve_one(self, text: str) -> NamedSymbol:
        """The only symbol that a name can mean."""
        return self.names.single(text, self.resolve(text))

    # The questions.
    def callers(self, symbol: NamedSymbol, *, kinds: Collection[str] = CALLS, depth: int = CALLERS_DEPTH) -> NeighbourAnswer:
        """Who calls a symbol, or uses it in other ways, directly or through others."""
        nodes = np.array(symbol.nodes, np.int64)
        if not symbol.path and kinds == CALLS:  # nothing calls an endpoint
            kinds = DEPENDENCIES
        rows = self._expand(nodes, kinds, depth, self._incoming)
        return NeighbourAnswer(symbol, rows, self._unresolved_calls(symbol), self._other_uses(nodes, kinds))

    def callees(self, symbol: NamedSymbol, *, kinds: Collection[str] = CALLS, depth: int = CALLERS_DEPTH) -> NeighbourAnswer:
        """What a symbol calls, with its members if it is a type."""
        nodes = self._with_members(symbol)
        rows = self._expand(nodes, kinds, depth, self._outgoing)
        return NeighbourAnswer(symbol, rows, self.unresolved.calls_of(nodes[nodes < self.symbols.units]))

    def impact(self, symbol: NamedSymbol, *, depth: int = IMPACT_DEPTH) -> NeighbourAnswer:
        """Everything that depends on a symbol or its members, directly or through others."""
        rows = self._expand(self._with_members(symbol), DEPENDENCIES, depth, self._incoming)
        return NeighbourAnswer(symbol, _distinct_nodes(rows), self._unresolved_calls(symbol))

    def tests(self, symbol: NamedSymbol, *, depth: int = TESTS_DEPTH) -> NeighbourAnswer:
        """The tests that call a symbol, directly or through others."""
        rows = self._expand(self._with_members(symbol), CALLS, depth, self._incoming)
        return NeighbourAnswer(symbol, rows.take(np.flatnonzero(rows.in_tests)), self._unresolved_calls(symbol))

    def path(self, sources: Sequence[NamedSymbol], goals: Sequence[NamedSymbol], *, hops: int = MAX_HOPS) -> list[PathStep] | None:
        """The shortest path from any of some symbols to any of others, step by step; None if there is none."""
        start, end = (np.array([node for one in some for node in one.nodes], np.int64) for some in (sources, goals))
        return self._paths.shortest(start, end, hops)

    def _unresolved_calls(self, symbol: NamedSymbol) -> UnresolvedCalls:
        """Unresolved calls of the symbol's name, which may mean it."""
        if not symbol.path or not symbol.name:
            return UnresolvedCalls()
        return self.unresolved.calls_named(self.symbols.snapshot.unit_name(symbol.nodes[0])).without_external()

    def _other_uses(self, nodes: Array, kinds: Collection[str]) -> tuple[tuple[str, int], ...]:
        edges, _ = edges_of(self.graph.in_starts, nodes)
        counts = np.bincount(self.graph.kind[self.graph.in_edges[edges]], minlength=len(EDGE_KINDS)).tolist()
        other = DEPENDENCIES - set(kinds)
        return tuple((kind, count) for kind, count in zip(EDGE_KINDS, counts, strict=True) if count and kind in other)

    # Following edges.
    def _expand(self, start: Array, kinds: Collection[str], depth: int, follow: Callable[[Array, Array], _Hop]) -> NeighbourRows:
        """Level by level: each node once, at its smallest distance, with one edge of each kind that leads to it."""
        if depth < 1:
            raise UsageError(f"depth {depth} is too small", hint="1 means direct neighbours")
        if unknown := sorted(set(kinds) - set(EDGE_KINDS)):
            raise UsageError(f"unknown kind of edge: {unknown[0]!r}", hint=f"allowed: {', '.join(EDGE_KINDS)}")
        allowed = np.array([kind in kinds for kind in EDGE_KINDS])
        seen = np.zeros(self.graph.nodes, bool)
        seen[start] = True
        levels, level = [NeighbourRows.none(self.graph)], distinct(start)
        for distance in range(1, depth + 1):
            levels.append(self._most_certain(follow(level, allowed), seen, distance))
            level = distinct(levels[-1].node)
            seen[level] = True
            if not len(level):
                break
        return self._sorted(NeighbourRows.concatenated(levels))

    def _most_certain(self, hop: _Hop, seen: Array, distance: int) -> NeighbourRows:
        """The most certain edge of each kind to each new node. The shares of direct overloads are added up again."""
        new = np.flatnonzero(~seen[hop.node])
        kind = self.graph.kind[hop.edge[new]].astype(np.int64)
        order = new[np.lexsort((hop.edge[new], -hop.confidence[new], kind, hop.node[new]))]
        first = first_of_each(hop.node[order] * 64 + self.graph.kind[hop.edge[order]])
        rows = order[first]
        confidence = hop.confidence[rows]
        if distance == 1 and len(rows):
            shares = np.add.reduceat(np.where(hop.via_override[order], 0.0, hop.confidence[order]), first)
            confidence = np.maximum(confidence, np.minimum(shares, PARSED_CONFIDENCE))
        distances = np.full(len(rows), distance)
        return NeighbourRows(self.graph, hop.edge[rows], hop.node[rows], hop.previous[rows], distances, confidence, hop.via_override[rows])

    def _sorted(self, rows: NeighbourRows) -> NeighbourRows:
        """By distance, confidence, and place of the edge."""
        graph = self.graph
        source = np.minimum(graph.source[rows.edge], max(self.symbols.units - 1, 0))
        path = self._path_ranks[self.symbols.file[source]] if self.symbols.units else source
        keys = (rows.node, graph.kind[rows.edge], graph.line[rows.edge], path, -rows.confidence.round(4), rows.distance)
        return rows.take(np.lexsort(keys))

    @cached_property
    def _path_ranks(self) -> Array:
        """The place of each file in the alphabetical order of paths."""
        paths = self.symbols.snapshot.paths
        ranks = np.empty(len(paths), np.int64)
        ranks[sorted(range(len(paths)), key=paths.__getitem__)] = np.arange(len(paths))
        return ranks

    def _incoming(self, level: Array, allowed: Array) -> _Hop:
        """Edges into some nodes; also calls of what they override, and uses of the types they construct."""
        graph = self.graph
        overrides = self._edges(level, _OVERRIDES)
        constructors = level[self._is_constructor[level]]
        ends = np.concatenate([level, graph.target[overrides], self.symbols.owner[constructors]]).astype(np.int64)
        previous = np.concatenate([level, graph.source[overrides], constructors]).astype(np.int64)
        share = np.concatenate([np.ones(len(level)), graph.confidence[overrides], np.ones(len(constructors))])
        via_override = np.repeat([False, True, False], [len(level), len(overrides), len(constructors)])
        rows, counts = edges_of(graph.in_starts, ends)
        edge, at = graph.in_edges[rows].astype(np.int64), np.repeat(np.arange(len(ends)), counts)
        # Of what it overrides only the callers count, not the other overrides.
        keep = allowed[graph.kind[edge]] & (~via_override[at] | (graph.kind[edge] == _CALLS))
        edge, at = edge[keep], at[keep]
        return _Hop(edge, graph.source[edge].astype(np.int64), previous[at], graph.confidence[edge] * share[at], via_override[at])

    def _outgoing(self, level: Array, allowed: Array) -> _Hop:
        """Edges out of some nodes and of the constructors of types; a call also leads to the overrides of its target."""
        graph = self.graph
        _, constructors = self._constructors.pairs(level)
        edge, _ = edges_of(graph.starts, np.concatenate([level, constructors]))
        edge = edge[allowed[graph.kind[edge]]]
        calls = edge[graph.kind[edge] == _CALLS]
        at, overrides = self._overrides_of.pairs(graph.target[calls])
        again = calls[at]
        edges = np.concatenate([edge, again]).astype(np.int64)
        return _Hop(
            edges,
            np.concatenate([graph.target[edge], graph.source[overrides]]).astype(np.int64),
            graph.source[edges].astype(np.int64),
            np.concatenate([graph.confidence[edge], graph.confidence[again] * graph.confidence[overrides]]),
            np.repeat([False, True], [len(edge), len(overrides)]),
        )

    def _edges(self, nodes: Array, kind: int) -> Array:
        """The edges of one kind that start at some nodes."""
        edges, _ = edges_of(self.graph.starts, nodes)
        return np.asarray(edges[self.graph.kind[edges] == kind])

    @cached_property
    def _overrides_of(self) -> NameTable:
        """Override edges by the overridden node, so that its many callers need not be searched."""
        edges = np.flatnonzero(self.graph.kind == _OVERRIDES)
        return NameTable(self.graph.target[edges], edges)

    # Types, their members and constructors.
    def _with_members(self, symbol: NamedSymbol) -> Array:
        """A symbol's nodes and everything they contain."""
        found = level = distinct(np.array(symbol.nodes, np.int64))
        while len(level):
            inside = self.graph.target[self._edges(level, _CONTAINS)].astype(np.int64)
            level = np.setdiff1d(inside, found)
            found = np.union1d(found, level)
        return found

    @cached_property
    def _is_constructor(self) -> Array:
        """Whether each node is a constructor of the type it is a member of."""
        symbols = self.symbols
        owner = symbols.owner
        named_after_type = (owner >= 0) & (symbols.name == symbols.name[owner]) if symbols.units else owner >= 0
        found = np.zeros(self.graph.nodes, bool)
        found[: symbols.units] = (
            (owner >= 0) & IS_CALLABLE[symbols.snapshot.kinds] & (named_after_type | np.isin(symbols.name, _CONSTRUCTORS))
        )
        return found

    @cached_property
    def _constructors(self) -> NameTable:
        rows = np.flatnonzero(self._is_constructor)
        return NameTable(self.symbols.owner[rows], rows)


def _distinct_nodes(rows: NeighbourRows) -> NeighbourRows:
    """Each node once, with its most certain edge; of equals, the kind that weighs most."""
    order = np.lexsort((rows.graph.kind[rows.edge], -rows.confidence.round(4), rows.node))
    return rows.take(np.sort(order[first_of_each(rows.node[order])]))

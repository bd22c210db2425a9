"""Questions to the graph: who calls this, what does it call, what would a change reach, which tests know it (W5).

Answers are columns until they are shown, so that a symbol on which half of a
repository depends is answered as fast as any other.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from whence.core.errors import UsageError
from whence.core.types import EDGE_KINDS
from whence.graph.builder.resolve import PARSED_CONFIDENCE
from whence.graph.names import NamedSymbol, SymbolNames
from whence.graph.neighbours import Neighbour, NeighbourRows
from whence.graph.paths import edges_of
from whence.graph.reader import Graph
from whence.graph.shortest_path import HOPS, PathStep, ShortestPaths
from whence.graph.unresolved import UnresolvedCalls, UnresolvedFinder
from whence.index.segment_writer import name_hash
from whence.index.symbols import IS_CALLABLE, NameTable
from whence.storage.arrayfile import Array
from whence.storage.rows import distinct, first_of_each

CALLS = frozenset({"calls"})
#: Kinds of edge by which the source needs the target; the others only say that two things lie together.
DEPENDENCIES = frozenset(EDGE_KINDS) - frozenset(
    "contains member_of tests tested_by co_tested_with documents similar_to deployed_by owned_by authored_by".split()
)
CALLERS_DEPTH, IMPACT_DEPTH, TESTS_DEPTH = 1, 3, 4
#: What makes an object of a type, beside a method of the type's own name: who calls the type calls it.
_CONSTRUCTORS = np.array([name_hash(name) for name in "__init__ __new__ constructor __construct initialize init".split()])
_KIND = {kind: row for row, kind in enumerate(EDGE_KINDS)}
_OVERRIDES, _CONTAINS = _KIND["overrides"], _KIND["contains"]


@dataclass(frozen=True, slots=True)
class NeighbourAnswer:
    """What was found for one symbol, and where the graph stops."""

    symbol: NamedSymbol
    rows: NeighbourRows
    unresolved: UnresolvedCalls
    other_uses: tuple[tuple[str, int], ...] = ()  # kinds that were not asked for, and how often they lead here

    @property
    def code(self) -> NeighbourRows:
        """What was found outside tests."""
        return self.rows.take(np.flatnonzero(~self.rows.in_tests))

    @property
    def tests(self) -> NeighbourRows:
        """What was found in tests."""
        return self.rows.take(np.flatnonzero(self.rows.in_tests))

    def neighbours(self, limit: int | None = None) -> list[Neighbour]:
        """The nearest and surest first."""
        return self.rows.take(np.arange(len(self.rows.node))[:limit]).neighbours()


@dataclass(frozen=True, slots=True)
class _Hop:
    """Edges from the last level to the next, before it is known which are new."""

    edge: Array
    node: Array
    near: Array
    confidence: Array
    may: Array


class Questions:
    """Answers about one graph."""

    def __init__(self, graph: Graph) -> None:
        self.graph, self.symbols = graph, graph.symbols
        self.names, self.unresolved = SymbolNames(graph), UnresolvedFinder(graph)
        self._ways = ShortestPaths(graph)

    def resolve(self, text: str) -> list[NamedSymbol]:
        """Every symbol that a name may mean; what is only called here, or is nowhere, is an error that says so."""
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
        """Who calls a symbol, or uses it otherwise, directly or through others."""
        nodes = np.array(symbol.nodes, np.int64)
        if not symbol.path and kinds == CALLS:  # a route, a variable, a process: it is never called
            kinds = DEPENDENCIES
        found = self._spread(nodes, kinds, depth, self._into)
        return NeighbourAnswer(symbol, found, self._calls_of_name(symbol), self._other_uses(nodes, kinds))

    def callees(self, symbol: NamedSymbol, *, kinds: Collection[str] = CALLS, depth: int = CALLERS_DEPTH) -> NeighbourAnswer:
        """What a symbol, or a type and its members, calls."""
        nodes = self._with_members(symbol)
        return NeighbourAnswer(
            symbol, self._spread(nodes, kinds, depth, self._out_of), self.unresolved.calls_of(nodes[nodes < self.symbols.units])
        )

    def impact(self, symbol: NamedSymbol, *, depth: int = IMPACT_DEPTH) -> NeighbourAnswer:
        """Everything that depends on a symbol, or on a type and its members, directly or through others."""
        return NeighbourAnswer(
            symbol, _once(self._spread(self._with_members(symbol), DEPENDENCIES, depth, self._into)), self._calls_of_name(symbol)
        )

    def tests(self, symbol: NamedSymbol, *, depth: int = TESTS_DEPTH) -> NeighbourAnswer:
        """The tests that call a symbol, directly or through others."""
        found = self._spread(self._with_members(symbol), CALLS, depth, self._into)
        return NeighbourAnswer(symbol, found.take(np.flatnonzero(found.in_tests)), self._calls_of_name(symbol))

    def path(self, sources: Sequence[NamedSymbol], goals: Sequence[NamedSymbol], *, hops: int = HOPS) -> list[PathStep] | None:
        """The shortest way from any of some symbols to any of others, step by step; None when there is none."""
        begin, end = (np.array([node for one in some for node in one.nodes], np.int64) for some in (sources, goals))
        return self._ways.shortest(begin, end, hops)

    # Where the graph stops.
    def _calls_of_name(self, symbol: NamedSymbol) -> UnresolvedCalls:
        """Calls of the symbol's name that lead nowhere and may mean it."""
        if not symbol.path or not symbol.name:
            return UnresolvedCalls()
        return self.unresolved.calls_named(self.symbols.snapshot.unit_name(symbol.nodes[0])).without_external()

    def _other_uses(self, nodes: Array, kinds: Collection[str]) -> tuple[tuple[str, int], ...]:
        places, _ = edges_of(self.graph.in_starts, nodes)
        counts = np.bincount(self.graph.kind[self.graph.in_edges[places]], minlength=len(EDGE_KINDS)).tolist()
        return tuple(
            (kind, count) for kind, count in zip(EDGE_KINDS, counts, strict=True) if count and kind in DEPENDENCIES and kind not in kinds
        )

    # Following edges.
    def _spread(self, start: Array, kinds: Collection[str], depth: int, follow: Callable[[Array, Array], _Hop]) -> NeighbourRows:
        """Level by level, each node once at its least distance, with one edge of each kind that leads to it."""
        if depth < 1:
            raise UsageError(f"a depth of {depth} reaches nothing", hint="1 is the nearest")
        if unknown := sorted(set(kinds) - set(EDGE_KINDS)):
            raise UsageError(f"there is no kind of edge {unknown[0]!r}", hint=f"allowed: {', '.join(EDGE_KINDS)}")
        allowed = np.array([kind in kinds for kind in EDGE_KINDS])
        seen = np.zeros(self.graph.nodes, bool)
        seen[start] = True
        parts, level = [NeighbourRows.none(self.graph)], distinct(start)
        for distance in range(1, depth + 1):
            found = self._surest(follow(level, allowed), seen, distance)
            parts.append(found)
            level = distinct(found.node)
            seen[level] = True
            if not len(level):
                break
        return self._ordered(NeighbourRows.concatenated(parts))

    def _surest(self, hop: _Hop, seen: Array, distance: int) -> NeighbourRows:
        """The surest edge of each kind to each new node; what several overloads share is put together again."""
        new = np.flatnonzero(~seen[hop.node])
        kind = self.graph.kind[hop.edge[new]].astype(np.int64)
        order = new[np.lexsort((hop.edge[new], -hop.confidence[new], kind, hop.node[new]))]
        first = first_of_each(hop.node[order] * 64 + self.graph.kind[hop.edge[order]])
        kept = order[first]
        confidence = hop.confidence[kept]
        if distance == 1 and len(kept):
            shares = np.add.reduceat(np.where(hop.may[order], 0.0, hop.confidence[order]), first)
            confidence = np.maximum(confidence, np.minimum(shares, PARSED_CONFIDENCE))
        return NeighbourRows(
            self.graph, hop.edge[kept], hop.node[kept], hop.near[kept], np.full(len(kept), distance), confidence, hop.may[kept]
        )

    def _ordered(self, found: NeighbourRows) -> NeighbourRows:
        source = np.minimum(self.graph.source[found.edge], max(self.symbols.units - 1, 0))
        place = self._path_order[self.symbols.file[source]] if self.symbols.units else source
        return found.take(
            np.lexsort(
                (found.node, self.graph.kind[found.edge], self.graph.line[found.edge], place, -found.confidence.round(4), found.distance)
            )
        )

    @cached_property
    def _path_order(self) -> Array:
        paths = self.symbols.snapshot.paths
        order = np.empty(len(paths), np.int64)
        order[sorted(range(len(paths)), key=paths.__getitem__)] = np.arange(len(paths))
        return order

    def _into(self, level: Array, allowed: Array) -> _Hop:
        """Edges into some nodes: also into what they override, and into the types they construct."""
        graph = self.graph
        overridden = self._edges(level, _OVERRIDES)
        made = level[self._constructs[level]]
        ends = np.concatenate([level, graph.target[overridden], self.symbols.owner[made]]).astype(np.int64)
        near = np.concatenate([level, graph.source[overridden], made]).astype(np.int64)
        worth = np.concatenate([np.ones(len(level)), graph.confidence[overridden], np.ones(len(made))])
        may = np.concatenate([np.zeros(len(level), bool), np.ones(len(overridden), bool), np.zeros(len(made), bool)])
        places, counts = edges_of(graph.in_starts, ends)
        edge, at = graph.in_edges[places].astype(np.int64), np.repeat(np.arange(len(ends)), counts)
        keep = allowed[graph.kind[edge]]
        # Who overrides or inherits what this overrides does not come to it through that.
        keep &= ~may[at] | (graph.kind[edge] == _KIND["calls"])
        edge, at = edge[keep], at[keep]
        return _Hop(edge, graph.source[edge].astype(np.int64), near[at], graph.confidence[edge] * worth[at], may[at])

    def _out_of(self, level: Array, allowed: Array) -> _Hop:
        """Edges out of some nodes: also out of the constructors of types, and on to what overrides the methods they lead to."""
        graph = self.graph
        _, constructors = self._constructors.pairs(level)
        edge, _ = edges_of(graph.starts, np.concatenate([level, constructors]))
        edge = edge[allowed[graph.kind[edge]]]
        calls = edge[graph.kind[edge] == _KIND["calls"]]
        at, over = self._overriding.pairs(graph.target[calls])
        again = calls[at]
        edges = np.concatenate([edge, again]).astype(np.int64)
        return _Hop(
            edges,
            np.concatenate([graph.target[edge], graph.source[over]]).astype(np.int64),
            graph.source[edges].astype(np.int64),
            np.concatenate([graph.confidence[edge], graph.confidence[again] * graph.confidence[over]]),
            np.concatenate([np.zeros(len(edge), bool), np.ones(len(over), bool)]),
        )

    def _edges(self, nodes: Array, kind: int) -> Array:
        """The edges of one kind that start at some nodes."""
        edges, _ = edges_of(self.graph.starts, nodes)
        return np.asarray(edges[self.graph.kind[edges] == kind])

    @cached_property
    def _overriding(self) -> NameTable:
        """The edges that say what overrides a node: by that node, so that its many callers are not looked through."""
        edges = np.flatnonzero(self.graph.kind == _OVERRIDES)
        return NameTable(self.graph.target[edges], edges)

    # Types, their members and what makes them.
    def _with_members(self, symbol: NamedSymbol) -> Array:
        """A symbol's nodes and, where they are types, all that they contain."""
        found = level = distinct(np.array(symbol.nodes, np.int64))
        while len(level):
            inside = self.graph.target[self._edges(level, _CONTAINS)].astype(np.int64)
            level = np.setdiff1d(inside, found)
            found = np.union1d(found, level)
        return found

    @cached_property
    def _constructs(self) -> Array:
        """Whether each node makes an object of the type it is a member of."""
        symbols = self.symbols
        owner = symbols.owner
        own_name = (owner >= 0) & (symbols.name == symbols.name[owner]) if symbols.units else owner >= 0
        found = np.zeros(self.graph.nodes, bool)
        found[: symbols.units] = (owner >= 0) & IS_CALLABLE[symbols.snapshot.kinds] & (own_name | np.isin(symbols.name, _CONSTRUCTORS))
        return found

    @cached_property
    def _constructors(self) -> NameTable:
        rows = np.flatnonzero(self._constructs)
        return NameTable(self.symbols.owner[rows], rows)


def _once(found: NeighbourRows) -> NeighbourRows:
    """Each node once, with the surest of its edges and of equal ones the one that weighs most."""
    order = np.lexsort((found.graph.kind[found.edge], -found.confidence.round(4), found.node))
    return found.take(np.sort(order[first_of_each(found.node[order])]))

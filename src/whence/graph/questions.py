"""Questions to the graph: who calls this, what does it call, what would a change affect, which tests cover it (W5).

Answers stay columns until they are shown, so that a symbol on which half of a
repository depends takes no longer than any other.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from whence.core.errors import UsageError
from whence.core.types import AST, EDGE_KINDS, PROVENANCES
from whence.graph.names import NamedSymbol, SymbolNames
from whence.graph.reader import KIND_ROWS, PARSED_CONFIDENCE, Adjacency, Graph, edges_of
from whence.graph.unresolved import UnresolvedCalls, UnresolvedFinder
from whence.index.segment import name_hash
from whence.index.symbols import IS_CALLABLE, NameTable
from whence.storage.arrayfile import Array
from whence.storage.postings import distinct, first_of_each

#: Kinds of edge that are resolved from names.
_NAMED_KINDS = "calls references type_hint_of decorates throws accesses_field extends implements"
_FROM_NAMES = np.array([KIND_ROWS[kind] for kind in _NAMED_KINDS.split()])
#: Edges of lower confidence were matched by name alone; confidences are rounded when stored.
_RESOLVED = PARSED_CONFIDENCE - 1e-3


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A symbol that an edge joins to the one in question."""

    qualified_name: str  # empty for code outside any definition
    path: str  # the place of the edge: the call
    line: int
    kind: str
    provenance: str
    confidence: float
    distance: int
    key: str
    defined_path: str  # the place of the symbol itself; empty for an endpoint
    defined_line: int
    through: str = ""  # the symbol one step nearer, unless that is the one in question
    note: str = ""  # what makes it less certain
    in_tests: bool = False
    candidates: tuple[str, ...] = ()  # what it may mean, if it was matched by name alone


@dataclass(frozen=True, slots=True)
class NeighbourRows:
    """Neighbours as columns, in the order of an answer."""

    graph: Graph
    edge: Array
    node: Array
    previous: Array  # the node one step nearer to the start
    distance: Array
    confidence: Array
    via_override: Array  # whether the call names another method, one that overrides this or is overridden by it

    @classmethod
    def none(cls, graph: Graph) -> NeighbourRows:
        """No neighbours."""
        empty = np.empty(0, np.int64)
        return cls(graph, empty, empty, empty, empty, np.empty(0, np.float64), np.empty(0, bool))

    @classmethod
    def concatenated(cls, parts: list[NeighbourRows]) -> NeighbourRows:
        """Several as one."""
        return cls(parts[0].graph, *map(np.concatenate, zip(*(part.columns() for part in parts), strict=True)))

    def take(self, rows: Array) -> NeighbourRows:
        """Some of them."""
        return NeighbourRows(self.graph, *(column[rows] for column in self.columns()))

    def columns(self) -> tuple[Array, ...]:
        """The columns in their order."""
        return self.edge, self.node, self.previous, self.distance, self.confidence, self.via_override

    @property
    def in_tests(self) -> Array:
        """Whether each neighbour is in a test."""
        symbols = self.graph.symbols
        if not symbols.units:
            return np.zeros(len(self.node), bool)
        inside = np.minimum(self.node, symbols.units - 1)
        return (self.node < symbols.units) & symbols.test[symbols.file[inside]]

    @property
    def by_name(self) -> Array:
        """Whether each was matched by name alone; overloads of one symbol together are certain."""
        return np.asarray(is_by_name(self.graph, self.edge) & (self.confidence < _RESOLVED))

    def neighbours(self) -> list[Neighbour]:
        """All of them as values."""
        tests, by_name = self.in_tests.tolist(), self.by_name.tolist()
        return [self._neighbour(row, in_tests=tests[row], by_name=by_name[row]) for row in range(len(self.node))]

    def _neighbour(self, row: int, *, in_tests: bool, by_name: bool) -> Neighbour:
        graph, edge, node = self.graph, int(self.edge[row]), int(self.node[row])
        path, line = edge_place(graph, edge)
        defined_path, defined_line = definition_place(graph, node)
        notes = [f"may reach: calls {display_name(graph, int(graph.target[edge]))}"] if self.via_override[row] else []
        notes += [by_name_note(graph, edge)] if by_name else []
        return Neighbour(
            qualified_name=display_name(graph, node),
            path=path,
            line=line,
            kind=EDGE_KINDS[int(graph.kind[edge])],
            provenance=PROVENANCES[int(graph.provenance[edge])],
            confidence=round(float(self.confidence[row]), 3),
            distance=int(self.distance[row]),
            key=graph.key(node),
            defined_path=defined_path,
            defined_line=defined_line,
            through=display_name(graph, int(self.previous[row])) if self.distance[row] > 1 else "",
            note="; ".join(notes),
            in_tests=in_tests,
            candidates=tuple(candidates(graph, edge)) if by_name else (),
        )


def display_name(graph: Graph, node: int) -> str:
    """A node's name as its language writes it; empty for code outside any definition."""
    return graph.symbols.written_name(node) if node < graph.symbols.units else graph.name(node)


def definition_place(graph: Graph, node: int) -> tuple[str, int]:
    """Path and line of a node; an endpoint has none."""
    symbols = graph.symbols
    if node >= symbols.units:
        return "", 0
    return symbols.snapshot.path(int(symbols.file[node])), int(symbols.snapshot.column("units.first")[node])


def edge_place(graph: Graph, edge: int) -> tuple[str, int]:
    """Path and line of an edge; the line of its source if its own is unknown."""
    path, first = definition_place(graph, int(graph.source[edge]))
    return path, int(graph.line[edge]) or first


def is_by_name(graph: Graph, edges: Array) -> Array:
    """Whether each edge was matched by name alone."""
    parsed = graph.provenance[edges] == PROVENANCES.index(AST)
    return np.asarray(parsed & (graph.confidence[edges] < _RESOLVED) & np.isin(graph.kind[edges], _FROM_NAMES))


def candidates(graph: Graph, edge: int) -> list[str]:
    """What an edge that was matched by name may lead to, as keys."""
    symbols = graph.symbols
    others = graph.edges_from(int(graph.source[edge]))
    others = others[(graph.kind[others] == graph.kind[edge]) & (graph.line[others] == graph.line[edge])]
    targets = graph.target[others[graph.target[others] < symbols.units]]
    return [graph.key(node) for node in targets[symbols.name[targets] == symbols.name[graph.target[edge]]].tolist()]


def by_name_note(graph: Graph, edge: int) -> str:
    """The note of an edge that was matched by name: how many candidates there are."""
    count = len(candidates(graph, edge))
    return f"by name, one of {count}" if count > 1 else "by name"


_CALLS, _OVERRIDES, _CONTAINS, _HANDLES = (KIND_ROWS[kind] for kind in ("calls", "overrides", "contains", "handles_route"))
#: A longer path says nothing.
MAX_HOPS = 12
#: Kinds of edge that a path may take; never out of or into what only contains. A call of a method also leads to its overrides.
_STEPS = "calls references type_hint_of extends implements accesses_field decorates throws handles_route consumes_endpoint"
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
        inside, symbols = np.minimum(graph.target, graph.symbols.units - 1), graph.symbols
        around = (graph.kind == _CONTAINS) & symbols.is_local[inside] if symbols.units else np.zeros(len(graph.kind), bool)
        forward, overrides = np.flatnonzero(_IS_STEP[graph.kind] | around), np.flatnonzero(graph.kind == KIND_ROWS["overrides"])
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


CALLS = frozenset({"calls"})
#: What makes something a caller: a decorator is called where it is written.
CALLERS = CALLS | {"decorates"}
#: Kinds of edge whose source depends on the target; the others only say that two symbols belong together.
DEPENDENCIES = frozenset(EDGE_KINDS) - frozenset(
    "contains member_of tests tested_by co_tested_with documents similar_to deployed_by owned_by authored_by".split()
)
#: By what a test reaches code.
_REACHES = CALLERS | {"consumes_endpoint"}
CALLERS_DEPTH, IMPACT_DEPTH, TESTS_DEPTH = 1, 3, 4
#: Names of constructors, besides the name of the type itself: a call of the type calls them.
#: Files that did not parse, and ranges of their lines, that an answer names.
MAX_MISREAD = 3
_CONSTRUCTORS = np.array([name_hash(name) for name in "__init__ __new__ constructor __construct initialize init".split()])


@dataclass(frozen=True, slots=True)
class NeighbourAnswer:
    """The neighbours of one symbol, and the calls that the graph could not resolve."""

    symbol: NamedSymbol
    rows: NeighbourRows
    unresolved: UnresolvedCalls
    other_uses: tuple[tuple[str, int], ...] = ()  # kinds that were not asked for, and how many such edges there are
    reason: str = ""  # why there are none

    @property
    def certain(self) -> NeighbourRows:
        """Those that are not matched by name alone."""
        return self.rows.take(np.flatnonzero(~self.rows.by_name))

    @property
    def guessed(self) -> NeighbourRows:
        """Those that are matched by name alone: together with the unresolved calls, the open mentions."""
        return self.rows.take(np.flatnonzero(self.rows.by_name))

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


def _misread_words(files: Sequence[tuple[str, Sequence[tuple[int, int]]]]) -> str:
    """Some files that did not parse cleanly, each with a few of the lines."""
    shown = []
    for path, ranges in files[:MAX_MISREAD]:
        lines = ", ".join(f"{first}-{last}" if last > first else f"{first}" for first, last in ranges[:MAX_MISREAD])
        shown.append(f"{path}, which did not parse cleanly (lines {lines}{', ...' if len(ranges) > MAX_MISREAD else ''})")
    return "; ".join(shown) + (f"; and {len(files) - MAX_MISREAD} more such files" if len(files) > MAX_MISREAD else "")


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
        if misread := self.symbols.snapshot.misread_files_with(parts[-1]):
            raise UsageError(f"{text!r} has no known definition, but occurs in {_misread_words(misread)}")
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
    def callers(self, symbol: NamedSymbol, *, kinds: Collection[str] = CALLERS, depth: int = CALLERS_DEPTH) -> NeighbourAnswer:
        """Who calls a symbol, or uses it in other ways, directly or through others."""
        nodes = np.array(symbol.nodes, np.int64)
        if not symbol.path and kinds == CALLERS:  # nothing calls an endpoint
            kinds = DEPENDENCIES
        rows = self._expand(nodes, kinds, depth, self._incoming if depth == 1 else self._incoming_or_around)
        return NeighbourAnswer(symbol, rows, self._unresolved_calls(symbol), self._other_uses(nodes, kinds))

    def callees(self, symbol: NamedSymbol, *, kinds: Collection[str] = CALLS, depth: int = CALLERS_DEPTH) -> NeighbourAnswer:
        """What a symbol calls, with its members if it is a type."""
        nodes = self._with_members(symbol)
        rows = self._expand(nodes, kinds, depth, self._outgoing)
        return NeighbourAnswer(symbol, rows, self.unresolved.calls_of(nodes[nodes < self.symbols.units]))

    def impact(self, symbol: NamedSymbol, *, depth: int = IMPACT_DEPTH) -> NeighbourAnswer:
        """Everything that depends on a symbol or its members, directly or through others."""
        rows = self._expand(self._with_members(symbol), DEPENDENCIES, depth, self._incoming_or_around)
        return NeighbourAnswer(symbol, _distinct_nodes(rows), self._unresolved_calls(symbol))

    def tests(self, symbol: NamedSymbol, *, depth: int = TESTS_DEPTH) -> NeighbourAnswer:
        """The tests that call a symbol, directly or through others, or ask for its route; if none do, those that use it in other ways."""
        nodes = self._with_members(symbol)
        rows = self._expand(nodes, _REACHES, depth, self._incoming_or_around)
        if not rows.in_tests.any():
            rows = self._expand(nodes, DEPENDENCIES, depth, self._incoming_or_around)
        tests, unresolved = rows.take(np.flatnonzero(rows.in_tests)), self._unresolved_calls(symbol)
        reason = "" if len(tests.node) else self._why_untested(rows, unresolved, depth)
        return NeighbourAnswer(symbol, tests, unresolved, reason=reason)

    def _why_untested(self, rows: NeighbourRows, unresolved: UnresolvedCalls, depth: int) -> str:
        """Why no test is known to reach a symbol."""
        symbols = self.symbols
        if not (symbols.test & symbols.snapshot.alive).any():
            return "there are no tests in this repository"
        in_tests = sum(bool(symbols.test[symbols.file_row[one.path]]) for one in unresolved.sample)
        maybe = f"; {in_tests} calls of the name in tests may mean it" if in_tests else ""
        if not len(rows.node):
            return f"nothing is known to use it{maybe}"
        count = len(distinct(rows.node))
        return f"it has {count} direct and indirect user{'s' * (count != 1)} within {depth} steps, and none is in a test{maybe}"

    def path(self, sources: Sequence[NamedSymbol], goals: Sequence[NamedSymbol], *, hops: int = MAX_HOPS) -> list[PathStep] | None:
        """The shortest path from any of some symbols, or of their members, to any of others; None if there is none."""
        start = distinct(np.concatenate([self._with_members(one) for one in sources]))
        end = np.array([node for one in goals for node in one.nodes], np.int64)
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
        """Edges into some nodes; also calls of what they override, uses of the types they construct, requests of their routes."""
        graph = self.graph
        overrides, routes = self._edges(level, _OVERRIDES), self._edges(level, _HANDLES)
        constructors = level[self.is_constructor[level]]
        ends = np.concatenate([level, graph.target[overrides], self.symbols.owner[constructors], graph.target[routes]]).astype(np.int64)
        previous = np.concatenate([level, graph.source[overrides], constructors, graph.source[routes]]).astype(np.int64)
        share = np.concatenate([np.ones(len(level)), graph.confidence[overrides], np.ones(len(constructors)), graph.confidence[routes]])
        sizes = [len(level), len(overrides), len(constructors), len(routes)]
        via_override, via_route = np.repeat([False, True, False, False], sizes), np.repeat([False, False, False, True], sizes)
        rows, counts = edges_of(graph.in_starts, ends)
        edge, at = graph.in_edges[rows].astype(np.int64), np.repeat(np.arange(len(ends)), counts)
        # Of what it overrides only the callers count, not the other overrides; of its routes those that ask, not other handlers.
        keep = allowed[graph.kind[edge]] & (~via_override[at] | (graph.kind[edge] == _CALLS))
        keep &= ~via_route[at] | (graph.kind[edge] != _HANDLES)
        edge, at = edge[keep], at[keep]
        return _Hop(edge, graph.source[edge].astype(np.int64), previous[at], graph.confidence[edge] * share[at], via_override[at])

    def _incoming_or_around(self, level: Array, allowed: Array) -> _Hop:
        """The same, and the function around what is local to one: it may hand that to others, which call it."""
        hop = self._incoming(level, allowed)
        local = level[level < self.symbols.units]
        rows, _ = edges_of(self.graph.in_starts, local[self.symbols.is_local[local]])
        edge = self.graph.in_edges[rows].astype(np.int64)
        edge = edge[self.graph.kind[edge] == _CONTAINS]
        source, target, confidence = self.graph.source[edge], self.graph.target[edge], self.graph.confidence[edge]
        around = (edge, source.astype(np.int64), target.astype(np.int64), confidence * PARSED_CONFIDENCE, np.zeros(len(edge), bool))
        return _Hop(
            *(
                np.concatenate(pair)
                for pair in zip((hop.edge, hop.node, hop.previous, hop.confidence, hop.via_override), around, strict=True)
            )
        )

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
    def is_constructor(self) -> Array:
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
        rows = np.flatnonzero(self.is_constructor)
        return NameTable(self.symbols.owner[rows], rows)


def _distinct_nodes(rows: NeighbourRows) -> NeighbourRows:
    """Each node once, with its most certain edge; of equals, the kind that weighs most."""
    order = np.lexsort((rows.graph.kind[rows.edge], -rows.confidence.round(4), rows.node))
    return rows.take(np.sort(order[first_of_each(rows.node[order])]))

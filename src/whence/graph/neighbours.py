"""What edges join a symbol to: as columns while it is searched for, as values when it is shown."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from whence.core.types import AST, EDGE_KINDS, PROVENANCES
from whence.graph.reader import KIND_ROWS, PARSED_CONFIDENCE, Graph
from whence.storage.arrayfile import Array

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
        """Whether each edge was matched by name alone."""
        return is_by_name(self.graph, self.edge)

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


def by_name_note(graph: Graph, edge: int) -> str:
    """The note of an edge that was matched by name: how many candidates there are."""
    symbols = graph.symbols
    others = graph.edges_from(int(graph.source[edge]))
    others = others[(graph.kind[others] == graph.kind[edge]) & (graph.line[others] == graph.line[edge])]
    others = others[graph.target[others] < symbols.units]
    same = int((symbols.name[graph.target[others]] == symbols.name[graph.target[edge]]).sum())
    return f"by name, one of {same}" if same > 1 else "by name"

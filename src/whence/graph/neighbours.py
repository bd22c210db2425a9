"""What an edge joins a symbol to: as columns while it is looked for, in words when it is shown."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from whence.core.types import AST, EDGE_KINDS, PROVENANCES
from whence.graph.builder.resolve import PARSED_CONFIDENCE
from whence.graph.reader import Graph
from whence.storage.arrayfile import Array

_KIND = {kind: row for row, kind in enumerate(EDGE_KINDS)}
#: Edges of these kinds were resolved from names.
_NAMING = np.array([_KIND[one] for one in "calls references type_hint_of decorates throws accesses_field extends implements".split()])
#: Below this the parser chose by name alone; confidences are kept in few bits.
_SURE = PARSED_CONFIDENCE - 1e-3


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A symbol that an edge joins to the one that was asked about."""

    qualified_name: str  # empty for code outside of any definition
    path: str  # where the edge is: the call
    line: int
    kind: str
    provenance: str
    confidence: float
    distance: int
    key: str
    defined_path: str  # where the symbol itself is; empty for what has no place in the source
    defined_line: int
    through: str = ""  # the symbol one step nearer, where that is not the one that was asked about
    note: str = ""  # what makes it less sure
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
    via_override: Array  # whether the call names another method, which the one that was asked about overrides or is overridden by

    @classmethod
    def none(cls, graph: Graph) -> NeighbourRows:
        """No neighbours."""
        empty = np.empty(0, np.int64)
        return cls(graph, empty, empty, empty, empty, np.empty(0, np.float64), np.empty(0, bool))

    def take(self, rows: Array) -> NeighbourRows:
        """Some of them."""
        columns = (self.edge, self.node, self.previous, self.distance, self.confidence, self.via_override)
        return NeighbourRows(self.graph, *(column[rows] for column in columns))

    @classmethod
    def concatenated(cls, parts: list[NeighbourRows]) -> NeighbourRows:
        """Several as one."""
        names = ("edge", "node", "previous", "distance", "confidence", "via_override")
        return cls(parts[0].graph, *(np.concatenate([getattr(part, name) for part in parts]) for name in names))

    @property
    def in_tests(self) -> Array:
        """Whether each neighbour lies in a test."""
        symbols = self.graph.symbols
        if not symbols.units:
            return np.zeros(len(self.node), bool)
        inside = np.minimum(self.node, symbols.units - 1)
        return (self.node < symbols.units) & symbols.test[symbols.file[inside]]

    @property
    def by_name(self) -> Array:
        """Whether each edge was taken by name alone."""
        return is_by_name(self.graph, self.edge)

    def neighbours(self) -> list[Neighbour]:
        """All of them in words."""
        tests, by_name = self.in_tests.tolist(), self.by_name.tolist()
        return [self._in_words(row, in_tests=tests[row], by_name=by_name[row]) for row in range(len(self.node))]

    def _in_words(self, row: int, *, in_tests: bool, by_name: bool) -> Neighbour:
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
            key=graph.symbols.key(node) if defined_path else graph.name(node),
            defined_path=defined_path,
            defined_line=defined_line,
            through=display_name(graph, int(self.previous[row])) if self.distance[row] > 1 else "",
            note="; ".join(notes),
            in_tests=in_tests,
        )


def display_name(graph: Graph, node: int) -> str:
    """A node's name as its language writes it; empty for code outside of any definition."""
    return graph.symbols.written_name(node) if node < graph.symbols.units else graph.name(node)


def definition_place(graph: Graph, node: int) -> tuple[str, int]:
    """Path and line of a node; nothing for one without a place."""
    symbols = graph.symbols
    if node >= symbols.units:
        return "", 0
    return symbols.snapshot.path(int(symbols.file[node])), int(symbols.snapshot.column("units.first")[node])


def edge_place(graph: Graph, edge: int) -> tuple[str, int]:
    """Where an edge is written: a line of its source's file, or its source where the line is not known."""
    path, first = definition_place(graph, int(graph.source[edge]))
    return path, int(graph.line[edge]) or first


def is_by_name(graph: Graph, edges: Array) -> Array:
    """Whether each edge is there because of a name alone."""
    parsed = graph.provenance[edges] == PROVENANCES.index(AST)
    return np.asarray(parsed & (graph.confidence[edges] < _SURE) & np.isin(graph.kind[edges], _NAMING))


def by_name_note(graph: Graph, edge: int) -> str:
    """What is to be known of an edge that was taken by name."""
    symbols = graph.symbols
    beside = graph.edges_from(int(graph.source[edge]))
    beside = beside[(graph.kind[beside] == graph.kind[edge]) & (graph.line[beside] == graph.line[edge])]
    beside = beside[graph.target[beside] < symbols.units]
    same = int((symbols.name[graph.target[beside]] == symbols.name[graph.target[edge]]).sum())
    return f"by name, one of {same}" if same > 1 else "by name"

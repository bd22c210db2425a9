"""The shortest way from one symbol to another, along calls, references and containment."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from whence.core.types import EDGE_KINDS, PROVENANCES
from whence.graph.neighbours import by_name_note, display_name, edge_place, is_by_name
from whence.graph.paths import shortest_path
from whence.graph.reader import Adjacency, Graph
from whence.storage.arrayfile import Array

#: Steps after which a way says nothing any more.
HOPS = 12
#: Kinds of edge that a way may take; a call of a method also leads to what overrides it.
CALLING = frozenset({"calls"})
LEADING = CALLING | frozenset(
    "references type_hint_of contains extends implements accesses_field decorates throws handles_route consumes_endpoint".split()
)
_OVERRIDES = EDGE_KINDS.index("overrides")


@dataclass(frozen=True, slots=True)
class PathStep:
    """One edge of a way."""

    source: str
    target: str
    kind: str
    path: str  # where the edge is
    line: int
    provenance: str
    confidence: float
    source_key: str
    target_key: str
    note: str = ""


class ShortestPaths:
    """Finds ways in one graph."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    def shortest(self, sources: Array, goals: Array, hops: int) -> list[PathStep] | None:
        """A shortest way; of several, one of sure calls before others. Nothing to do is an empty one."""
        best: Array | None = None
        for ways in self._adjacencies():
            found = shortest_path(ways, sources, goals, hops=hops)
            if found is not None and (best is None or len(found) < len(best)):
                best = found
        if best is None:
            return None
        return [self._step(int(self._edge[at]), back=bool(self._back[at])) for at in best.tolist()]

    @cached_property
    def _both(self) -> tuple[Array, Array]:
        """Edges that may be taken in the order of where they start, and whether each is taken against its direction."""
        graph = self._graph
        leading = np.array([kind in LEADING for kind in EDGE_KINDS])
        ahead, over = np.flatnonzero(leading[graph.kind]), np.flatnonzero(graph.kind == _OVERRIDES)
        edge, back = np.concatenate([ahead, over]), np.repeat([False, True], [len(ahead), len(over)])
        order = np.argsort(np.where(back, graph.target[edge], graph.source[edge]), kind="stable")
        return edge[order], back[order]

    @property
    def _edge(self) -> Array:
        return self._both[0]

    @property
    def _back(self) -> Array:
        return self._both[1]

    def _adjacencies(self) -> Iterator[Adjacency]:
        """The same edges four times: sure calls, all calls, all that is sure, all."""
        graph, (edge, back) = self._graph, self._both
        begin = np.where(back, graph.target[edge], graph.source[edge])
        end = np.where(back, graph.source[edge], graph.target[edge])
        starts = np.searchsorted(begin, np.arange(graph.nodes + 1))
        sure = ~is_by_name(graph, edge)
        calling = back | np.array([kind in CALLING for kind in EDGE_KINDS])[graph.kind[edge]]
        for followed in (sure & calling, calling, sure, np.ones(len(edge), bool)):
            yield Adjacency(graph.nodes, starts, end, followed)

    def _step(self, edge: int, *, back: bool) -> PathStep:
        graph = self._graph
        ends = int(graph.source[edge]), int(graph.target[edge])
        source, target = reversed(ends) if back else ends
        path, line = edge_place(graph, edge)
        by_name = bool(is_by_name(graph, np.array([edge]))[0])
        return PathStep(
            source=display_name(graph, source),
            target=display_name(graph, target),
            kind="overridden_by" if back else EDGE_KINDS[int(graph.kind[edge])],
            path=path,
            line=line,
            provenance=PROVENANCES[int(graph.provenance[edge])],
            confidence=round(float(graph.confidence[edge]), 3),
            source_key=self._key(source),
            target_key=self._key(target),
            note="may reach" if back else by_name_note(graph, edge) if by_name else "",
        )

    def _key(self, node: int) -> str:
        return self._graph.symbols.key(node) if node < self._graph.symbols.units else self._graph.name(node)

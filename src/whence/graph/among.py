"""What joins some symbols to one another, for a picture of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from whence.index.graph import Graph
from whence.index.rows import member, ranges
from whence.types import EDGE_KINDS

#: What a picture tells apart; every other kind of edge is "other".
_GROUPS = {
    "calls": ("calls",),
    "inheritance": ("extends", "implements", "implements_rpc", "overrides", "inherits"),
    "tests": ("tests",),
    "contains": ("contains",),
}
#: Edges that say another one backwards, or only that two symbols have a test in common: a picture of them is a knot.
_UNDRAWN = ("member_of", "tested_by", "co_tested_with")
_GROUP_OF = [next((group for group, kinds in _GROUPS.items() if kind in kinds), "other") for kind in EDGE_KINDS]
_DRAWN = np.array([kind not in _UNDRAWN for kind in EDGE_KINDS])


@dataclass(frozen=True, slots=True)
class Joined:
    """Two of the nodes, and how the first has to do with the second."""

    source: int
    target: int
    group: str
    weight: float  # how readily a walk follows it


def edges_among(graph: Graph, nodes: Sequence[int]) -> list[Joined]:
    """The edges between some nodes; of several of one group from one node to another, the one that is followed most readily."""
    inside = np.unique(np.array(nodes, np.int64))
    _, edges = ranges(graph.starts, inside)
    edges = edges[member(graph.target[edges].astype(np.int64), inside) & _DRAWN[graph.kind[edges]]]
    edges = edges[graph.source[edges] != graph.target[edges]]
    found: dict[tuple[int, int, str], float] = {}
    for edge, weight in zip(edges.tolist(), graph.walk_weights[edges].tolist(), strict=True):
        key = (int(graph.source[edge]), int(graph.target[edge]), _GROUP_OF[int(graph.kind[edge])])
        found[key] = max(weight, found.get(key, 0.0))
    return [Joined(*key, weight) for key, weight in found.items()]

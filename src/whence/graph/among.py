"""What joins some symbols to one another, for a picture of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from whence.graph.groups import DRAWN, GROUP_OF
from whence.index.graph import Graph
from whence.index.rows import member, ranges


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
    edges = edges[member(graph.target[edges].astype(np.int64), inside) & DRAWN[graph.kind[edges]]]
    edges = edges[graph.source[edges] != graph.target[edges]]
    found: dict[tuple[int, int, str], float] = {}
    for edge, weight in zip(edges.tolist(), graph.walk_weights[edges].tolist(), strict=True):
        key = (int(graph.source[edge]), int(graph.target[edge]), GROUP_OF[int(graph.kind[edge])])
        found[key] = max(weight, found.get(key, 0.0))
    return [Joined(*key, weight) for key, weight in found.items()]

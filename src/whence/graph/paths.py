"""What can be reached in a few hops, and by which edges."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from whence.graph.reader import Edges
from whence.storage.arrayfile import Array

#: How `Reached.via` marks a row where the way begins.
START = -1
_UNSEEN = -2


@dataclass(frozen=True, slots=True)
class Reached:
    """Nodes in the order in which they were found, those where the way began first."""

    rows: Array
    distance: Array  # hops, never falling from one row to the next
    via: Array  # the edge by which each was first reached, or START


def edges_of(starts: Array, rows: Array) -> tuple[Array, Array]:
    """The edges of some nodes, node after node, and how many each node has."""
    begins = starts[rows].astype(np.int64, copy=False)
    counts = starts[rows + 1].astype(np.int64, copy=False) - begins
    edges = np.ones(int(counts.sum()), np.int64)
    filled = np.flatnonzero(counts)
    if len(filled):
        first, size = begins[filled], counts[filled]
        edges[0] = first[0]
        edges[np.cumsum(size[:-1])] = first[1:] - (first[:-1] + size[:-1] - 1)
        np.cumsum(edges, out=edges)
    return edges, counts


def reach(graph: Edges, rows: Array, hops: int, *, most: int | None = None) -> Reached:
    """Every node within some hops of the given rows; with `most`, the nearest that many."""
    begun = checked_rows(graph, rows)[:most]
    via = np.full(graph.nodes, _UNSEEN, np.int64)
    via[begun] = START
    levels = [begun]
    room = graph.nodes if most is None else most - len(begun)
    while len(levels) <= hops and len(levels[-1]) and room > 0:
        fresh = _next_level(graph, levels[-1], via, room)
        room -= len(fresh)
        levels.append(fresh)
    found = np.concatenate(levels)
    distance = np.repeat(np.arange(len(levels)), [len(level) for level in levels])
    return Reached(found, distance, via[found])


def shortest_path(graph: Edges, sources: Array, goals: Array, *, hops: int | None = None) -> Array | None:
    """The edges of a shortest way from any source to any goal; none when they overlap, None when there is no way."""
    wanted = np.zeros(graph.nodes, np.bool_)
    wanted[checked_rows(graph, goals)] = True
    level = checked_rows(graph, sources)
    via = np.full(graph.nodes, _UNSEEN, np.int64)
    via[level] = START
    left = graph.nodes if hops is None else hops
    while len(level):
        arrived = level[wanted[level]]
        if len(arrived):
            return _way_back(graph, via, int(arrived[0]))
        if left <= 0:
            return None
        left -= 1
        level = _next_level(graph, level, via, graph.nodes)
    return None


def checked_rows(graph: Edges, rows: Array) -> Array:
    """The rows in rising order without repeats, or an error when one is not a node."""
    found = np.unique(np.asarray(rows, np.int64))
    if len(found) and (found[0] < 0 or found[-1] >= graph.nodes):
        raise ValueError(f"rows must lie between 0 and {graph.nodes - 1}")
    return found


def _next_level(graph: Edges, level: Array, via: Array, room: int) -> Array:
    """The unseen nodes one edge further, at most `room` of them, marked with the first edge that leads to each."""
    edges, _ = edges_of(graph.starts, level)
    targets = graph.targets[edges]
    useful = (via[targets] == _UNSEEN) & (graph.weights[edges] > 0)
    edges, targets = edges[useful], targets[useful].astype(np.int64)
    # Of several values for one place numpy keeps the last, so backwards the first edge stays.
    via[targets[::-1]] = edges[::-1]
    fresh: Array = targets[via[targets] == edges]
    via[fresh[room:]] = _UNSEEN
    return fresh[:room]


def _way_back(graph: Edges, via: Array, row: int) -> Array:
    edges: list[int] = []
    while via[row] != START:
        edges.append(int(via[row]))
        row = int(np.searchsorted(graph.starts, edges[-1], side="right")) - 1
    return np.array(edges[::-1], np.int64)

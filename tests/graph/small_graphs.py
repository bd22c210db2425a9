"""Graphs of a few edges, as the index will hold them."""

from __future__ import annotations

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from campaigns import examples
from whence.graph.reader import Adjacency
from whence.storage.arrayfile import Array


def graph_of(nodes: int, *edges: tuple[int, int] | tuple[int, int, float]) -> Adjacency:
    """A graph of edges (source, target) or (source, target, weight)."""
    full = sorted(((*edge, 1.0)[:3] for edge in edges), key=lambda edge: edge[0])
    sources = np.array([edge[0] for edge in full], np.int64)
    starts = np.concatenate([[0], np.cumsum(np.bincount(sources, minlength=nodes))]).astype(np.int64)
    return Adjacency(nodes, starts, np.array([edge[1] for edge in full], np.int32), np.array([edge[2] for edge in full], np.float32))


def rows(*numbers: int) -> Array:
    return np.array(numbers, np.int64)


MOST_NODES = 12
#: Small graphs show a mistake soon; a busy machine is no failure.
quickly = settings(max_examples=examples(40), deadline=None)


@st.composite
def graphs(draw: st.DrawFn) -> Adjacency:
    """Any small graph: loops, cycles, several edges between two nodes, edges of weight 0."""
    nodes = draw(st.integers(1, MOST_NODES))
    node = st.integers(0, nodes - 1)
    weight = st.sampled_from([0.0, 0.15, 0.3, 0.5, 0.8, 1.0])
    return graph_of(nodes, *draw(st.lists(st.tuples(node, node, weight), max_size=24)))


def pairs_of(graph: Adjacency) -> list[tuple[int, int, float]]:
    """The edges of a graph as (source, target, weight)."""
    sources = np.repeat(np.arange(graph.nodes), np.diff(graph.starts))
    return list(zip(sources.tolist(), graph.targets.tolist(), graph.weights.tolist(), strict=True))

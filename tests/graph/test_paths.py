"""Shortest paths."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph.small_graphs import graph_of, graphs, pairs_of, quickly, rows
from whence.graph.questions import shortest_path
from whence.graph.reader import Adjacency, edges_of


def distances(graph: Adjacency, begun: set[int]) -> dict[int, int]:
    """The distance of every reachable node, one hop at a time."""
    found = dict.fromkeys(begun, 0)
    level = 0
    while level in found.values():
        for source, target, weight in pairs_of(graph):
            if weight > 0 and found.get(source) == level:
                found.setdefault(target, level + 1)
        level += 1
    return found


def steps(graph: Adjacency, path: np.ndarray) -> list[tuple[int, int]]:
    pairs = pairs_of(graph)
    return [pairs[edge][:2] for edge in path.tolist()]


some_nodes = st.sets(st.integers(0, 11), max_size=3)


@quickly
@given(graphs(), some_nodes, some_nodes)
def test_a_path_is_as_short_as_can_be_and_holds_together(graph, begun, wanted):
    begun = {node for node in begun if node < graph.nodes}
    wanted = {node for node in wanted if node < graph.nodes}
    path = shortest_path(graph, rows(*begun), rows(*wanted))
    lengths = [distance for node, distance in distances(graph, begun).items() if node in wanted]
    if path is None:
        assert lengths == []
        return
    assert len(path) == min(lengths)
    way = steps(graph, path)
    assert not way or (way[0][0] in begun and way[-1][1] in wanted)
    assert all(before[1] == after[0] for before, after in pairwise(way))


def test_of_two_edges_to_one_node_the_first_is_taken():
    assert shortest_path(graph_of(2, (0, 1), (0, 1)), rows(0), rows(1)).tolist() == [0]


def test_an_edge_of_weight_0_is_no_way():
    assert shortest_path(graph_of(2, (0, 1, 0.0)), rows(0), rows(1)) is None


def test_sets_that_overlap_need_no_edge():
    path = shortest_path(graph_of(2, (0, 1)), rows(0, 1), rows(1))
    assert path is not None
    assert path.tolist() == []


def test_a_path_longer_than_allowed_is_not_found():
    chain = graph_of(4, (0, 1), (1, 2), (2, 3))
    assert shortest_path(chain, rows(0), rows(3), max_hops=2) is None
    assert steps(chain, shortest_path(chain, rows(0), rows(3), max_hops=3)) == [(0, 1), (1, 2), (2, 3)]


@pytest.mark.parametrize("row", [-1, 3])
def test_a_row_that_is_no_node_is_refused(row):
    with pytest.raises(ValueError, match="between 0 and 2"):
        shortest_path(graph_of(3), rows(row), rows(0))


def test_edges_come_node_after_node():
    graph = graph_of(4, (0, 1), (0, 2), (2, 3), (3, 0), (3, 1))
    edges, counts = edges_of(graph.starts, rows(3, 1, 0))
    assert edges.tolist() == [3, 4, 0, 1]
    assert counts.tolist() == [2, 0, 2]

"""What can be reached, and by which edges."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph.small_graphs import Edges, graph_of, graphs, pairs_of, quickly, rows
from whence.graph.paths import START, edges_of, reach, shortest_path


def distances(graph: Edges, begun: set[int]) -> dict[int, int]:
    """The distance of every reachable node, one hop at a time."""
    found = dict.fromkeys(begun, 0)
    level = 0
    while level in found.values():
        for source, target, weight in pairs_of(graph):
            if weight > 0 and found.get(source) == level:
                found.setdefault(target, level + 1)
        level += 1
    return found


def steps(graph: Edges, path: np.ndarray) -> list[tuple[int, int]]:
    pairs = pairs_of(graph)
    return [pairs[edge][:2] for edge in path.tolist()]


some_nodes = st.sets(st.integers(0, 11), max_size=3)


@quickly
@given(graphs(), some_nodes, st.integers(0, 5))
def test_what_is_reached_has_the_distance_of_the_shortest_way(graph, begun, hops):
    begun = {node for node in begun if node < graph.nodes}
    found = reach(graph, rows(*begun), hops)
    expected = {node: distance for node, distance in distances(graph, begun).items() if distance <= hops}
    assert dict(zip(found.rows.tolist(), found.distance.tolist(), strict=True)) == expected
    assert len(found.rows) == len(expected)
    assert (np.diff(found.distance) >= 0).all()


@quickly
@given(graphs(), some_nodes)
def test_each_node_is_reached_by_an_edge_from_one_hop_nearer(graph, begun):
    found = reach(graph, rows(*(node for node in begun if node < graph.nodes)), 5)
    distance = dict(zip(found.rows.tolist(), found.distance.tolist(), strict=True))
    for row, via in zip(found.rows.tolist(), found.via.tolist(), strict=True):
        if via == START:
            assert distance[row] == 0
        else:
            source, target, weight = pairs_of(graph)[via]
            assert (target, distance[source] + 1) == (row, distance[row])
            assert weight > 0


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


def test_with_a_limit_the_nearest_are_reached():
    chain = graph_of(5, (0, 1), (1, 2), (2, 3), (3, 4))
    assert reach(chain, rows(0), 9, most=3).rows.tolist() == [0, 1, 2]
    assert reach(graph_of(4, (0, 1), (0, 2), (0, 3)), rows(0), 9, most=3).rows.tolist() == [0, 1, 2]
    assert reach(chain, rows(0, 1, 2), 9, most=2).rows.tolist() == [0, 1]


def test_of_two_edges_to_one_node_the_first_is_taken():
    assert reach(graph_of(2, (0, 1), (0, 1)), rows(0), 1).via.tolist() == [START, 0]


def test_an_edge_of_weight_0_is_no_way():
    assert shortest_path(graph_of(2, (0, 1, 0.0)), rows(0), rows(1)) is None


def test_sets_that_overlap_need_no_edge():
    path = shortest_path(graph_of(2, (0, 1)), rows(0, 1), rows(1))
    assert path is not None
    assert path.tolist() == []


def test_a_path_longer_than_allowed_is_not_found():
    chain = graph_of(4, (0, 1), (1, 2), (2, 3))
    assert shortest_path(chain, rows(0), rows(3), hops=2) is None
    assert steps(chain, shortest_path(chain, rows(0), rows(3), hops=3)) == [(0, 1), (1, 2), (2, 3)]


@pytest.mark.parametrize("row", [-1, 3])
def test_a_row_that_is_no_node_is_refused(row):
    with pytest.raises(ValueError, match="between 0 and 2"):
        reach(graph_of(3), rows(row), 1)


def test_edges_come_node_after_node():
    graph = graph_of(4, (0, 1), (0, 2), (2, 3), (3, 0), (3, 1))
    edges, counts = edges_of(graph.starts, rows(3, 1, 0))
    assert edges.tolist() == [3, 4, 0, 1]
    assert counts.tolist() == [2, 0, 2]

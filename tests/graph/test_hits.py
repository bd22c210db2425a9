"""Authorities and hubs among the best nodes (W4)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph.small_graphs import Edges, graph_of, graphs, pairs_of, quickly, rows
from whence.graph.hits import adjustment, best_rows, hits


def hits_of(graph: Edges, *numbers: int, rounds: int = 10) -> tuple[np.ndarray, np.ndarray]:
    return hits(graph.starts, graph.targets, rows(*(numbers or range(graph.nodes))), rounds=rounds)


def test_what_many_lead_to_is_an_authority_and_what_leads_to_many_is_a_hub():
    authority, hub = hits_of(graph_of(4, (0, 2), (0, 3), (1, 2)))
    assert np.argmax(authority) == 2
    assert np.argmax(hub) == 0
    assert authority[:2].tolist() == [0, 0]
    assert hub[2:].tolist() == [0, 0]


def test_one_edge_makes_one_authority_and_one_hub():
    authority, hub = hits_of(graph_of(2, (0, 1)))
    assert authority.tolist() == [0, 1]
    assert hub.tolist() == [1, 0]


def test_edges_that_leave_the_rows_do_not_count():
    graph = graph_of(4, (0, 1), (0, 3), (3, 1))
    authority, hub = hits_of(graph, 0, 1, 2)
    assert authority.tolist() == [0, 1, 0]
    assert hub.tolist() == [1, 0, 0]


def test_scores_come_in_the_order_of_the_rows():
    graph = graph_of(4, (0, 2), (0, 3), (1, 2))
    forward, backward = hits_of(graph, 0, 1, 2, 3), hits_of(graph, 3, 2, 1, 0)
    assert forward[0].tolist() == backward[0][::-1].tolist()
    assert forward[1].tolist() == backward[1][::-1].tolist()


def test_a_row_given_twice_counts_once():
    authority, _ = hits_of(graph_of(3, (0, 1), (0, 2)), 0, 1, 1, 2)
    assert authority[1] == authority[2] == authority[3]


def test_no_rows_give_no_scores():
    authority, hub = hits(graph_of(3, (0, 1)).starts, graph_of(3, (0, 1)).targets, rows())
    assert (len(authority), len(hub)) == (0, 0)


@quickly
@given(graphs())
def test_both_scores_have_length_1_when_there_are_edges_and_are_0_when_not(graph):
    for scores in hits_of(graph):
        assert scores.min() >= 0
        assert np.sqrt((scores**2).sum()) == pytest.approx(1 if len(graph.targets) else 0)


@quickly
@given(graphs(), st.integers(1, 12))
def test_the_scores_are_those_of_the_rounds_by_hand(graph, rounds):
    edges = [(source, target) for source, target, _ in pairs_of(graph)]
    authority, hub = dict.fromkeys(range(graph.nodes), 1.0), dict.fromkeys(range(graph.nodes), 1.0)
    for _ in range(rounds):
        authority = dict.fromkeys(authority, 0.0)
        for source, target in edges:
            authority[target] += hub[source]
        hub = dict.fromkeys(hub, 0.0)
        for source, target in edges:
            hub[source] += authority[target]
        for scores in (authority, hub):
            length = sum(value**2 for value in scores.values()) ** 0.5 or 1.0
            scores.update({node: value / length for node, value in scores.items()})
    found = hits_of(graph, rounds=rounds)
    assert found[0] == pytest.approx(list(authority.values()))
    assert found[1] == pytest.approx(list(hub.values()))


@pytest.mark.parametrize(
    ("authority", "hub", "seed", "expected"),
    [
        (0.40, 0.00, True, 0.10),
        (0.05, 0.00, True, 0.00),
        (0.40, 0.00, False, -0.06),
        (0.20, 0.00, False, 0.00),
        (0.00, 0.50, True, 0.05),
        (0.00, 0.10, True, 0.00),
        (0.00, 0.50, False, 0.00),
        (0.40, 0.50, True, 0.15),
    ],
)
def test_seeds_are_raised_and_what_everything_uses_is_lowered(authority, hub, seed, expected):
    assert adjustment(np.array([authority]), np.array([hub]), np.array([seed])) == pytest.approx([expected])


def test_the_best_rows_come_highest_first_and_without_those_of_score_0():
    assert best_rows(np.array([0.2, 0.0, 1.0, 0.2, 0.5])).tolist() == [2, 4, 0, 3]
    assert best_rows(np.array([0.2, 0.0, 1.0, 0.2, 0.5]), 2).tolist() == [2, 4]

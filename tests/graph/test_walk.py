"""The walk that returns to its seeds (W3)."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph.small_graphs import graph_of, graphs, pairs_of, quickly, rows
from small_cases import each
from whence.graph.reader import Adjacency
from whence.graph.walk import best_rows, hits, score_adjustment, walk

ONE = np.ones(1)
#: Every round is walked, and nothing is dropped.
TO_THE_END = {"tolerance": 0.0, "stable_top": 0, "floor": 0.0}


def walked_by_hand(graph: Adjacency, seeds: dict[int, float], *, alpha: float, rounds: int, hops: int) -> list[float]:
    """The same walk with dictionaries, one edge at a time."""
    depth = dict.fromkeys(seeds, 0)
    followed = [edge for edge in pairs_of(graph) if edge[2] > 0]
    for level in range(hops):
        for source, target, _ in followed:
            if depth.get(source) == level:
                depth.setdefault(target, level + 1)
    leaving = {node: [edge for edge in followed if edge[0] == node and depth.get(node, hops) < hops] for node in range(graph.nodes)}
    mass = {node: seeds.get(node, 0.0) for node in range(graph.nodes)}
    for _ in range(rounds):
        after = {node: alpha * seeds.get(node, 0.0) for node in range(graph.nodes)}
        for node, amount in mass.items():
            total = sum(weight for _, _, weight in leaving[node])
            shares = [(target, weight / total) for _, target, weight in leaving[node]] or list(seeds.items())
            for target, share in shares:
                after[target] += (1 - alpha) * amount * share
        mass = after
    best = max(mass.values())
    return [mass[node] / best for node in range(graph.nodes)]


@st.composite
def tasks(draw: st.DrawFn) -> tuple[Adjacency, dict[int, float]]:
    """A graph and some seeds with restart weights."""
    graph = draw(graphs())
    seeds = draw(st.dictionaries(st.integers(0, graph.nodes - 1), st.sampled_from([0.3, 1.0, 2.0]), min_size=1, max_size=4))
    return graph, seeds


def arrays(seeds: dict[int, float]) -> tuple[np.ndarray, np.ndarray]:
    return np.array(list(seeds), np.int64), np.array(list(seeds.values()))


@quickly
@given(tasks(), st.integers(0, 8), st.integers(0, 4))
def test_the_scores_are_those_of_a_walk_by_hand(task, rounds, hops):
    graph, seeds = task
    share = {seed: weight / sum(seeds.values()) for seed, weight in seeds.items()}
    expected = walked_by_hand(graph, share, alpha=0.2, rounds=rounds, hops=hops)
    scores = walk(graph, *arrays(seeds), rounds=rounds, hops=hops, **TO_THE_END)
    assert scores == pytest.approx(expected, abs=1e-9)


@quickly
@given(tasks())
def test_scores_lie_between_0_and_1_and_the_best_is_1(task):
    graph, seeds = task
    scores = walk(graph, *arrays(seeds))
    assert scores.shape == (graph.nodes,)
    assert scores.min() >= 0
    assert scores.max() == 1


@quickly
@given(tasks())
def test_every_seed_has_a_score(task):
    graph, seeds = task
    assert (walk(graph, *arrays(seeds), floor=0.0)[list(seeds)] > 0).all()


@quickly
@given(tasks(), st.randoms(use_true_random=False))
def test_numbering_the_nodes_otherwise_changes_no_score(task, random):
    graph, seeds = task
    new = list(range(graph.nodes))
    random.shuffle(new)
    renumbered = graph_of(graph.nodes, *[(new[source], new[target], weight) for source, target, weight in pairs_of(graph)])
    moved = {new[seed]: weight for seed, weight in seeds.items()}
    scores = walk(graph, *arrays(seeds), **TO_THE_END)
    assert walk(renumbered, *arrays(moved), **TO_THE_END)[new] == pytest.approx(scores, abs=1e-9)


@quickly
@given(tasks())
def test_edges_of_weight_0_are_as_if_they_were_not_there(task):
    graph, seeds = task
    without = graph_of(graph.nodes, *[edge for edge in pairs_of(graph) if edge[2] > 0])
    assert walk(graph, *arrays(seeds)).tolist() == pytest.approx(walk(without, *arrays(seeds)).tolist())  # added up in another order


@quickly
@given(tasks(), tasks())
def test_what_no_edge_leads_to_has_no_score(task, other):
    (graph, seeds), (island, _) = task, other
    there = [(source + graph.nodes, target + graph.nodes, weight) for source, target, weight in pairs_of(island)]
    both = graph_of(graph.nodes + island.nodes, *pairs_of(graph), *there)
    scores = walk(both, *arrays(seeds))
    assert not scores[graph.nodes :].any()
    assert scores[: graph.nodes].tolist() == walk(graph, *arrays(seeds)).tolist()


def test_without_seeds_nothing_has_a_score():
    assert walk(graph_of(3, (0, 1)), rows(), np.zeros(0)).tolist() == [0, 0, 0]


def test_an_empty_graph_has_no_scores():
    assert walk(graph_of(0), rows(), np.zeros(0)).tolist() == []


def test_a_graph_without_edges_scores_its_seeds():
    assert walk(graph_of(3), rows(1), ONE).tolist() == [0, 1, 0]


def test_flow_is_divided_by_weight():
    scores = walk(graph_of(3, (0, 1, 1.0), (0, 2, 0.5)), rows(0), ONE, **TO_THE_END)
    assert scores[1] == pytest.approx(2 * scores[2])


def test_a_dead_end_returns_to_the_seeds():
    # A seed with one dead end: s = 0.2 + 0.8 d and d = 0.8 s.
    assert walk(graph_of(2, (0, 1)), rows(0), ONE, rounds=200, **TO_THE_END) == pytest.approx([1, 0.8])


def test_dead_ends_return_to_the_seeds_by_their_weight():
    scores = walk(graph_of(3, (0, 2), (1, 2)), rows(0, 1), np.array([3.0, 1.0]), **TO_THE_END)
    assert scores[0] == pytest.approx(3 * scores[1])


def test_a_self_loop_keeps_what_it_gets():
    plain = walk(graph_of(2, (0, 1), (1, 0)), rows(0), ONE, **TO_THE_END)
    looped = walk(graph_of(2, (0, 1), (1, 0), (1, 1)), rows(0), ONE, **TO_THE_END)
    assert looped[1] / looped[0] > plain[1] / plain[0]


def test_around_a_cycle_scores_fall_with_the_distance():
    scores = walk(graph_of(4, (0, 1), (1, 2), (2, 3), (3, 0)), rows(0), ONE, rounds=200, **TO_THE_END)
    assert scores == pytest.approx([1, 0.8, 0.64, 0.512])


def test_the_walk_goes_four_hops_and_no_further():
    chain = graph_of(8, *[(number, number + 1) for number in range(7)])
    assert np.flatnonzero(walk(chain, rows(0), ONE, **TO_THE_END)).tolist() == [0, 1, 2, 3, 4]
    assert np.flatnonzero(walk(chain, rows(0), ONE, hops=2, **TO_THE_END)).tolist() == [0, 1, 2]
    assert np.flatnonzero(walk(chain, rows(0), ONE, hops=0, **TO_THE_END)).tolist() == [0]


def test_an_edge_of_weight_0_is_no_short_cut():
    chain = graph_of(6, *[(number, number + 1) for number in range(5)], (0, 4, 0.0))
    assert np.flatnonzero(walk(chain, rows(0), ONE, **TO_THE_END)).tolist() == [0, 1, 2, 3, 4]


def test_scores_below_the_floor_are_dropped():
    star = graph_of(101, *[(0, leaf) for leaf in range(1, 101)])
    assert not walk(star, rows(0), ONE, stable_top=0)[1:].any()
    assert walk(star, rows(0), ONE, stable_top=0, floor=0.0)[1:].all()


def test_external_nodes_are_walked_through_and_then_dropped():
    chain = graph_of(3, (0, 1), (1, 2))
    whole = walk(chain, rows(0), ONE)
    outside = np.array([False, True, False])
    assert walk(chain, rows(0), ONE, external=outside).tolist() == [whole[0], 0, whole[2]]


def test_when_the_best_is_external_the_others_are_not_raised():
    pulled = graph_of(3, (0, 1), (1, 1), (1, 2))
    scores = walk(pulled, rows(0), ONE, external=np.array([False, True, False]))
    assert scores[1] == 0
    assert scores.max() < 1


@pytest.mark.parametrize("weights", [[0.0, 0.0], [-1.0, -2.0], [float("nan"), float("nan")]])
def test_seeds_without_a_weight_count_alike(weights):
    assert walk(graph_of(2), rows(0, 1), np.array(weights)).tolist() == [1, 1]


def test_a_seed_of_weight_0_is_no_place_to_return_to():
    assert walk(graph_of(2), rows(0, 1), np.array([1.0, 0.0])).tolist() == [1, 0]


def test_a_seed_given_twice_weighs_the_sum():
    assert walk(graph_of(2), rows(0, 1, 0), np.ones(3)).tolist() == [1, 0.5]


def test_the_walk_stops_when_a_round_moves_almost_nothing():
    chain = graph_of(2, (0, 1))
    early = walk(chain, rows(0), ONE, rounds=500, tolerance=0.5, stable_top=0)
    late = walk(chain, rows(0), ONE, rounds=500, tolerance=1e-9, stable_top=0)
    assert early[1] != pytest.approx(late[1], abs=1e-3)
    assert late == pytest.approx([1, 0.8], abs=1e-6)


def test_the_walk_stops_when_the_best_keep_their_order():
    # The order is 0, 1 after the first round already: after the third it has stayed twice.
    chain = graph_of(2, (0, 1), (1, 0))
    stopped = walk(chain, rows(0), ONE, rounds=20, tolerance=0.0, alpha=0.6)
    exact = [walk(chain, rows(0), ONE, rounds=number, tolerance=0.0, stable_top=0, alpha=0.6).tolist() for number in range(1, 8)]
    assert exact.index(stopped.tolist()) + 1 == 3


def test_seeds_and_weights_must_be_as_many():
    with pytest.raises(ValueError, match="2 seeds and 1 restart"):
        walk(graph_of(2), rows(0, 1), ONE)


@pytest.mark.parametrize("seed", [-1, 2])
def test_a_seed_that_is_no_node_is_refused(seed):
    with pytest.raises(ValueError, match="between 0 and 1"):
        walk(graph_of(2), rows(seed), ONE)


def star(leaves: int) -> Adjacency:
    """A node in the middle with edges to and from each leaf."""
    starts = np.concatenate([[0], leaves + np.arange(leaves + 1)])
    targets = np.concatenate([np.arange(1, leaves + 1), np.zeros(leaves)]).astype(np.int32)
    return Adjacency(leaves + 1, starts, targets, np.ones(2 * leaves, np.float32))


def test_a_star_of_a_hundred_thousand_leaves_is_walked_at_once():
    began = time.process_time()
    scores = walk(star(100_000), rows(1), ONE, floor=0.0)
    assert time.process_time() - began < 2
    assert scores[0] == 1
    assert 0.1 < scores[1] < 1
    assert 0 < scores[2] < 1e-4
    assert len(set(scores[2:].tolist())) == 1


def test_half_a_million_edges_are_walked_in_a_moment_and_alike_each_time():
    random = np.random.default_rng(7)
    sources = np.sort(random.integers(0, 50_000, 500_000))
    starts = np.concatenate([[0], np.cumsum(np.bincount(sources, minlength=50_000))])
    weights = random.choice([1.0, 0.8, 0.5], 500_000).astype(np.float32)
    graph = Adjacency(50_000, starts, random.integers(0, 50_000, 500_000).astype(np.int32), weights)
    seeds = random.integers(0, 50_000, 25)
    began = time.process_time()
    scores = walk(graph, seeds, np.ones(25))
    assert time.process_time() - began < 1
    assert (scores[seeds] > 0).all()
    assert scores.tobytes() == walk(graph, seeds, np.ones(25)).tobytes()


def hits_of(graph: Adjacency, *numbers: int, rounds: int = 10) -> tuple[np.ndarray, np.ndarray]:
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


@each(
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
    assert score_adjustment(np.array([authority]), np.array([hub]), np.array([seed])) == pytest.approx([expected])


def test_the_best_rows_come_highest_first_and_without_those_of_score_0():
    assert best_rows(np.array([0.2, 0.0, 1.0, 0.2, 0.5])).tolist() == [2, 4, 0, 3]
    assert best_rows(np.array([0.2, 0.0, 1.0, 0.2, 0.5]), 2).tolist() == [2, 4]

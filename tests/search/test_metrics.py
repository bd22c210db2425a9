"""The measures on cases that can be checked by hand (B2)."""

from __future__ import annotations

from math import log2

import pytest

from whence.search.metrics import mean, ndcg, percentile, rank_of, same_file


def test_a_path_is_the_same_file_with_or_without_folders_before_it():
    assert same_file("src/a.py", "src/a.py")
    assert same_file("a.py", "src/a.py")
    assert same_file("lib/src/a.py", "src/a.py")


def test_a_name_that_only_ends_alike_is_another_file():
    assert not same_file("src/data.py", "a.py")
    assert not same_file("src/a.py", "lib/a.py")


def test_the_rank_of_a_target_is_that_of_the_first_file_that_matches_it():
    assert rank_of("src/a.py", ["b.py", "x/src/a.py", "src/a.py"]) == 2
    assert rank_of("src/a.py", ["b.py"]) is None


def test_a_single_target_at_the_top_is_worth_everything():
    assert ndcg(["src/a.py"], ["src/a.py", "b.py"]) == 1.0


def test_a_single_target_lower_down_is_worth_less():
    assert ndcg(["src/a.py"], ["b.py", "c.py", "a.py"]) == pytest.approx(1 / log2(4))


def test_several_targets_are_held_against_the_best_order_of_all_of_them():
    gained = 1 / log2(2) + 1 / log2(4)
    best = 1 / log2(2) + 1 / log2(3) + 1 / log2(4)
    assert ndcg(["a", "b", "c"], ["a", "x", "b"]) == pytest.approx(gained / best)


def test_more_targets_than_places_can_still_reach_one():
    targets = [f"{number}.py" for number in range(14)]
    assert ndcg(targets, targets) == pytest.approx(1.0)


def test_the_eleventh_place_counts_for_nothing():
    others = [f"{number}.py" for number in range(10)]
    assert ndcg(["a.py"], [*others, "a.py"]) == 0.0
    assert ndcg(["a.py"], [*others[:9], "a.py"]) == pytest.approx(1 / log2(11))


def test_no_targets_and_no_results_are_worth_nothing():
    assert ndcg([], ["a.py"]) == 0.0
    assert ndcg(["a.py"], []) == 0.0


def test_mean_and_percentiles_of_known_values():
    values = [float(number) for number in range(1, 101)]
    assert mean([1.0, 2.0, 6.0]) == 3.0
    assert percentile(values, 0.5) == 50.0
    assert percentile(values, 0.95) == 95.0
    assert percentile([7.0], 0.95) == 7.0


def test_mean_and_percentile_of_nothing_are_zero():
    assert mean([]) == 0.0
    assert percentile([], 0.5) == 0.0

"""The measures of ranked symbols on cases that can be checked by hand (B3)."""

from __future__ import annotations

from math import log2

import pytest
from hypothesis import given
from hypothesis import strategies as st

from small_cases import each
from whence_bench.context.metrics import canonical, matches, official, same_symbol, strict

CANONICAL = [
    # Nothing before it.
    ("open_door", "open_door"),
    ("Door", "Door"),
    ("Door.open", "Door.open"),
    ("House.Door.open", "House.Door.open"),
    ("  Door.open\n", "Door.open"),
    ("", ""),
    # A repository or a url, and a file up to its extension and dot.
    ("example.org/owner/house://src/doors/front.py.Door.open", "Door.open"),
    ("example.org/owner/house:///somewhere/src/front.rb.House::Door.open", "House::Door.open"),
    ("src/doors/front.tsx.Door", "Door"),
    ("front.cs.Door.Open", "Door.Open"),
    ("src/a.py.b.go.Door.open", "Door.open"),
    ("src/doors/front.rs.door.open_wide", "door.open_wide"),
    # A package: the last folder goes too.
    ("example.org/owner/house://example.org/owner/house/doors.Door.Open", "Door.Open"),
    ("house/doors.openAll", "openAll"),
    ("house/doors", "doors"),
    # Modules: everything before the first capitalised component, and where there is none, all but the last.
    ("house.doors.Door.open", "Door.open"),
    ("house.doors.open_all", "open_all"),
    ("doorKeeper.Open", "Open"),
    ("_Door.open", "open"),
    ("House::Door.open", "House::Door.open"),
    ("Éclair.Door", "Door"),
    # An extension counts between dots only.
    ("House.pyramid", "House.pyramid"),
]

# returned, wanted, by the strict rules, by the official ones
MATCHES = [
    ("Door.open", "Door.open", True, True),
    ("door.OPEN", "Door.open", True, True),
    ("open", "Door.open", True, True),
    ("Door.open", "open", True, True),
    ("House.Door.open", "Door.open", True, True),
    ("Door.open", "House.Door.open", True, True),
    ("house.door.OPEN", "Door.open", True, True),
    ("reopen", "open", False, False),
    ("BackDoor.open", "Door.open", False, False),
    # The last components are equal and another one is shared.
    ("House.Attic.open", "House.Cellar.open", False, True),
    ("HOUSE.Attic.Open", "house.Cellar.open", False, True),
    ("House.open", "Garage.open", False, False),
    ("open.House", "open.Garage", False, False),
    # One holds the other as a run of whole components.
    ("Door.open", "Door", False, True),
    ("Door", "Door.open", False, True),
    ("House.Door.open", "Door", False, True),
    ("House.Door.open.lock", "Door.open", False, True),
    ("Doorway.open", "Door", False, False),
    ("Door.open", "door", False, False),
    # `::` is a dot for the last rule alone.
    ("Door.open", "House::Door.open", False, True),
    ("House::Door", "Door", False, True),
    ("House::Door.open", "House::Door.open", True, True),
    ("House::Door.open", "open", True, True),
    ("House::Backdoor", "Door", False, False),
    # An empty name is nothing's.
    ("", "Door", False, False),
    ("Door", "", False, False),
    ("", "", False, False),
]

NAMES = st.lists(st.sampled_from(["a", "b", "A", "A.b", "A.c", "B", "B.b", "X::A.b", "lib.a", "", "p/q.A.b", "f.py.A"]), max_size=14)


@each(("name", "wanted"), CANONICAL)
def test_a_canonical_name_is_a_type_with_a_member_or_a_name(name: str, wanted: str):
    assert canonical(name) == wanted


@each(("returned", "wanted", "strictly", "officially"), MATCHES)
def test_names_match_by_the_strict_and_by_the_official_rules(returned: str, wanted: str, strictly: bool, officially: bool):
    assert same_symbol(returned, wanted) is strictly
    assert matches(returned, wanted) is officially


@given(NAMES, NAMES)
def test_the_order_of_two_names_makes_no_difference_and_the_official_rules_contain_the_strict_ones(left: list[str], right: list[str]):
    for one, other in zip(left, right, strict=False):
        assert matches(one, other) == matches(other, one)
        assert same_symbol(one, other) == same_symbol(other, one)
        assert matches(one, other) or not same_symbol(one, other)


def test_officially_several_results_may_match_one_wanted_name():
    found = official(["Door.open", "Door.close", "Door.lock", "Wall"], ["Door"])
    assert found.precision == 0.3
    assert found.recall == 1.0


def test_precision_is_of_ten_results_even_where_fewer_are_returned():
    assert official(["Door"], ["Door"]).precision == 0.1
    assert strict(["Door"], ["Door"]).precision == 0.1


def test_recall_counts_every_wanted_name_even_when_one_result_matches_several():
    assert official(["Door.open"], ["Door", "open", "Wall", "Roof"]).recall == 0.5


def test_only_the_first_ten_results_count():
    late = [f"other_{number}" for number in range(10)] + ["Door"]
    found = official(late, ["Door"])
    assert (found.precision, found.recall, found.ndcg) == (0.0, 0.0, 0.0)
    assert strict(late, ["Door"]).recall == 0.0


def test_the_reciprocal_rank_is_over_the_whole_list():
    late = [f"other_{number}" for number in range(24)] + ["Door", "Door"]
    assert official(late, ["Door"]).mrr == 1 / 25
    assert official(["other"], ["Door"]).mrr == 0.0


def test_ndcg_is_held_against_as_many_right_results_as_names_are_wanted():
    gained = 1 / log2(2) + 1 / log2(4)
    best = 1 / log2(2) + 1 / log2(3) + 1 / log2(4)
    assert official(["Door", "other", "Wall"], ["Door", "Wall", "Roof"]).ndcg == pytest.approx(gained / best)


def test_ndcg_is_held_against_ten_right_results_at_most():
    names = [f"Name{number}" for number in range(12)]
    assert official(names, names).ndcg == pytest.approx(1.0)


def test_ndcg_exceeds_one_where_several_results_match_one_wanted_name():
    assert official(["Door.open", "Door.close"], ["Door"]).ndcg == pytest.approx(1 + 1 / log2(3))


def test_strictly_a_wanted_name_is_credited_once():
    found = strict(["Door.open", "Fence.open", "Gate.open"], ["open", "Wall"])
    assert (found.precision, found.recall) == (0.1, 0.5)


def test_strictly_members_of_a_wanted_type_are_worth_nothing():
    assert strict(["Door.open", "Door.close"], ["Door"]).precision == 0.0


def test_strictly_one_result_is_credited_for_one_wanted_name():
    assert strict(["Door.open"], ["Door.open", "open"]).recall == 0.5


def test_an_equal_name_is_credited_before_one_that_is_only_shorter():
    assert strict(["Door.open", "Gate.open"], ["open", "Door.open"]).recall == 1.0


def test_a_name_that_is_wanted_twice_is_found_by_two_results():
    assert strict(["Door", "door"], ["Door", "Door"]).recall == 1.0
    assert strict(["Door"], ["Door", "Door"]).recall == 0.5


def test_wanted_names_are_made_canonical_too():
    assert strict(["Door.open"], ["house.doors.Door.open"]).recall == 1.0
    assert official(["Door.open"], ["house.doors.Door.open"]).recall == 1.0


def test_nothing_returned_and_nothing_wanted_are_worth_nothing():
    for returned, wanted in (([], ["Door"]), (["Door"], []), ([], [])):
        lenient, exact = official(returned, wanted), strict(returned, wanted)
        assert (lenient.precision, lenient.recall, lenient.ndcg, lenient.mrr, exact.precision, exact.recall) == (0.0,) * 6


@given(NAMES, NAMES)
def test_the_strict_measure_never_exceeds_the_official_one(returned: list[str], wanted: list[str]):
    lenient, exact = official(returned, wanted), strict(returned, wanted)
    assert 0 <= exact.precision <= lenient.precision <= 1
    assert 0 <= exact.recall <= lenient.recall <= 1

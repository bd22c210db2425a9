"""Readers and writers at once: nothing is wrong, and what would be wrong is found."""

from __future__ import annotations

from pathlib import Path

from whence.bench.faults.crowds import run
from whence.bench.faults.crowds_people import Place, answered
from whence.bench.faults.crowds_tree import MARKS, apply, never_so, states_of, unlike_any
from whence.bench.faults.part import Bounds


def test_a_crowd_of_every_kind_finds_what_is_there_and_loses_nothing(tmp_path: Path) -> None:
    said: list[str] = []
    part = run(Bounds(tmp_path.resolve(), 60, 1, True, said.append))
    assert part.wrong == ()
    assert part.tried > 150
    assert "not reached" not in part.facts
    assert len(said) == 8


def test_an_answer_that_mixes_two_states_or_lags_behind_is_told_from_one_of_a_state(tmp_path: Path) -> None:
    states = states_of(7, 30, 4, 5)
    place = Place(tmp_path)
    place.tree.mkdir()
    apply(place.tree, {}, states[0])
    apply(place.tree, states[0], states[1])
    with place.open() as index:
        seen = answered(index)
    assert seen == states[1]
    assert unlike_any(seen, states, 0, 4) == never_so(seen, states, 1, 1) == ""
    assert "5 files" not in unlike_any(seen, states, 2, 4) != ""  # it lags behind
    edited = [path for path in states[0] if states[0][path] != states[1][path]]
    half = seen | {edited[0]: states[0][edited[0]]}
    assert unlike_any(half, states, 0, 4).endswith(f"[{(edited[0], seen[edited[0]])!r}, {(edited[0], half[edited[0]])!r}]") or "differ" in (
        unlike_any(half, states, 0, 4)
    )
    assert never_so(half, states, 0, 1) == ""  # each file for itself was so, in one state or the other
    assert edited[0] in never_so(half, states, 1, 1)
    lost = {path: mark for path, mark in seen.items() if path != edited[1]}
    assert edited[1] in never_so(lost, states, 0, 1)
    assert never_so(lost, states, 0, 1, tuple(mark for mark in MARKS if mark not in (seen[edited[1]], states[0][edited[1]]))) != ""

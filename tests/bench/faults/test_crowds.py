"""Readers and writers at once: nothing is wrong, and what would be wrong is found."""

from __future__ import annotations

from pathlib import Path

import pytest

from whence_bench.faults import crowds
from whence_bench.faults.crowds import Person, Seen, like_a_clean_build, made
from whence_bench.faults.crowds_people import answered
from whence_bench.faults.crowds_tree import apply, never_so, states_of, unlike_any
from whence_bench.faults.part import Bounds


def bounds(folder: Path) -> Bounds:
    return Bounds(folder.resolve(), 60, 1, small=True, tell=lambda _: None)


def test_a_crowd_of_every_kind_finds_what_is_there_and_loses_nothing(tmp_path: Path) -> None:
    part = crowds.run(bounds(tmp_path))
    assert part.wrong == ()
    assert part.tried > 150
    assert "not reached" not in part.facts


def test_an_answer_of_no_state_is_told_from_one_of_a_state() -> None:
    states = states_of(7, 30, 4, 5)
    now = states[1]
    edited = next(path for path in now if states[0][path] != now[path])
    mixed, lost = now | {edited: states[0][edited]}, {path: mark for path, mark in now.items() if path != edited}
    assert unlike_any(now, states, 0, 4) == never_so(now, states, 1, 1) == ""
    assert "from 1 differ 2" in unlike_any(mixed, states, 0, 1)
    assert unlike_any(now, states, 2, 4), "it lags behind"
    assert never_so(mixed, states, 0, 1) == "", "each file for itself was so, in one state or the other"
    assert edited in never_so(mixed, states, 1, 1)
    assert edited in never_so(lost, states, 0, 1)


def test_a_process_that_dies_and_a_reader_that_lags_behind_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crowds, "PATIENCE", 5.0)
    place, states = made(bounds(tmp_path), "place", steps=2, bunch=3)
    seen = Seen()
    killed = Person(place, "hold")
    assert killed.heard() == "held"
    killed.kill()
    assert killed.ended(seen) == {}
    assert "hold ended with -9" in seen.wrong.pop()
    apply(place.tree, states[0], states[1])
    like_a_clean_build(place, states[0], seen, "a change that nobody tells of")
    assert len(seen.wrong) == 2
    assert "a fresh reader is wrong" in seen.wrong[0]
    with place.open() as index:
        assert answered(index) == states[1]

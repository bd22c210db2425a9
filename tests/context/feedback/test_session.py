"""What was shown a moment ago: how it fades, adds up and is capped (L1)."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context.feedback.verdicts import CHOSEN, EXPIRE, NOW, OPEN, started
from whence.context.feedback.session import FeedbackSession, boost_of
from whence.context.feedback.store import FeedbackStore


@pytest.fixture
def session(tmp_path: Path) -> FeedbackSession:
    return FeedbackSession(CHOSEN, FeedbackStore(tmp_path / "learned.db"), "talk")


def boost(session: FeedbackSession, now: float, symbol: str = OPEN) -> float:
    return float(session.boosts([symbol], now)[0])


@pytest.mark.parametrize(("seconds", "expected"), [(0, 1.0), (180, 0.5), (360, 0.25), (540, 0.125)])
def test_an_access_counts_half_after_three_minutes_and_half_again_after_three_more(session, seconds, expected):
    session.record([OPEN], NOW)
    assert boost(session, NOW + seconds) == pytest.approx(expected)


def test_accesses_add_up(session):
    session.record([OPEN], NOW)
    session.record([OPEN], NOW + 180)
    assert boost(session, NOW + 180) == pytest.approx(1.5)


def test_accesses_add_up_to_two_at_most_and_that_contributes_a_fifth(session):
    for _ in range(5):
        session.record([OPEN], NOW)
    assert boost(session, NOW) == 2.0
    assert session.contributions([OPEN, EXPIRE], NOW).tolist() == [pytest.approx(0.20), 0.0]


def test_half_of_the_cap_contributes_half(session):
    session.record([OPEN], NOW)
    assert session.contributions([OPEN], NOW)[0] == pytest.approx(0.10)


def test_what_has_faded_below_a_hundredth_is_nothing(session):
    session.record([OPEN], NOW)
    faded = 180 * math.log2(100)
    assert boost(session, NOW + faded - 1) > 0.01
    assert boost(session, NOW + faded + 1) == 0.0


def test_only_the_last_twenty_accesses_of_a_symbol_are_kept(session):
    for _ in range(19):
        session.record([OPEN], NOW)
    session.record([OPEN], NOW)
    session.record([OPEN, EXPIRE], NOW + 1800)
    assert boost(session, NOW + 1800) == pytest.approx(1 + 19 / 1024)
    assert boost(session, NOW + 1800, EXPIRE) == 1.0


def test_a_clock_that_was_set_back_makes_nothing_count_more_than_just_now(session):
    session.record([OPEN], NOW)
    assert boost(session, NOW - 10_000) == 1.0


def test_symbols_are_answered_in_the_order_asked_and_as_often(session):
    session.record([EXPIRE], NOW)
    assert session.boosts([OPEN, EXPIRE, OPEN, EXPIRE], NOW).tolist() == [0, 1, 0, 1]
    assert session.boosts([], NOW).tolist() == []


@pytest.mark.process
def test_a_session_with_a_name_goes_on_in_another_process(tmp_path):
    path = tmp_path / "learned.db"
    program = (
        f"from whence.context.feedback.session import FeedbackSession\nFeedbackSession(chosen, learned, 'talk').record([{OPEN!r}], {NOW})"
    )
    assert started(program, path).communicate(timeout=30)[1] == ""
    assert boost(FeedbackSession(CHOSEN, FeedbackStore(path), "talk"), NOW) == 1.0


def test_sessions_do_not_see_one_another(tmp_path):
    learned = FeedbackStore(tmp_path / "learned.db")
    FeedbackSession(CHOSEN, learned, "one").record([OPEN], NOW)
    assert boost(FeedbackSession(CHOSEN, learned, "other"), NOW) == 0.0


def test_what_has_faded_is_removed_whichever_session_it_was_of(tmp_path):
    learned = FeedbackStore(tmp_path / "learned.db")
    FeedbackSession(CHOSEN, learned, "one").record([OPEN], NOW)
    FeedbackSession(CHOSEN, learned, "other").record([EXPIRE], NOW + 4000)
    assert learned.rows("SELECT count(*) FROM accesses") == [(1,)]


def test_its_numbers_are_settings(tmp_path):
    chosen = replace(CHOSEN, session_half_life=10.0, session_cap=1.5, session_weight=0.3, session_kept=3)
    session = FeedbackSession(chosen, FeedbackStore(tmp_path / "learned.db"), "talk")
    session.record([OPEN, OPEN, OPEN, OPEN], NOW)
    assert session.contributions([OPEN], NOW)[0] == pytest.approx(0.3)
    assert boost(session, NOW + 20) == pytest.approx(0.75)


@given(st.lists(st.floats(0, 1e6), max_size=40), st.floats(0, 2e6))
def test_a_boost_is_nothing_or_between_the_floor_and_the_cap(ages, now):
    assert (found := boost_of(ages, now, CHOSEN)) == 0 or 0.01 <= found <= 2.0

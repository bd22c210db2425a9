"""Verdicts: what they are worth, and until when (L2, L3)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context.feedback.verdicts import CHOSEN, EXPIRE, NOW, OPEN, verdict
from small_cases import each
from whence.context.feedback.store import FeedbackStore
from whence.context.feedback.verdicts import LONGEST_TASK, VerdictSummary, boost, boosts, opinions, records, say, score
from whence.core.errors import UsageError
from whence.storage.sqlite import VALUES_AT_ONCE


@pytest.fixture
def learned(tmp_path: Path) -> FeedbackStore:
    return FeedbackStore(tmp_path / "learned.db")


def root_is(root: str):
    return lambda _symbol: root


@each(("share", "expected"), [(1.0, 0.25), (0.75, 0.125), (0.5, 0.0), (0.25, -0.025), (0.0, -0.05), (None, 0.0)])
def test_a_boost_rises_in_a_straight_line_on_either_side_of_one_half(share, expected):
    assert boost(share, CHOSEN) == pytest.approx(expected)


@given(st.integers(0, 1000), st.integers(0, 1000))
def test_one_more_good_verdict_never_lowers_a_boost(useful, useless):
    assert boost(score(useful, useless), CHOSEN) <= boost(score(useful + 1, useless), CHOSEN) or useful + useless == 0
    assert -0.05 <= boost(score(useful, useless), CHOSEN) <= 0.25


def test_verdicts_are_counted_by_symbol(learned):
    say(learned, [verdict(at=1), verdict(at=2), verdict(at=3, useful=False), verdict(EXPIRE, useful=False)], CHOSEN)
    found = boosts(learned, ["x.py#unheard_of", EXPIRE, OPEN, EXPIRE], root_is("r1"), CHOSEN)
    assert found.tolist() == pytest.approx([0, -0.05, 2 * (2 / 3 - 0.5) * 0.25, -0.05])


def test_what_verdicts_are_worth_is_a_setting(learned):
    say(learned, [verdict(), verdict(EXPIRE, useful=False)], CHOSEN)
    chosen = replace(CHOSEN, useful_weight=0.5, useless_weight=0.4)
    assert boosts(learned, [OPEN, EXPIRE], root_is("r1"), chosen).tolist() == [0.5, -0.4]


def test_a_verdict_counts_only_while_the_code_around_its_symbol_is_the_same(learned):
    say(learned, [verdict(root="before", at=1), verdict(root="before", at=2, useful=False), verdict(root="after", at=3)], CHOSEN)
    assert [boosts(learned, [OPEN], root_is(root), CHOSEN)[0] for root in ("before", "after", "later")] == [0, 0.25, 0]


def test_code_that_is_as_it_was_again_gets_its_verdicts_back(learned):
    say(learned, [verdict(root="before"), verdict(root="after", useful=False)], CHOSEN)
    assert boosts(learned, [OPEN], root_is("before"), CHOSEN)[0] == 0.25


def test_verdicts_that_no_longer_count_stay_listed_as_expired(learned):
    say(learned, [verdict(root="before", at=1), verdict(root="after", at=2), verdict(EXPIRE, root="before", at=3)], CHOSEN)
    assert opinions(learned, root_is("after"), CHOSEN) == [VerdictSummary(OPEN, 1, 0, 1, 0.25, 2), VerdictSummary(EXPIRE, 0, 0, 1, 0.0, 3)]


def test_the_hash_is_asked_for_only_where_there_is_a_verdict(learned):
    say(learned, [verdict(EXPIRE)], CHOSEN)
    asked = []
    boosts(learned, [OPEN, EXPIRE], lambda symbol: asked.append(symbol) or "r1", CHOSEN)
    assert asked == [EXPIRE]


def test_any_number_of_symbols_can_be_asked_for_at_once(learned):
    symbols = [f"a.py#f{number}" for number in range(2 * VALUES_AT_ONCE + 1)]
    say(learned, [verdict(symbol) for symbol in symbols], CHOSEN)
    assert boosts(learned, symbols, root_is("r1"), CHOSEN).tolist() == [0.25] * len(symbols)


def test_the_same_verdict_is_kept_once(learned):
    assert say(learned, [verdict(), verdict()], CHOSEN) == 1
    assert say(learned, [verdict(), verdict(at=NOW + 1)], CHOSEN) == 1


def test_beyond_the_limit_the_oldest_go_and_those_that_were_said_go_last(learned):
    chosen = replace(CHOSEN, kept=3)
    say(learned, [verdict(at=1), verdict(at=2, seen=True), verdict(at=3, seen=True), verdict(at=4, seen=True)], chosen)
    assert [one.at for one in records(learned)] == [1, 3, 4]
    say(learned, [verdict(at=5), verdict(at=6), verdict(at=7)], chosen)
    assert [one.at for one in records(learned)] == [5, 6, 7]


def test_of_a_pasted_text_the_beginning_is_kept_on_one_line(learned):
    say(learned, [verdict(task="first line\n\n\tsecond " + "x" * 10_000)], CHOSEN)
    (kept,) = records(learned)
    assert kept.task.startswith("first line second x")
    assert len(kept.task) == LONGEST_TASK


@each("symbol", ["", "open", "#open", "shop/session.py#"])
def test_a_name_without_a_file_is_no_symbol(symbol):
    with pytest.raises(UsageError, match="no symbol"):
        verdict(symbol)


def test_a_verdict_about_no_code_or_at_no_time_is_refused():
    with pytest.raises(UsageError, match="hash"):
        verdict(root="")
    with pytest.raises(UsageError, match="time"):
        verdict(at=float("nan"))


def test_names_that_are_not_unicode_come_back_as_they_were(learned):
    odd = verdict("od\udcffd/\u00e9.py#\u540d\u524d", task="lone \ud800 half")
    say(learned, [odd], CHOSEN)
    assert records(learned) == [odd]
    assert boosts(learned, [odd.symbol], root_is("r1"), CHOSEN)[0] == 0.25

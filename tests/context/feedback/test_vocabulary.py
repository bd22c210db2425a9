"""Words that lead to symbols: which are learned, when they count, and how much (L5)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from context.feedback.verdicts import CHOSEN, EXPIRE, OPEN, verdict
from small_cases import each
from whence.context.feedback.store import FeedbackStore
from whence.context.feedback.verdicts import (
    COMMON_WORDS,
    MOST_KEYWORDS,
    LearnedPair,
    forget,
    keywords,
    learned_symbols,
    pairs,
    say,
    weight,
)
from whence.text.analyzer import stop_words


@pytest.fixture
def learned(tmp_path: Path) -> FeedbackStore:
    return FeedbackStore(tmp_path / "learned.db")


def seen(learned: FeedbackStore, task: str, times: int, symbol: str = OPEN) -> None:
    before = len(learned.rows("SELECT 1 FROM records"))
    say(learned, [verdict(symbol, task=task, at=before + number) for number in range(times)], CHOSEN)


def test_keywords_are_stems_in_lower_case_each_once():
    assert keywords("Expiring idle sessions: expire the SESSION") == ("expir", "idl", "session")


def test_a_compound_name_gives_its_rare_parts_and_its_whole():
    assert keywords("walrusTimeout") == ("walrus", "timeout", "walrustimeout")
    assert keywords("set_walrus") == ("walrus", "setwalrus")
    assert keywords("set_value") == ()


def test_a_common_word_is_never_a_keyword():
    assert {word for word in COMMON_WORDS if keywords(word)} == set()


@each("word", ["Functions", "updated", "adding", "returns", "CLASSES", "x", "42", "io"])
def test_other_forms_of_common_words_and_very_short_ones_are_none_either(word):
    assert keywords(word) == ()


@each("word", ["session", "walrus", "retry", "timeout", "oauth", "migration", "websocket"])
def test_a_word_with_a_meaning_of_its_own_is_one(word):
    assert len(keywords(word)) == 1


def test_the_lists_of_common_words_are_in_lower_case_and_do_not_repeat_one_another():
    assert {word for word in COMMON_WORDS if word != word.lower()} == set()
    assert stop_words("feedback_verbs").isdisjoint(stop_words("feedback_programming"))


def test_of_a_whole_pasted_text_the_first_words_are_taken():
    assert len(keywords(" ".join(f"walrus{chr(97 + n // 26)}{chr(97 + n % 26)}q" for n in range(500)))) == MOST_KEYWORDS


@each(("count", "expected"), [(0, 0), (1, 0), (2, 0.3), (6, 0.55), (10, 0.8), (11, 0.8), (1000, 0.8)])
def test_a_pair_counts_from_twice_and_grows_in_a_straight_line_up_to_ten_times(count, expected):
    assert weight(count, CHOSEN) == pytest.approx(expected)


def test_the_limits_are_settings_even_when_they_meet():
    chosen = replace(CHOSEN, pair_least=3, pair_most=3, pair_least_weight=0.1, pair_most_weight=0.9)
    assert [weight(count, chosen) for count in (2, 3, 4)] == [0, 0.9, 0.9]


def test_a_word_that_went_with_a_symbol_once_leads_nowhere_and_twice_leads_there(learned):
    seen(learned, "expire idle sessions", 1)
    assert learned_symbols(learned, "idle", CHOSEN) == []
    seen(learned, "the idle walrus", 1)
    assert learned_symbols(learned, "what is IDLE here", CHOSEN) == [(OPEN, 0.3)]
    assert learned_symbols(learned, "walrus", CHOSEN) == []


def test_a_symbol_has_the_weight_of_its_best_word_and_the_heaviest_comes_first(learned):
    seen(learned, "walrus", 10)
    seen(learned, "idle", 2)
    seen(learned, "idle", 6, EXPIRE)
    assert learned_symbols(learned, "idle", CHOSEN) == [(EXPIRE, pytest.approx(0.55)), (OPEN, 0.3)]
    assert learned_symbols(learned, "idle walrus", CHOSEN) == [(OPEN, 0.8), (EXPIRE, pytest.approx(0.55))]


def test_nothing_is_learned_from_what_was_not_useful(learned):
    say(learned, [verdict(task="idle walrus", useful=False, at=number) for number in range(5)], CHOSEN)
    assert pairs(learned, CHOSEN) == []


def test_words_outlive_a_change_of_the_code(learned):
    say(learned, [verdict(task="idle", root="before"), verdict(task="idle", root="after")], CHOSEN)
    assert learned_symbols(learned, "idle", CHOSEN) == [(OPEN, 0.3)]


def test_every_pair_is_listed_also_one_that_does_not_count_yet(learned):
    seen(learned, "idle walrus", 1)
    seen(learned, "idle", 1)
    assert pairs(learned, CHOSEN) == [LearnedPair("idl", OPEN, 2, 0.3), LearnedPair("walrus", OPEN, 1, 0.0)]


def test_words_go_with_the_verdicts_they_came_from(learned):
    seen(learned, "idle", 2)
    forget(learned, [OPEN])
    assert learned_symbols(learned, "idle", CHOSEN) == []


def test_a_task_of_common_words_only_asks_for_nothing(learned):
    seen(learned, "idle", 2)
    assert learned_symbols(learned, "fix the function", CHOSEN) == []
    assert learned_symbols(learned, "", CHOSEN) == []

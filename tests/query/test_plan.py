"""What a query is read as: its words, terms, weights and kind."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from campaigns import examples
from small_cases import each
from whence.core.errors import QueryError
from whence.query.plan import MAX_WORDS, QueryPlan, make_plan


def plan(text: str, *, decay: float = 0.1, quoted: float = 0.3) -> QueryPlan:
    return make_plan(text, decay=decay, quoted=quoted)


def terms(text: str) -> list[str]:
    return [term.text for term in plan(text).terms]


def test_stop_words_carry_no_content():
    assert plan("where is the session closed").words == ("session", "closed")


def test_a_query_of_only_stop_words_searches_for_them():
    assert plan("what is this").words == ("what", "is", "this")


@each("text", ["", "   ", "?!", "()[]{}", "\0", "---", "..."])
def test_a_query_without_a_word_is_refused_with_a_hint(text):
    with pytest.raises(QueryError, match="no words to search for") as refused:
        plan(text)
    assert "at least one word" in refused.value.hint


def test_an_identifier_gives_its_parts_and_its_whole():
    assert terms("getHTTPResponse") == ["get", "http", "respons", "gethttpresponse"]


def test_the_whole_of_an_identifier_is_not_required_to_match():
    assert plan("getHTTPResponse").required == ("get", "http", "respons")


def test_a_repeated_word_is_one_term():
    assert terms("cache cache Cache caches") == ["cach"]


def test_later_words_weigh_less():
    weights = [term.weight for term in plan("alpha beta gamma", decay=0.5).terms]
    assert weights == [1.0, pytest.approx(1 / 1.5), pytest.approx(1 / 2)]


def test_without_decay_all_words_weigh_the_same():
    assert {term.weight for term in plan("alpha beta gamma", decay=0.0).terms} == {1.0}


def test_words_seen_only_in_quoted_code_weigh_less():
    found = {term.text: term.weight for term in plan("timeout is ignored\n```\nsocket\n```", decay=0.0, quoted=0.3).terms}
    assert found["timeout"] == 1.0
    assert found["socket"] == 0.3


def test_a_word_of_the_prose_keeps_its_weight_when_the_code_repeats_it():
    found = {term.text: term.weight for term in plan("timeout is ignored\n```\ntimeout\n```", decay=0.0, quoted=0.3).terms}
    assert found["timeout"] == 1.0


def test_neighbouring_words_are_joined_as_a_file_may_be_called():
    assert {"httpclient", "clientpool", "httpclientpool"} <= plan("http client pool").joined


@each(
    ("text", "symbol"),
    [
        ("HTTPGateway", "HTTPGateway"),
        ("Session.close", "close"),
        ("std::vector", "vector"),
        ("App\\Models\\User", "User"),
        ("snake_case_name", "snake_case_name"),
        ("retry", "retry"),
        ("the retry", "retry"),
        ("open the connection", ""),
    ],
)
def test_a_query_that_is_one_name_asks_for_that_name(text, symbol):
    assert plan(text).symbol == symbol


def test_a_few_words_are_a_short_question():
    assert plan("open connection").length == 0.0


def test_a_long_text_is_long():
    assert plan(" ".join(f"word{chr(97 + n)}" for n in range(20))).length == 1.0


@pytest.mark.parametrize("text", ["add retry to the client", "parser: keep comments", "the server crashes on start"])
def test_a_wish_for_a_change_counts_as_long(text):
    assert plan(text).length == 1.0


def test_one_verb_alone_is_no_wish_for_a_change():
    assert plan("fix").length == 0.0


def test_a_short_question_for_tests_is_heard():
    assert plan("retry tests").asks_for("test")
    assert not plan("retry").asks_for("test")


def test_a_wish_for_a_change_does_not_ask_for_tests():
    assert not plan("add tests for the retry").asks_for("test")


def test_paths_and_modules_in_a_text_are_found():
    found = plan("error in src/net/http_client.py and in shop.cart.totals")
    assert "src/net/http_client.py" in found.paths
    assert "shop.cart.totals" in found.modules


def test_words_are_looked_for_as_written_when_they_are_long_enough():
    assert plan("URL of the HTTPGateway").exact == ("HTTPGateway",)


def test_a_pasted_document_is_cut_to_its_first_words():
    found = plan(" ".join(f"w{'abcdefghij'[n % 10]}{'klmnopqrst'[n // 10 % 10]}{'uvwxyzabcd'[n // 100 % 10]}" for n in range(2_000)))
    assert len(found.words) == MAX_WORDS


def test_nul_is_a_space():
    assert plan("alpha\0beta").words == ("alpha", "beta")


@settings(max_examples=examples(200), deadline=None)
@given(st.text(max_size=300))
def test_any_text_gives_a_plan_or_the_one_refusal(text):
    try:
        found = plan(text)
    except QueryError:
        return
    assert found.words
    assert found.terms
    assert all(term.weight > 0 for term in found.terms)
    assert len({term.text for term in found.terms}) == len(found.terms)
    assert 0.0 <= found.length <= 1.0


@each("run", ["-", "a.", "a/", "+a-", "a_", "\\"])
def test_a_hundred_thousand_characters_of_anything_are_read_in_a_moment(run):
    began = time.perf_counter()
    make_plan(run * (100_000 // len(run)) + " word", decay=0.1, quoted=0.3)
    assert time.perf_counter() - began < 3

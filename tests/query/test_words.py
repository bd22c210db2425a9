"""Words with a meaning of their own in a question."""

from __future__ import annotations

import pytest

from small_cases import each
from whence.query.plan import ASKED_FOR, ASKS_FOR_TESTS, PROBLEM, SCOPE_PREFIX, split_prose, synonyms_of


def test_a_single_line_is_all_prose():
    assert split_prose("    indented(code)") == ("    indented(code)", "")


def test_fenced_code_is_taken_out_of_the_prose():
    assert split_prose("before\n```python\ninside\n```\nafter") == ("before\nafter", "inside")


def test_a_fence_that_is_never_closed_reaches_to_the_end():
    assert split_prose("before\n```\ninside\nmore") == ("before", "inside\nmore")


@each(
    "line",
    [
        ">>> client.get()",
        "$ make test",
        '  File "app.py", line 3',
        "    indented()",
        "\ttabbed()",
        "at handle(App.java:3)",
        "In [3]: run()",
    ],
)
def test_quoted_lines_are_code(line):
    assert split_prose(f"it fails\n{line}") == ("it fails", line)


@pytest.mark.parametrize("text", ["http: do not retry", "fix(parser): keep comments", "src/net: close sockets"])
def test_a_scope_in_front_is_seen(text):
    assert SCOPE_PREFIX.match(text)


@each("text", ["retry with backoff", "a: b", "std::vector", "http:no space"])
def test_other_colons_are_no_scope(text):
    assert not SCOPE_PREFIX.match(text)


@each("text", ["it fails", "wrong total", "does not close", "doesn't close", "cannot open", "a memory that leaks"])
def test_the_tale_of_a_problem_is_heard(text):
    assert PROBLEM.search(text)


@pytest.mark.parametrize("text", ["close the session", "bugle player", "leakage of water"])
def test_other_texts_tell_of_no_problem(text):
    assert not PROBLEM.search(text)


@each("text", ["tests of retry", "the spec of retry", "Testing helpers", "benchmarks"])
def test_a_question_that_speaks_of_tests_is_heard(text):
    assert ASKS_FOR_TESTS.search(text)
    assert ASKED_FOR["test"].search(text)


@each("text", ["latest release", "contest", "inspect the request", "specific errors"])
def test_words_that_only_hold_the_letters_do_not_count(text):
    assert not ASKS_FOR_TESTS.search(text)
    assert not ASKED_FOR["test"].search(text)


def test_synonyms_go_both_ways():
    assert "configur" in synonyms_of("cfg")
    assert "cfg" in synonyms_of("configur")


def test_a_word_is_no_synonym_of_itself():
    assert "cfg" not in synonyms_of("cfg")


def test_an_unknown_word_has_no_synonyms():
    assert synonyms_of("xyzzy") == frozenset()

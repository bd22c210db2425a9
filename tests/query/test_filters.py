"""Patterns: what compiles, how a mistake is shown, and the text that every match must hold."""

from __future__ import annotations

import re
import string
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from campaigns import examples
from whence.core.errors import QueryError
from whence.query.filters import compile_pattern, required_literal

pytestmark = pytest.mark.filterwarnings("ignore:Possible nested set:FutureWarning")


def refusal(pattern: str, **options: bool) -> str:
    with pytest.raises(QueryError) as refused:
        compile_pattern(pattern, **options)
    return str(refused.value)


def test_an_empty_pattern_is_refused():
    assert "empty" in refusal("")


@pytest.mark.parametrize(("pattern", "column"), [("a(b", 1), ("x[a-", 1), ("a**", 2), ("ab)", 2), ("*a", 0), (r"a\q", 1)])
def test_a_mistake_is_shown_with_a_caret_under_it(pattern, column):
    first, shown, caret = refusal(pattern).split("\n")
    assert first.startswith(f"bad pattern {pattern!r}: ")
    assert shown == "  " + pattern
    assert caret == "  " + " " * column + "^"


def test_a_mistake_in_a_word_pattern_is_shown_too():
    first, shown, caret = refusal("a(b", word=True).split("\n")
    assert (shown, caret) == ("  a(b", "   ^")
    assert first.startswith("bad pattern 'a(b'")


def test_a_repetition_too_large_is_refused_in_one_line():
    assert "bad pattern" in refusal("a{99999999999999999999}").split("\n")[0]


def test_a_pattern_too_deep_is_refused():
    assert "bad pattern" in refusal("(" * 5_000 + ")" * 5_000)


@pytest.mark.parametrize("pattern", [r"a(?=b)", r"(?<!x)y", r"(a)\1", "a++b", "a{2000}"])
def test_what_would_take_more_than_linear_time_is_refused_with_a_clear_line(pattern):
    assert "patterns take linear time: no look-around, no back-references" in refusal(pattern)


CATASTROPHES = [
    "(a+)+$",
    "(a|a)*$",
    "(a|aa)+$",
    "(.*a){20}",
    "^(a?){25}a{25}$",
    "(x+x+)+y",
    r"(\w+\s?)+$",
    "(a*)*b",
    "([a-z]+)*[0-9]",
    "(.+)+,",
]


@pytest.mark.parametrize("pattern", CATASTROPHES)
def test_no_pattern_takes_long(pattern):
    began = time.process_time()
    compile_pattern(pattern).matching_lines(f"{'a' * 50_000}!\n{'x' * 50_000}\n{'word ' * 10_000}-\n")
    assert time.process_time() - began < 2


def test_a_fixed_pattern_is_plain_text():
    assert compile_pattern("a.b(", fixed=True).matching_lines("axb\na.b(c\n") == [2]


def test_a_word_pattern_matches_whole_words():
    assert compile_pattern("get", word=True).matching_lines("get\ngetter\nforget\nx.get()\nget_it") == [1, 4]


def test_alternatives_in_a_word_pattern_are_all_whole_words():
    assert compile_pattern("get|put", word=True).matching_lines("get\nputter\nput") == [1, 3]


def test_case_can_be_ignored():
    assert compile_pattern("TODO", ignore_case=True).matching_lines("todo\nToDo\nto do") == [1, 2]


def test_a_fixed_word_pattern_without_case_combines_all_three():
    assert compile_pattern("a.b", fixed=True, word=True, ignore_case=True).matching_lines("A.B\na.bc\naxb\n(a.b)") == [1, 4]


def test_anchors_are_of_the_line():
    assert compile_pattern("^b$").matching_lines("a\nb\nab\nb\n") == [2, 4]


def test_a_match_never_reaches_over_a_line_end():
    assert compile_pattern(r"a\s+b").matching_lines("a\nb\na b") == [3]


def test_the_end_of_the_last_line_begins_no_new_line():
    assert compile_pattern("^").matching_lines("a\nb\n") == [1, 2]
    assert compile_pattern("^").matching_lines("a\nb") == [1, 2]
    assert compile_pattern("^").matching_lines("") == []


def test_only_a_line_feed_ends_a_line():
    assert compile_pattern("b").matching_lines("a\x0bb\x0cb\u2028b\rb\nb") == [1, 2]


@pytest.mark.parametrize(
    ("pattern", "literal"),
    [
        ("parse_config", "parse_config"),
        ("parse.*config", "config"),
        ("ab?cdef", "cdef"),
        ("colou?r", "colo"),
        (r"open\.file", "open.file"),
        (r"\bword\b", "word"),
        ("a{0}bc", "bc"),
        ("[abc]def", "def"),
        ("a|b", ""),
        ("(abc)?", ""),
        ("(?i)abc", ""),
    ],
)
def test_the_longest_plain_text_of_a_pattern_is_found(pattern, literal):
    assert required_literal(pattern) == literal


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("[^]a]x", "bx"),
        (r"[\]a]", "a"),
        (r"[a\]b]c", "ac"),
        ("[]a]b", "]b"),
        (r"\x41b", "Ab"),
        (r"a\{2}", "a{2}"),
        ("a{x", "a{x"),
        ("a{,2}b", "b"),
        (r"\d+x{2}", "1xx"),
        (r"[\[\]]+y", "][y"),
    ],
)
def test_awkward_patterns_still_match(pattern, text):
    assert re.search(pattern, text)
    assert compile_pattern(pattern).matching_lines(text) == [1]


_ATOM = st.one_of(
    st.sampled_from(list("abAB01_ -]}")),
    st.sampled_from([r"\.", r"\w", r"\d", r"\s", r"\b", r"\(", r"\[", r"\]", r"\\", r"\{", r"\x61", r"\u0061", r"\141", "."]),
    st.sampled_from(["[ab]", "[^a]", "[]a]", "[^]a]", r"[\]a]", "[a-c0-2]", r"[\w-]", r"[^\d]", "[[]", r"[a\\]"]),
    st.sampled_from(["^", "$", "(ab)", "(?:a|b)", "(a)?", "a|b", "(?i:ab)"]),
)
_REPEAT = st.sampled_from(["", "", "", "", "*", "+", "?", "{2}", "{0}", "{1,2}", "{,1}", "{0,}", "*?", "+?", "{x}", "{"])
_PATTERNS = st.lists(st.tuples(_ATOM, _REPEAT).map("".join), min_size=1, max_size=6).map("".join)
_TEXTS = st.lists(st.text("abAB01_ -][(){}.\\x", max_size=12), max_size=5).map("\n".join)


def _lines_by_plain_search(regex: re.Pattern[str], text: str) -> list[int]:
    lines = text.split("\n")
    return [number for number, line in enumerate(lines if lines[-1] else lines[:-1], 1) if regex.search(line)]


@settings(max_examples=examples(1_500), deadline=None)
@given(_PATTERNS, _TEXTS, st.data())
def test_a_pattern_finds_exactly_the_lines_that_re_finds(pattern, text, data):
    try:
        regex = re.compile(pattern)
    except re.error:
        with pytest.raises(QueryError):
            compile_pattern(pattern)
        return
    if re.search(r"[*+?}]\+", pattern):  # possessive, which RE2 does not know
        return
    literal = required_literal(pattern)
    text += "\n" + data.draw(st.sampled_from(["", literal, "a" + literal + "b"]))
    assert compile_pattern(pattern).matching_lines(text) == _lines_by_plain_search(regex, text)


@settings(max_examples=examples(500), deadline=None)
@given(_PATTERNS, st.data())
def test_every_text_that_a_pattern_makes_holds_the_required_literal(pattern, data):
    try:
        regex = re.compile(pattern)
    except re.error:
        return
    text = data.draw(st.from_regex(regex, alphabet=st.sampled_from(string.printable)))
    assert required_literal(pattern) in text


@settings(max_examples=examples(200), deadline=None)
@given(st.text(string.printable, min_size=1, max_size=20), st.text(string.printable, max_size=60))
def test_a_fixed_pattern_finds_exactly_the_lines_that_hold_it(pattern, text):
    lines = text.split("\n")
    expected = [number for number, line in enumerate(lines if lines[-1] else lines[:-1], 1) if pattern in line]
    assert compile_pattern(pattern, fixed=True).matching_lines(text) == expected


def test_half_a_surrogate_pair_is_a_character_like_any_other():
    assert compile_pattern("w\udcc3ord").matching_lines("word\nw\udcc3ord\nw?ord\n") == [2]
    assert compile_pattern("w.ord").matching_lines("word\nw\udcc3ord\n") == [2]

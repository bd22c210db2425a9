"""Patterns: what compiles, how a mistake is shown, and the words that every match contains."""

from __future__ import annotations

import re
import string
import time
from array import array
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from campaigns import examples, some
from small_cases import each
from whence.core.errors import QueryError
from whence.core.types import MIN_WORD_LENGTH
from whence.index.segment import word_runs
from whence.query.patterns import compile_pattern

pytestmark = pytest.mark.filterwarnings("ignore:Possible nested set:FutureWarning")


def refusal(pattern: str, **options: bool) -> str:
    with pytest.raises(QueryError) as refused:
        compile_pattern(pattern, **options)
    return str(refused.value)


def test_an_empty_pattern_is_refused():
    assert "empty" in refusal("")


@each(("pattern", "column"), [("a(b", 1), ("x[a-", 1), ("a**", 2), ("ab)", 2), ("*a", 0), (r"a\q", 1)])
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


@each("pattern", [r"a(?=b)", r"(?<!x)y", r"(a)\1", "a++b", "a{2000}"])
def test_what_would_take_more_than_linear_time_is_refused_with_a_clear_line(pattern):
    assert "patterns take linear time: no look-around, no back-references" in refusal(pattern)


_CORES = ["a+", "a|a", "a|aa", ".*a", "a?", "x+x+", r"\w+\s?", "a*", "[a-z]+", ".+", r"\s?\w?", ".{0,30}[a-m]", "(?:a|b|.)?", "[^,]*,?"]
CATASTROPHES = [
    f"(?:{core}){repeat}{end}" for core in _CORES for repeat, end in (("+", "$"), ("*", "[qQ]"), ("{25}", "[qQ]$"), ("{1,90}", r"\d!"))
]
CATASTROPHES += [
    "(a+)+$",
    "((a+)+)+$",
    "(.*)(.*)(.*)(.*)[qQ]",
    "^(a?){25}a{25}$",
    r"([\w.-]{1,64}@[\w.-]{1,255})+$",
    "(((a{30}){30}){30})",
    r"\w{1000}",
]


@each("pattern", some(CATASTROPHES))
def test_no_pattern_takes_long(pattern):
    text = f"{'a' * 50_000}!\n{'x' * 50_000}\n{'word ' * 10_000}-\n" + "some words, some more\n" * 20_000
    began = time.process_time()
    with suppress(QueryError):
        compile_pattern(pattern).matching_lines(text)
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


@each(
    ("pattern", "literal"),
    [
        ("parse_config", "parse_config"),
        ("parse.*config", "config"),
        ("colou?r", "colo"),
        (r"open\.file", "open.file"),
        (r"\bword\b", "word"),
        ("a|b", ""),
        ("(abc)?", ""),
        ("(?i)abc", ""),
    ],
)
def test_the_longest_plain_text_of_a_pattern_is_found(pattern, literal):
    assert compile_pattern(pattern).literal.decode() == literal


@each(
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
    compiled = compile_pattern(pattern)
    literal = compiled.literal.decode()
    text += "\n" + data.draw(st.sampled_from(["", literal, "a" + literal + "b"]))
    assert compiled.matching_lines(text) == _lines_by_plain_search(regex, text)


def possible(text: str, pattern: str, **options: bool) -> bool:
    """Whether the words of a text allow a match."""
    requirement = compile_pattern(pattern, **options).requirement
    words = [word.encode("utf-8", "surrogateescape") for word in word_runs(text)]
    table = b"".join(word + b"\n" for word in words if len(word) >= MIN_WORD_LENGTH)
    count = table.count(b"\n")
    found = requirement.files(table, range(count + 1), array("I", [0] * count)) if requirement is not None else None
    return found is None or found == {0}


_LONG_ATOM = st.one_of(
    _ATOM, st.sampled_from(["word", "some_name", "été", "—", r"\bword", r"name\b", "(?:word|na me)", "(?:one|three)+", "[xy]{3,}"])
)
_LONG_PATTERNS = st.lists(st.tuples(_LONG_ATOM, _REPEAT).map("".join), min_size=1, max_size=6).map("".join)


@settings(max_examples=examples(800), deadline=None)
@given(_LONG_PATTERNS, st.booleans(), st.data())
def test_the_words_of_every_text_that_a_pattern_matches_allow_the_match(pattern, ignore_case, data):
    try:
        regex = re.compile(pattern, re.IGNORECASE if ignore_case else 0)
    except re.error:
        return
    text = data.draw(st.from_regex(regex, alphabet=st.sampled_from(string.printable + "éÉ—ſK")))
    try:
        lines = compile_pattern(pattern, ignore_case=ignore_case).matching_lines(text)
    except QueryError:
        return
    assert not lines or possible(text, pattern, ignore_case=ignore_case)


@each(
    ("pattern", "text"),
    [
        ("parse_request", "def parse_response(): pass"),
        ("parse.*request", "parse it, then respond"),
        ("^import json$", "import jsonschema"),
        (r"\bword\b", "password"),
        ("(?:alpha|beta_)gamma", "alpha beta gamma"),
        ("(?:open|close).*(?:door|gate)", "open the window"),
        ("(?i)HTTP_client", "http client"),
        ("[Pp]arser::new", "parsers::new"),
    ],
)
def test_texts_without_the_words_of_a_pattern_need_not_be_read(pattern, text):
    assert not possible(text, pattern)


@each("pattern", ["a|b", "->", r"\w+\(", "x?", ".*", "if \\(", "word|x", "(?:word)?"])
def test_a_pattern_without_long_words_may_match_any_text(pattern):
    assert compile_pattern(pattern).requirement is None or possible("", pattern)


@each(
    ("pattern", "text"),
    [
        ("KELVIN", "\u212aelvin"),
        ("sample", "\u017fample"),
        ("stra\u00dfe", "STRA\u1e9eE"),
        ("caf\u00e9_\u00e0", "CAF\u00c9_\u00c0"),
    ],
)
def test_other_scripts_are_found_without_case(pattern, text):
    assert compile_pattern(pattern, ignore_case=True).matching_lines(text) == [1]
    assert possible(text, pattern, ignore_case=True)


@each("text", ["\u2014word\u2014", "\u00a0word\u00a0", "(word)", "word", "\u201cword\u201d"])
def test_words_are_found_beside_marks_beyond_ascii(text):
    for pattern, options in (("word", {"word": True}), (r"\bword\b", {}), (r"(?:^|\W)word", {}), (r"word(?:\s|\W|$)", {})):
        assert compile_pattern(pattern, **options).matching_lines(text) == [1]
        assert possible(text, pattern, **options)


@settings(max_examples=examples(200), deadline=None)
@given(st.text(string.printable, min_size=1, max_size=20), st.text(string.printable, max_size=60))
def test_a_fixed_pattern_finds_exactly_the_lines_that_hold_it(pattern, text):
    lines = text.split("\n")
    expected = [number for number, line in enumerate(lines if lines[-1] else lines[:-1], 1) if pattern in line]
    assert compile_pattern(pattern, fixed=True).matching_lines(text) == expected


def test_half_a_surrogate_pair_is_a_character_like_any_other():
    assert compile_pattern("w\udcc3ord").matching_lines("word\nw\udcc3ord\nw?ord\n") == [2]
    assert compile_pattern("w.ord").matching_lines("word\nw\udcc3ord\n") == [2]


def test_any_of_several_patterns_may_match():
    several = compile_pattern(["(?i)alpha", "beta$", "c+"])
    assert several.matching_lines("ALPHA\nBETA\nbeta\nbeta x\nccc") == [1, 3, 5]
    assert several.requirement is None
    assert compile_pattern(["alpha", "gamma"]).requirement is not None


def test_the_columns_of_matches_leave_out_what_stands_around_words():
    assert compile_pattern("get", word=True).spans("get x.get(get) forget") == [(0, 3), (6, 9), (10, 13)]
    assert compile_pattern(r"\bété\b").spans("été, (été) xété") == [(0, 3), (6, 9)]
    assert compile_pattern(["b", "abc", "c?"]).spans("abcb") == [(0, 3), (3, 4)]
    assert compile_pattern("a*").spans("baab") == [(1, 3)]


def test_a_pattern_that_takes_too_long_is_refused_in_one_line():
    text = "".join(f"{'some words ' * (number % 7)}{number}\n" for number in range(40_000))
    for lines in (text, text.replace("\n", "\t")):
        began = time.process_time()
        with pytest.raises(QueryError, match="takes too long") as refused:
            compile_pattern(r"(?:\w+ ?){1,60}[qQ][zZ]").matching_lines(lines)
        assert "\n" not in str(refused.value)
        assert time.process_time() - began < 2


def test_the_end_of_a_line_is_before_its_carriage_return():
    text = "return x\r\nreturn y\nreturn x \r\n\r\nlast x"
    assert compile_pattern("x$").matching_lines(text) == [1, 5]
    assert compile_pattern("^$").matching_lines(text) == [4]
    assert compile_pattern(r"x\r$").matching_lines(text) == [1]

"""Options are checked before any work; what is wrong is named with what is allowed."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest

from small_cases import each
from whence.core.errors import UsageError
from whence.core.settings import SearchSettings
from whence.core.types import KINDS
from whence.search.request import SearchOptions, SearchRequest


def refusal(**options: Any) -> UsageError:
    with pytest.raises(UsageError) as refused:
        SearchRequest("words", **{"k": 10, **options})
    return refused.value


def test_an_unknown_operator_is_refused_naming_the_two():
    refused = refusal(operator="xor")
    assert "'xor'" in refused.message
    assert refused.hint == "allowed: or, and"


def test_an_unknown_content_is_refused_naming_the_four():
    assert refusal(content="images").hint == "allowed: code, docs, config, all"


def test_an_unknown_language_is_refused_naming_the_known_ones():
    refused = refusal(languages=("klingon",))
    assert "'klingon'" in refused.message
    assert {"python", "rust", "go"} <= set(refused.hint.removeprefix("allowed: ").split(", "))


def test_an_unknown_kind_is_refused_naming_all_kinds():
    assert set(refusal(kinds=("widget",)).hint.removeprefix("allowed: ").split(", ")) == KINDS


@pytest.mark.parametrize("k", [0, -1])
def test_fewer_than_one_file_is_refused(k):
    assert f"k = {k}" in refusal(k=k).message


def test_relaxation_without_and_is_refused():
    refused = refusal(relaxation=">2")
    assert "--relaxation only goes with --operator and" in refused.message


@each("value", ["2", "<2", ">", ">x", ">-1", ">0", "> 2 3", ""])
def test_a_relaxation_that_is_no_number_is_refused(value):
    refused = refusal(operator="and", relaxation=value)
    assert repr(value) in refused.message
    assert "'>N'" in refused.hint


def test_relaxation_says_above_how_many_words_it_stops():
    assert SearchRequest(operator="and", relaxation="> 2").relax_above == 2


@each("glob", ["", "  ", "[ab", "src/[a"])
def test_a_bad_glob_is_refused(glob):
    assert "glob" in refusal(include=(glob,)).message
    assert "glob" in refusal(exclude=(glob,)).message


@each("glob", ["*.py", "src/**", "[ab]*.c", r"\[draft\]*.md", r"\[draft*", "**/*.test.ts"])
def test_a_good_glob_is_taken(glob):
    assert SearchRequest(include=(glob,)).include == (glob,)


@pytest.mark.parametrize("flag", ["fixed", "word", "ignore_case"])
def test_flags_of_a_pattern_need_a_pattern(flag):
    assert "-e" in refusal(**{flag: True}).hint


def test_a_bad_pattern_is_refused_here_already():
    assert "bad pattern" in refusal(pattern="a(").message


def test_nothing_asked_means_any_word_in_all_code():
    asked = SearchRequest("words").resolved(SearchSettings(), files=5)
    assert (asked.k, asked.operator, asked.filters.content, asked.pattern, asked.relax_above) == (10, "or", "code", None, None)


def test_a_pattern_alone_asks_for_every_file():
    assert SearchRequest(pattern="x").resolved(SearchSettings(), files=500).k > 500


def test_python_keywords_are_the_fields_of_the_request():
    assert list(SearchOptions.__annotations__) == [field.name for field in fields(SearchRequest)][1:]

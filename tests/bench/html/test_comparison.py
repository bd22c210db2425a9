"""Two results of one benchmark, side by side."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from bench.html.conftest import Results
from bench.html.reading import Seen, read
from small_cases import each
from whence.core.errors import UsageError
from whence_bench.html.document import as_html


def beside(result: dict[str, Any], other: dict[str, Any]) -> Seen:
    return read(as_html(result, other))


def test_what_changed_is_told_in_all_and_question_by_question(results: Results):
    before = results("search")
    now = copy.deepcopy(before)
    answers = now["profiles"]["default"]["answers"]
    answers[0]["ndcg"], answers[1]["ndcg"] = 0.25, 0.5
    before["profiles"]["default"]["answers"][1]["ndcg"] = 0.0
    now["profiles"]["default"]["ndcg"] = 0.7917
    words = beside(now, before).words
    assert {"1.0000", "0.7917", "-0.2083", "-0.750", "+0.500", "The 2 questions that changed most"} <= set(words)
    assert any("1 better, 1 worse, 4 as before" in said for said in words)


def test_the_bounds_of_a_change_hold_its_mean(results: Results):
    before = results("search")
    now = copy.deepcopy(before)
    for number, answer in enumerate(now["profiles"]["classic"]["answers"]):
        answer["ndcg"] = 0.5 + number / 20
    page = beside(now, before)
    alls = [number for number, word in enumerate(page.words) if word == "all"]
    at = alls[3]  # the second profile is classic, and each has a drawing and a table
    change, low, high = (float(page.words[at + step]) for step in (2, 3, 4))
    assert low <= change <= high < 0


def test_figures_without_questions_are_compared_by_name(results: Results):
    before = results("speed")
    now = copy.deepcopy(before)
    now["rows"][0]["measured"] = 0.75
    words = beside(now, before).words
    at = words.index("Rows, new process, Measured")
    assert words[at + 1 : at + 4] == ["0.250", "0.750", "+0.5"]


@each("kind", ["search", "context", "history", "memory"])
def test_a_result_in_another_form_is_compared_by_its_figures(results: Results, kind: str):
    before = results(kind)
    ways = next(part for part in ("profiles", "systems", "ways") if part in before)
    for way in before[ways].values():
        way["answers"] = "elsewhere"
        way["score"] = 1.0
    now = results(kind)
    for way in now[ways].values():
        way["score"] = 3.0
    before.pop("questions", None)
    seen = beside(now, before)
    assert seen.headings[0] == "Beside the other result"
    assert "+2" in seen.words


def test_another_version_may_be_the_reason_and_is_told(results: Results):
    before = results("search")
    before["versions"]["numpy"] = "1.0.0"
    words = beside(results("search"), before).words
    at = words.index("What was otherwise.")
    assert words[at + 1 : at + 7] == ["circumstance", "other", "this", "numpy", "1.0.0", results("search")["versions"]["numpy"]]


def test_the_same_circumstances_are_not_told(results: Results):
    assert "What was otherwise." not in beside(results("search"), results("search")).words


def test_two_benchmarks_are_not_compared(results: Results):
    with pytest.raises(UsageError, match="the other of `whence bench speed`"):
        as_html(results("search"), results("speed"))

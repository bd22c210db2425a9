"""Pages of real results: everything is in them, whatever a result holds, and nothing in them loads or runs."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

from bench.html.conftest import Results
from bench.html.reading import read
from bench.html.small_results import MAKERS, QUESTIONS
from campaigns import is_nightly
from small_cases import each
from whence_bench.html.arrangements import ARRANGEMENTS
from whence_bench.html.document import OTHERWISE, as_html

HOSTILE = "</style></title><script>alert(1)</script><img src=x onerror='alert(1)'>\" onload=\"alert(1) &lt; \x00\u202e]]>"
STRANGE = (
    math.nan,
    math.inf,
    -math.inf,
    None,
    "",
    "word",
    [],
    {},
    [None],
    True,
    0,
    -1,
    1e308,
    10**400,
    [[[]]],
    {"a": {"b": {"c": [1, "x"]}}},
)


def test_every_benchmark_with_an_arrangement_has_a_result_here():
    assert set(MAKERS) == set(ARRANGEMENTS)


@each("kind", MAKERS)
def test_a_result_is_shown_as_its_benchmark_is_arranged_and_how_it_came_about_stands_at_the_end(results: Results, kind: str):
    result = results(kind)
    seen = read(as_html(result))
    assert result["benchmark"] == kind
    text = " ".join(seen.words)
    assert OTHERWISE not in text
    assert ARRANGEMENTS[kind].title in text
    assert len(seen.headings) > 1
    assert seen.headings[-1] == "Circumstances"
    assert result["machine"]["platform"] in seen.words
    assert result["versions"]["numpy"] in seen.words
    for setting in result.get("settings", ()):
        assert setting["name"] in seen.words
    for note in [*result.get("notes", ()), *result.get("missing", ())]:
        assert text.count(note) == 1


@each("kind", MAKERS)
def test_beside_every_drawing_stands_a_table_with_its_numbers(results: Results, kind: str):
    seen = read(as_html(results(kind)))
    places = [number for number, tag in enumerate(seen.tags) if tag == "figure"]
    for start, end in pairwise([*places, len(seen.tags)]):
        inside = seen.tags[start:end]
        assert "svg" in inside
        assert "table" in inside
    assert seen.pictures or kind == "search, learned"


def test_figures_bars_parts_and_questions_of_a_search_are_there(results: Results):
    result = results("search")
    result["profiles"]["default"]["ndcg"] = 0.1234
    seen = read(as_html(result))
    assert {"By category", "By language", "By repository", "Question by question", "Repositories"} <= set(seen.headings)
    assert {"0.1234", "ash", "elm", "MISS", "OK", *(one["query"] for one in QUESTIONS)} <= set(seen.words)
    assert "Bars reached: 4 of 5." in seen.words


def test_of_more_ways_than_can_be_told_apart_the_first_are_drawn_and_all_are_in_the_summary(results: Results):
    result = results("context, ablated")
    words = read(as_html(result)).words
    assert "The first 6 of 8; all are in the summary." in words
    assert set(result["profiles"]) <= set(words)


def test_what_was_wrong_and_what_was_skipped_is_told(results: Results):
    words = read(as_html(results("faults"))).words
    assert "query: <script>alert(1)</script> ended it" in words
    assert "Skipped: there is no strace." in words


def test_a_benchmark_that_nobody_arranged_is_shown_by_its_shape():
    result = {
        "benchmark": "weather_of_tomorrow",
        "rain": 12.5,
        "sunny": True,
        "hours": [float(number) for number in range(30)],
        "towns": [{"name": "Ulm", "wind": 3, "gusts": [4.0, 5.0]}, {"name": "Bonn", "wind": 7, "gusts": [9.0]}],
        "said": {"by": {"whom": ["a crow", "a frog"]}},
    }
    seen = read(as_html(result))
    assert seen.headings == ["Further figures", "Hours", "Towns", "Said", "Circumstances"]
    assert {"Weather of tomorrow", "12.50", "yes", "Ulm", "Bonn", "a crow", "a frog"} <= set(seen.words)
    assert seen.pictures


def test_of_more_records_than_can_be_read_the_first_are_shown_and_how_many_there_are():
    rows = [{"name": f"row {number}", "size": number} for number in range(1000)]
    words = read(as_html({"benchmark": "many", "rows_of_it": rows})).words
    assert "The first 400 of 1,000." in words
    assert "row 399" in words
    assert "row 400" not in words


@each("result", [{}, {"benchmark": None}, {"benchmark": "search"}, {"benchmark": "faults", "parts": 7, "notes": "one"}])
def test_what_is_missing_is_not_shown(result: dict[str, Any]):
    assert read(as_html(result)).headings[-1] == "Circumstances"


# Whatever a result holds.
def changed(value: Any, change: Callable[[Any], Any]) -> Any:
    """A value in which everything that is no list and no mapping is another thing."""
    if isinstance(value, dict):
        return {key: of if key == "benchmark" else changed(of, change) for key, of in value.items()}
    return [changed(one, change) for one in value] if isinstance(value, list) else change(value)


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


@each("kind", MAKERS)
def test_text_is_text_whatever_it_looks_like(results: Results, kind: str):
    page = as_html(changed(results(kind), lambda value: HOSTILE if isinstance(value, str) else value))
    seen = read(page)
    assert "<script" not in page
    assert "\x00" not in page
    assert "\u202e" not in page
    assert HOSTILE.replace("\x00", "\ufffd").replace("\u202e", "\ufffd") in seen.words


def test_names_are_text_too():
    result = {"benchmark": HOSTILE, HOSTILE: {HOSTILE: [{HOSTILE: HOSTILE}]}, "versions": {HOSTILE: HOSTILE}, "machine": {HOSTILE: 1}}
    page = as_html(result, result)
    read(page)
    assert "<script" not in page


@each("number", [math.nan, math.inf, -math.inf, 0, -1.5, 1e-320, 1e308, None])
@each("kind", MAKERS)
def test_whatever_the_numbers_are_there_is_a_page(results: Results, kind: str, number: float | None):
    read(as_html(changed(results(kind), lambda value: number if is_number(value) else value)))


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to everything in a value; of a list, to its first two."""
    yield path
    for key, one in value.items() if isinstance(value, dict) else enumerate(value[:2]) if isinstance(value, list) else ():
        yield from places(one, (*path, key))


@each("kind", MAKERS)
def test_whatever_is_missing_or_of_another_kind_there_is_a_page(results: Results, kind: str):
    whole = results(kind)
    chance = random.Random(kind)
    found = [path for path in places(whole) if path and path != ("benchmark",)]
    # What is near the top decides which form the rest has, so it is tried more often.
    for path in chance.choices(found, [4.0 ** -len(path) for path in found], k=8 if is_nightly() else 3):
        result = results(kind)
        inside = result
        for key in path[:-1]:
            inside = inside[key]
        if isinstance(inside, dict) and chance.random() < 0.4:
            del inside[path[-1]]
        else:
            inside[path[-1]] = chance.choice(STRANGE)
        read(as_html(result, whole))
        read(as_html(whole, result))

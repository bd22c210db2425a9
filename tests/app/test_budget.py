"""Any output can be cut to a number of tokens: never more, still readable, and it says what is missing (P2, Z4)."""

from __future__ import annotations

import json
import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from campaigns import examples
from small_cases import each
from whence.app.budget import MORE, BudgetedText, check_budget, fit_document, fit_json
from whence.app.presenters.text import Document
from whence.core.errors import UsageError
from whence.text.token_estimate import count_tokens

COLOUR = re.compile(r"\x1b\[[0-9;]*m")
#: Holds what is said of any budget here.
LEAST = 60


def rest(enough: int) -> str:
    return f"--budget {enough} gives all"


budgets = st.integers(LEAST, 150) | st.integers(LEAST, 5_000)
any_line = st.text(st.characters(exclude_categories=()), max_size=60) | st.integers(0, 900).map("word ".__mul__)
any_item = st.tuples(any_line, st.lists(any_line.map("    ".__add__), max_size=6)).map(lambda item: "\n".join([item[0], *item[1]]))
any_output = st.lists(any_item, max_size=25).map("\n".join) | st.text(max_size=80)
names = st.text(max_size=8) | st.sampled_from(["results", "budget", "items", "ключ"])
any_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(st.characters(exclude_categories=()), max_size=400),
    lambda inner: st.lists(inner, max_size=12) | st.dictionaries(names, inner, max_size=6),
    max_leaves=60,
)
#: As answers are: few fields, one long list of objects.
an_answer = st.fixed_dictionaries(
    {
        "query": st.text(max_size=20),
        "results": st.lists(st.fixed_dictionaries({"path": st.text(max_size=30), "lines": st.lists(st.text(max_size=90), max_size=8)}), max_size=30),
        "index": st.fixed_dictionaries({"root": st.text(max_size=20), "notes": st.lists(st.text(max_size=20), max_size=3)}),
    }
)  # fmt: skip


def fit_text(text: str, budget: int, *, foot: str = "", rest: object = rest, coloured: bool = False) -> BudgetedText:
    """A text whose indented lines belong to the line before them."""
    document = Document()
    for line in text.removesuffix("\n").split("\n") if text else ():
        (document.more if line.startswith(("  ", "\t", " \t")) or not line.strip() else document.item)(line)
    document.foot = foot.removesuffix("\n").split("\n") if foot else []
    return fit_document(document, budget, rest=rest, coloured=coloured)


def body(cut: BudgetedText) -> str:
    """A text without its last line."""
    return cut.text[: cut.text.rindex("\n", 0, -1) + 1] if "\n" in cut.text[:-1] else ""


def without_budget(cut: BudgetedText) -> dict:
    return {name: value for name, value in json.loads(cut.text).items() if name != "budget"}


def holds(less: object, more: object) -> bool:
    """Whether all of one document is in another."""
    if isinstance(less, dict):
        return isinstance(more, dict) and all(name in more and holds(value, more[name]) for name, value in less.items())
    if isinstance(less, list):
        return isinstance(more, list) and len(less) <= len(more) and all(map(holds, less, more))
    if isinstance(less, str) and isinstance(more, str) and less != more:
        return less.endswith(MORE) and more.startswith(less.removesuffix(MORE))
    return less == more


# Texts.
@settings(max_examples=examples(50), deadline=None)
@given(any_output, any_line, budgets)
def test_a_text_costs_what_it_says_and_never_more_than_asked(text, foot, budget):
    cut = fit_text(text, budget, rest=rest, foot=foot)
    assert count_tokens(cut.text) == cut.tokens <= cut.budget == budget
    last = cut.text[len(body(cut)) :]
    assert last.startswith(f"budget: {budget} asked, {cut.tokens} given, ")
    assert (f"{cut.left_out} line" in last and "gives all" in last) if cut.left_out else "nothing left out" in last


@settings(max_examples=examples(50), deadline=None)
@given(any_output, budgets)
def test_a_text_is_whole_exactly_when_it_fits(text, budget):
    cut = fit_text(text, budget, rest=rest)
    assert (cut.left_out == 0) == (budget >= cut.whole)
    ended = text + "\n" * (bool(text) and not text.endswith("\n"))
    if cut.left_out == 0:
        assert body(cut) == ended
    else:
        enough = int(re.findall(r"--budget (\d+) gives all\n$", cut.text)[0])
        assert body(fit_text(text, enough, rest=rest)) == ended


@settings(max_examples=examples(50), deadline=None)
@given(any_output, budgets, st.integers(1, 300))
def test_a_larger_budget_never_gives_less_of_a_text(text, budget, more):
    less, larger = (body(fit_text(text, one, rest=rest)) for one in (budget, budget + more))
    assert larger.startswith(less.removesuffix(f"{MORE}\n"))


RESULTS = "".join(
    f"{place:>2} src/file_{place}.py  function\n     10  def open_session():\n     11      return 1\n" for place in range(1, 40)
)


def test_a_text_is_cut_between_results_and_not_inside_one():
    for budget in range(120, 900, 20):
        assert len(body(fit_text(RESULTS, budget, rest=rest)).splitlines()) % 3 == 0


def test_a_result_that_is_too_long_is_shortened_by_lines_and_a_line_by_characters():
    long = "1 src/app.py\n" + "".join(f"    {number} value = compute(value)\n" for number in range(200))
    shown = body(fit_text(f"{long}2 src/b.py\n", 200, rest=rest))
    assert long.startswith(shown)
    assert len(shown.splitlines()) > 5
    line = fit_text("word " * 1_000, 60, rest=rest)
    assert line.left_out == 1
    assert re.fullmatch(r"(word )+(wo?r?)?\.\.\.\n", body(line))
    assert line.tokens > 50
    assert body(fit_text(f"key: policy\n\n{'word ' * 1_000}", 100, rest=rest)).startswith("key: policy\n\nword word")


def test_how_fresh_an_answer_is_stays_unless_the_budget_is_small():
    fresh = "39 of 50 files · commit 0123456789 · indexed 3 s ago · up to date\n"
    assert body(fit_text(RESULTS, 300, rest=rest, foot=fresh)).endswith(f"11      return 1\n{fresh}")
    assert fresh not in fit_text(RESULTS, 60, rest=rest, foot=fresh).text


def test_colours_of_a_terminal_cost_nothing_and_are_ended():
    coloured = f"\x1b[31m{RESULTS[:-1]}\x1b[0m\n".replace("src", "\x1b[1msrc")
    cut = fit_text(coloured, 200, rest=rest, coloured=True)
    assert COLOUR.sub("", cut.text) == fit_text(RESULTS, 200, rest=rest).text
    assert COLOUR.findall(cut.text)[-1] == "\x1b[0m"
    assert cut.text.rindex("\x1b[0m") <= cut.text.index("budget: ")
    assert count_tokens(fit_text(coloured, 200, rest=rest).text) <= 200  # in a pipe somebody pays for them


# JSON.
@settings(max_examples=examples(50), deadline=None)
@given(any_json | an_answer, budgets)
def test_json_stays_json_and_tells_the_truth_about_its_cost(value, budget):
    cut = fit_json(value, budget, rest=rest)
    assert count_tokens(cut.text) == cut.tokens <= cut.budget == budget
    told = json.loads(cut.text)["budget"]
    assert list(told) == ["asked", "given", "left_out", "rest"]
    assert (told["asked"], told["given"], told["left_out"]) == (budget, cut.tokens, cut.left_out)
    assert (told["rest"] == "") == (cut.left_out == 0) == (budget >= cut.whole)


@settings(max_examples=examples(50), deadline=None)
@given(any_json | an_answer, budgets, st.integers(1, 300))
def test_what_is_left_of_json_was_there_and_more_of_it_with_a_larger_budget(value, budget, more):
    whole = {name: one for name, one in (value if isinstance(value, dict) else {"items": value}).items() if name != "budget"}
    less, larger = (fit_json(value, one, rest=rest) for one in (budget, budget + more))
    assert holds(without_budget(less), without_budget(larger))
    assert holds(without_budget(larger), whole)
    assert fit_json(value, larger.whole, rest=rest).left_out == 0
    assert without_budget(fit_json(value, larger.whole, rest=rest)) == whole


def test_lists_lose_their_end_and_everything_else_stays():
    results = [{"path": f"src/file_{place}.py", "lines": ["def open_session():"] * 3} for place in range(50)]
    answer = {"query": "open", "count": 50, "results": results, "indexes": [{"root": "/shop", "fresh": True}], "enabled": True}
    cut = fit_json(answer, 400, rest=rest)
    left = without_budget(cut)
    assert left.pop("results") == results[: 50 - cut.left_out] != []
    assert left == {name: value for name, value in answer.items() if name != "results"}
    assert cut.tokens > 360


def test_one_element_that_is_too_long_is_shortened_inside():
    note = {"key": "app/policy", "text": "Retry five times. " * 400, "tags": ["net"]}
    left = without_budget(fit_json({"note": note, "changed": []}, 200, rest=rest))
    assert (left["note"]["key"], left["note"]["tags"], left["changed"]) == ("app/policy", ["net"], [])
    assert left["note"]["text"].startswith("Retry five times. Retry")
    assert left["note"]["text"].endswith(MORE)
    only = without_budget(fit_json([{"path": "a.py", "lines": list(range(1_000))}], 200, rest=rest))["items"]
    assert only[0]["lines"] == list(range(len(only[0]["lines"]))) != []


def test_a_document_that_has_room_for_little_begins_with_its_answer():
    results = [{"path": f"src/file_{n}.py", "kind": "function", "lines": ["def open():"] * 9} for n in range(9)]
    answer = {"query": "open", "results": results, "indexes": [{"root": "/shop", "files": 12, "units": 400}]}
    assert without_budget(fit_json(answer, 70, rest=rest))["results"][0]["path"] == "src/file_0.py"


def test_names_and_paths_are_whole_or_not_there():
    paths = [f"src/a/rather/long/path/to/file_{number}.py" for number in range(40)]
    for budget in range(LEAST, 300, 7):
        assert set(without_budget(fit_json({"paths": paths}, budget, rest=rest)).get("paths", ())) <= set(paths)


# Too small.
@pytest.mark.parametrize("cut", [lambda n: fit_text(RESULTS, n, rest=rest), lambda n: fit_json({"results": [RESULTS] * 9}, n, rest=rest)])
def test_a_budget_too_small_for_what_is_said_of_it_names_the_least(cut):
    for budget in (-5, 0, 1, 20):
        with pytest.raises(UsageError, match=f"budget of {budget} tokens") as refused:
            cut(budget)
    least = int(re.findall(r"the least is (\d+)", str(refused.value))[0])
    assert cut(least).tokens <= least
    with pytest.raises(UsageError):
        cut(least - 1)


@pytest.mark.parametrize("as_json", [True, False])
def test_a_budget_that_passes_beforehand_is_never_refused_afterwards(as_json):
    with pytest.raises(UsageError) as refused:
        check_budget(1, rest=rest, as_json=as_json)
    least = int(re.findall(r"the least is (\d+)", str(refused.value))[0])
    check_budget(least, rest=rest, as_json=as_json)
    for size in (0, 1, 7, 400, 90_000):
        cut = fit_json(["a"] * size, least, rest=rest) if as_json else fit_text("a\n" * size, least, rest=rest)
        assert count_tokens(cut.text) == cut.tokens <= least


def test_the_rest_may_be_said_in_fixed_words():
    assert fit_text(RESULTS, 100, rest="ask for less").text.endswith("; ask for less\n")
    assert json.loads(fit_json([RESULTS] * 9, 100, rest="ask for less").text)["budget"]["rest"] == "ask for less"


def test_large_outputs_are_cut_in_no_time():
    began = time.process_time()
    fit_text(RESULTS * 500, 2_000, rest=rest)
    fit_json({"results": [{"path": f"src/file_{n}.py", "lines": ["def open():"] * 5} for n in range(5_000)]}, 2_000, rest=rest)
    assert time.process_time() - began < 3


@each("budget", [90, 120, 200, 400])
def test_json_keeps_path_score_and_confidence_before_anything_else(budget: int) -> None:
    results = [{"path": f"src/part_{n}.py", "start_line": n, "kind": "function", "score": 9.5 - n, "lines": ["x" * 300]} for n in range(9)]
    answer = {"query": "parts", "results": results, "indexes": [{"root": "/home/me/shop", "files": 9}], "confidence": {"probability": 0.7}}
    fitted = json.loads(fit_json(answer, budget, rest="more").text)
    assert fitted["confidence"] == {"probability": 0.7}
    assert all({"path", "score"} <= set(one) for one in fitted["results"])
    assert fitted["results"]

"""Two weightings side by side over a list of queries."""

from __future__ import annotations

import json

import pytest

from ui.pages import PHONE, looks
from whence.search.metrics import ndcg

A_AND_B = {"a": {"factors": {"exact": 0}}, "b": {}}
LIST = "cart total => shop/checkout.py\ndiscount\tprice.py\npay the card\n"


# What the API says.
def test_both_ways_are_those_of_the_search_and_measured_as_the_benchmark_does(served):
    answers = ["shop/checkout.py", "cart.py"]
    _, found = served.ask("compare", {"queries": [{"query": "cart total", "answers": answers}], **A_AND_B})
    [row] = found["queries"]
    for side, factors in (("a", {"exact": 0}), ("b", {})):
        _, searched = served.ask("search", {"query": "cart total", "factors": factors})
        files = [(one["path"], one["score"]) for one in searched["results"]]
        assert [(one["path"], one["score"]) for one in row[side]["files"]] == files
        assert row[side]["ndcg"] == ndcg(answers, [path for path, _ in files])
    assert row["b"]["ndcg"] > row["a"]["ndcg"]
    assert row["first_difference"] == 2
    assert [one["answers"] for one in row["b"]["files"]] == [True, True, False]


def test_the_measure_does_not_depend_on_how_many_places_are_shown(served):
    _, found = served.ask("compare", {"queries": [{"query": "cart total", "answers": ["checkout.py"]}], **A_AND_B, "k": 1})
    row = found["queries"][0]
    assert (len(row["a"]["files"]), row["first_difference"]) == (1, None)
    assert row["a"]["ndcg"] == pytest.approx(0.5)


def test_equal_ways_differ_nowhere_and_a_query_without_answers_has_no_measure(served):
    _, found = served.ask("compare", {"queries": [{"query": "cart total"}], "a": {}, "b": {"factors": {"meaning": 1}}})
    row = found["queries"][0]
    assert (row["first_difference"], row["a"]["ndcg"], row["b"]["ndcg"]) == (None, None, None)


def test_an_answer_that_no_file_has_the_path_of_is_said(served):
    asked = {"query": "cart", "answers": ["cart.py", "walrus.py", "art.py"]}
    _, found = served.ask("compare", {"queries": [asked], **A_AND_B})
    assert found["queries"][0]["unknown"] == ["walrus.py", "art.py"]


def test_one_query_that_is_wrong_does_not_spoil_the_others(served):
    _, found = served.ask("compare", {"queries": [{"query": "lang:pythn cart"}, {"query": "cart"}], **A_AND_B})
    wrong, right = found["queries"]
    assert "pythn" in wrong["trouble"]
    assert wrong["a"] is None
    assert [one["path"] for one in right["a"]["files"]][:1] == ["shop/cart.py"]
    assert right["trouble"] == ""


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"queries": [{"query": "cart"}], "a": {"profile": "clasic"}, "b": {}}, "clasic"),
        ({"queries": [{"query": "cart"}], "a": {}, "b": {"factors": {"meanin": 0}}}, "meanin"),
        ({"queries": [{"query": "cart"}] * 21, **A_AND_B}, "too many"),
    ],
)
def test_a_weighting_that_is_wrong_is_refused_as_a_whole(served, asked, said):
    status, answer = served.ask("compare", asked)
    assert (status, said in answer["error"]) == (400, True), answer


# What the page does.
def test_a_list_is_compared_and_a_row_shows_both_answers(show):
    page = show("/compare?wa=exact*0")
    page.fill("#queries", LIST)
    page.click("text=Compare 3 queries")
    page.wait_for_selector(".compared tbody tr:nth-child(3)")
    assert page.inner_text(".compared tbody tr:first-child").split("\t")[1:] == ["0.500", "0.631", "+0.131", "2"]
    assert "B is better for 1, worse for 0, equal for 1" in page.inner_text(".summary")
    assert page.locator(".pair").count() == 2
    page.click(".compared .query >> nth=0")
    page.wait_for_selector(".lists")
    assert "checkout.py" in page.inner_text(".lists ol:last-child li:nth-child(2)")
    assert page.locator(".lines path.answer.up").count() == 1
    with page.expect_download() as download:
        page.click("text=Download as JSON")
    kept = json.loads(download.value.path().read_text())
    assert (kept["summary"]["better"], kept["queries"][0]["answers"]) == (1, ["shop/checkout.py"])


def test_a_file_of_json_lines_is_loaded_and_a_line_that_is_none_is_told(show):
    page = show("/compare")
    lines = '{"query": "cart => total", "answers": ["cart.py"]}\n{"query": "pay"}\n'
    page.set_input_files("input[type=file]", {"name": "list.jsonl", "mimeType": "text/plain", "buffer": lines.encode()})
    page.wait_for_selector("text=Compare 2 queries")
    page.fill("#queries", 'cart\n{"query": 1}')
    page.wait_for_selector("#queries-said.wrong")
    assert page.inner_text("#queries-said").startswith("line 2 is no query")


def test_a_long_list_can_be_stopped(show):
    page = show("/compare")
    held = []
    page.route("**/api/compare", lambda route: route.continue_() if not held and not held.append(route) else None)
    page.fill("#queries", "\n".join(f"cart {number}" for number in range(12)))
    page.click("text=Compare 12 queries")
    page.wait_for_selector(".compared tbody tr:nth-child(5)")
    page.click("text=Stop")
    page.wait_for_selector("text=Stop", state="detached")
    assert page.locator(".compared tbody tr").count() == 5


def test_weights_that_were_moved_in_the_search_are_offered_as_b(show):
    page = show("/?q=cart+total&w=meaning*0.5")
    page.click("text=Compare over many queries")
    page.wait_for_selector("#queries")
    assert page.input_value("#queries") == "cart total"
    assert page.get_by_role("slider", name="Weight of meaning").input_value() == "0.5"
    assert page.locator(".side").nth(0).get_by_role("slider").count() == 0


@pytest.mark.parametrize("page", looks({}, {"color_scheme": "dark", "viewport": PHONE}), indirect=True, ids=["wide", "dark phone"])
def test_everybody_can_compare(show, accessible):
    page = show("/compare?wb=meaning*0&wa=test*2")
    page.fill("#queries", LIST + "cart => walrus.py\nlang:pythn x")
    page.click("text=Compare 5 queries")
    page.wait_for_selector(".compared tbody tr:nth-child(5)")
    page.click(".compared .query >> nth=0")
    page.wait_for_selector(".lists")
    accessible(page)

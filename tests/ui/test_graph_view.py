"""The graph view: neighbourhoods through the API, and in a real browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import pytest

from mcp_servers import surroundings
from sample_trees import whence, write
from small_cases import each
from ui.opened import opened, settle
from ui.pages import PHONE, Served, serving

TOTAL = "shop/cart.py#Cart.total"


def graph(served: Served, **asked: Any) -> dict[str, Any]:
    status, answer = served.ask(f"graph?{urlencode(asked)}")
    assert status == 200, answer
    return answer


# What the API tells.
def test_a_neighbourhood_tells_who_calls_and_what_is_called(served):
    answer = graph(served, symbol="Cart.total")
    assert answer["focus"] == TOTAL
    assert answer["nodes"][0]["key"] == TOTAL
    calls = {(one["source"], one["target"]) for one in answer["edges"] if one["group"] == "calls"}
    assert {("shop/checkout.py#pay", TOTAL), ("shop/checkout.py#receipt", TOTAL), (TOTAL, "shop/price.py#discount")} <= calls
    assert {("tests/test_cart.py#test_the_total_is_the_sum", TOTAL)} <= {
        (one["source"], one["target"]) for one in answer["edges"] if one["group"] == "tests"
    }


def test_callers_are_those_of_the_command(served, project, home):
    done = whence("callers", "Cart.total", "--json", cwd=project, **surroundings(home))
    assert done.returncode == 0, done.stderr
    answer = graph(served, symbol="Cart.total", groups="calls", depth=1)
    for one in answer["edges"]:
        if one["target"] == TOTAL:
            assert one["source"].partition("#")[2] in done.stdout


def test_edges_join_only_what_is_there_and_what_is_left_out_is_counted(served):
    answer = graph(served, symbol="Cart.total", most=3)
    keys = {one["key"] for one in answer["nodes"]}
    assert len(keys) == 3
    assert {end for one in answer["edges"] for end in (one["source"], one["target"])} <= keys
    assert answer["left_out"] > 0


def test_a_name_that_does_not_exist_gets_the_nearest_and_never_another_ones_answer(served):
    status, answer = served.ask("graph?symbol=Cart.totl")
    assert status == 400
    assert "no such symbol" in answer["error"]
    assert "Cart.total" in answer["error"]


@each(
    ("asked", "status"),
    [("symbol=Cart&depth=9", 400), ("symbol=Cart&most=0", 400), ("symbol=Cart&groups=kin", 400), ("symbol=Cart&depth=two", 422), ("", 422)],
)
def test_what_cannot_be_asked_is_refused_in_a_line_with_what_can(served, asked, status):
    got, answer = served.ask(f"graph?{asked}")
    assert got == status
    assert answer["error"]
    assert answer["hint"]
    assert "\n" not in answer["error"]


def test_symbols_are_completed_with_how_much_they_are_used(served):
    status, answer = served.ask("symbols?text=dis")
    assert status == 200
    assert [(one["name"], one["uses"]) for one in answer["symbols"]] == [("discount", 1)]


@pytest.fixture(scope="module")
def twice(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A tree in which two symbols have the same name, and one is called by nobody knows whom."""
    place = tmp_path_factory.mktemp("twice")
    root = write(
        place / "tree",
        {
            "a.py": "class Door:\n    def open(self):\n        return latch()\n\n\ndef latch():\n    return 1\n",
            "b.py": "class Window:\n    def open(self):\n        return 2\n\n\ndef use(thing):\n    return thing.unlatch()\n",
            "c.py": "class Key:\n    def unlatch(self):\n        return 3\n\n\nclass Pick:\n    def unlatch(self):\n        return 4\n",
        },
    )
    done = whence("index", cwd=root, **surroundings(place / "home"))
    assert done.returncode == 0, done.stderr
    with serving(root, home=place / "home") as one:
        yield one


def test_a_name_that_several_bear_gives_a_choice(twice):
    answer = graph(twice, symbol="open")
    assert answer["focus"] == ""
    assert answer["nodes"] == answer["edges"] == []
    assert [one["key"] for one in answer["choices"]] == ["a.py#Door.open", "b.py#Window.open"]


# In a browser.
def at_rest(page: Any) -> None:
    page.wait_for_selector("canvas[data-rest=true]")


def focused(page: Any, name: str) -> None:
    page.wait_for_selector(f".chosen h2:has-text('{name}')")


def test_a_symbol_is_completed_by_keys_and_shown_with_what_is_joined_to_it(show):
    page = show("/graph")
    page.wait_for_selector(".offers a")
    page.keyboard.type("cart.to")
    page.wait_for_selector("[role=option]:has-text('Cart.total')")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    focused(page, "Cart.total")
    assert page.locator(".chosen section:has(h3:text('Called by')) a").all_inner_texts() == ["pay", "receipt"]
    assert page.locator(".chosen section:has(h3:text('Calls')) a").all_inner_texts() == ["discount"]
    assert page.locator(".chosen section:has(h3:text('Tested by')) a").all_inner_texts() == ["test_the_total_is_the_sum"]


def test_the_picture_is_walked_by_keys_and_back_leads_to_where_one_was(show):
    page = show("/graph?symbol=Cart.total")
    at_rest(page)
    page.keyboard.press("]")
    page.wait_for_selector(".chosen h2:not(:has-text('Cart.total'))")
    chosen = page.inner_text(".chosen h2").rpartition(" ")[0]
    page.keyboard.press("Enter")
    page.wait_for_selector(".chosen:has-text('in the middle')")
    focused(page, chosen)
    page.go_back()
    focused(page, chosen)  # chosen, and not yet in the middle
    page.wait_for_selector(".chosen:has-text('away')")


def test_a_click_in_the_list_walks_on(show):
    page = show("/graph?symbol=Cart.total")
    focused(page, "Cart.total")
    page.click(".chosen section:has(h3:text('Calls')) a")
    focused(page, "discount")
    page.wait_for_selector(".chosen:has-text('in the middle')")


def test_the_picture_is_moved_and_zoomed_by_the_mouse(show):
    page = show("/graph?symbol=Cart.total")
    at_rest(page)
    canvas = page.locator(".picture canvas")
    box = canvas.bounding_box()
    x, y = box["x"] + 30, box["y"] + box["height"] - 30
    before = canvas.screenshot()
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 120, y - 60, steps=4)
    page.mouse.up()
    moved = canvas.screenshot()
    assert moved != before
    page.mouse.wheel(0, -240)
    page.wait_for_timeout(100)
    assert canvas.screenshot() != moved
    page.click("text=Fit")
    page.wait_for_timeout(100)
    assert canvas.screenshot() != moved


def test_groups_that_are_switched_off_are_gone_from_list_and_address(show):
    page = show("/graph?symbol=Cart.total")
    page.wait_for_selector(".chosen h3:has-text('Tested by')")
    page.click("label:has-text('tests')")
    page.wait_for_selector(".chosen h3:has-text('Tested by')", state="detached")
    page.wait_for_url("**groups=calls**")
    page.click("label:has-text('tests')")
    page.wait_for_selector(".chosen h3:has-text('Tested by')")


def test_its_code_is_a_key_away(show):
    page = show("/graph?symbol=Cart.total")
    focused(page, "Cart.total")
    page.keyboard.press("c")
    page.wait_for_selector(".chosen .code .c-keyword:has-text('def')")
    page.keyboard.press("Escape")
    page.wait_for_selector(".chosen .code", state="detached")


def test_a_name_that_nothing_bears_is_told_with_the_nearest(show):
    page = show("/graph?symbol=Cart.totl")
    page.wait_for_selector(".wrong:has-text('nearest: Cart.total')")
    assert page.locator("canvas").count() == 0


def test_of_several_one_is_chosen(browser: Any, twice: Served):
    with opened(browser, twice, "/graph?symbol=open") as page:
        page.click(".offers a:has-text('Window.open')")
        focused(page, "Window.open")


def test_a_symbol_of_one_file_alone_is_linked_by_its_key(show):
    page = show(f"/graph?symbol={quote(TOTAL)}")
    focused(page, "Cart.total")
    assert page.input_value("#symbol") == "Cart.total"


@pytest.mark.parametrize(
    ("page", "address"),
    [
        ({}, "/graph?symbol=Cart.total&panel=code"),
        pytest.param({"color_scheme": "dark"}, "/graph?symbol=Cart.total&panel=code", marks=pytest.mark.nightly),
        pytest.param({"viewport": PHONE}, "/graph?symbol=Cart.total", marks=pytest.mark.nightly),
        ({}, "/graph"),
    ],
    indirect=["page"],
    ids=["light", "dark", "phone", "beginning"],
)
def test_everybody_can_use_it(show, accessible, address):
    page = show(address)
    page.wait_for_selector(".chosen h3, .offers a")
    settle(page)
    accessible(page)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_an_index_that_is_gone_is_made_again_and_walked(browser: Any, tmp_path: Path):
    """The graph of a repository that was never indexed."""
    root = write(tmp_path / "tree", {"a.py": "def one():\n    return two()\n\n\ndef two():\n    return 2\n"})
    with serving(root, home=tmp_path / "home") as one, opened(browser, one, "/graph?symbol=one") as page:
        page.wait_for_selector(".chosen section:has(h3:text('Calls')) a:has-text('two')", timeout=30_000)

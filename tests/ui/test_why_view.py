"""Why a result stands where it stands, weights that can be moved, and why something is missing."""

from __future__ import annotations

import re

import pytest

from sample_shop import FILES
from sample_trees import write
from small_cases import each
from ui.pages import PHONE, looks
from whence import Index
from whence.core.profiles import PROFILES

QUERY = "cart total"
OPEN = "/?q=cart+total&open=shop:shop/cart.py"


# What the API says.
@pytest.mark.parametrize("profile", sorted(PROFILES))
def test_the_running_total_ends_at_the_score_of_the_search_to_the_last_digit(served, profile):
    _, found = served.ask("search", {"query": QUERY, "profile": profile})
    for place, hit in enumerate(found["results"], 1):
        _, why = served.ask("why", {"query": QUERY, "target": hit["path"], "profile": profile})
        receipt = why["receipt"]
        total = 0.0
        for line in receipt["lines"]:
            total = total + line["contribution"] if line["operation"] == "+" else total * line["contribution"]
            assert line["total"] == total
        assert (receipt["score"], receipt["rank"], total) == (hit["score"], place, hit["score"])


def test_a_weight_that_is_moved_moves_the_receipt_with_the_search(served):
    factors = {"meaning": 0.0, "test": 2.5}
    _, found = served.ask("search", {"query": QUERY, "factors": factors})
    hit = found["results"][1]
    _, why = served.ask("why", {"query": QUERY, "target": hit["path"], "factors": factors})
    assert (why["receipt"]["score"], why["receipt"]["rank"]) == (hit["score"], 2)
    assert "meaning" not in {line["signal"] for line in why["receipt"]["lines"]}


@pytest.mark.parametrize("target", ["price.py", "shop/price.py:6", "discount"])
def test_a_target_is_a_path_the_end_of_one_a_line_or_a_symbol(served, target):
    _, why = served.ask("why", {"query": QUERY, "target": target})
    assert (why["verdict"], why["receipt"]["path"]) == ("ranked", "shop/price.py")


def test_what_is_not_shown_is_compared_with_the_last_that_is(served):
    _, why = served.ask("why", {"query": "receipt", "target": "shop/price.py", "k": 1})
    rival = why["receipt"]["rival"]
    assert (rival["path"], rival["place"]) == ("shop/checkout.py", 1)
    assert why["receipt"]["rank"] > 1
    assert sum(gap["theirs"] - gap["mine"] for gap in rival["gaps"]) == pytest.approx(rival["score"] - why["receipt"]["score"])


@each(
    ("query", "target", "verdict", "said"),
    [
        (QUERY, "README.md", "kept_out", "only code is searched"),
        ("cart path:tests", "shop/cart.py", "kept_out", "path:tests"),
        (QUERY, ".git/config", "left_out", ".git/"),
        (QUERY, "walrus.py", "unknown", "walrus.py"),
    ],
)
def test_what_cannot_be_ranked_is_said_with_the_reason(served, query, target, verdict, said):
    status, why = served.ask("why", {"query": query, "target": target})
    assert (status, why["verdict"], why["receipt"]) == (200, verdict, None)
    assert said in why["said"]


@each(
    ("asked", "status", "said"),
    [
        ({"query": " ", "target": "cart.py"}, 400, "are needed"),
        ({"query": "lang:pythn cart", "target": "cart.py"}, 400, "pythn"),
        ({"query": QUERY, "target": "cart.py", "factors": {"meanin": 1}}, 400, "meanin"),
        ({"query": QUERY, "target": "cart.py", "profile": "clasic"}, 400, "clasic"),
        ({"query": QUERY, "target": 2000 * "x"}, 422, "target"),
        ({"query": "path:shop", "target": "cart.py"}, 400, "without words"),
    ],
)
def test_a_question_that_cannot_be_answered_is_refused(served, asked, status, said):
    got, answer = served.ask("why", asked)
    assert (got, said in answer["error"]) == (status, True), answer


def test_the_signals_of_a_profile_stand_in_the_order_in_which_they_enter_a_score(served):
    _, signals = served.ask("signals?profile=classic")
    _, why = served.ask("why", {"query": QUERY, "target": "cart.py", "profile": "classic"})
    assert [one["name"] for one in signals["signals"]] == [line["signal"] for line in why["receipt"]["lines"]]
    assert all(one["doc"] for one in signals["signals"])
    assert served.ask("signals")[1]["profile"] == "default"
    assert served.ask("signals?profile=clasic")[0] == 400


@pytest.mark.parametrize("profile", ["default", "classic"])
def test_weights_that_are_copied_as_settings_rank_the_same_way(served, tmp_path, profile):
    factors = {"default": {"meaning": 0.7, "test": 0.0, "verbatim": 2.3}, "classic": {"semantic": 0.3, "path_penalty": 0.0}}[profile]
    _, found = served.ask("weights", {"profile": profile, "factors": factors})
    root = write(tmp_path / "shop", {**FILES, found["file"]: found["lines"]})
    with Index.open(root, data_dir=tmp_path / "data") as set_so:
        settled = [(one.path, one.score) for one in set_so.search(QUERY, profile=profile)]
    (root / found["file"]).unlink()
    with Index.open(root, data_dir=tmp_path / "data") as usual:
        moved = [(one.path, one.score) for one in usual.search(QUERY, profile=profile, factors=factors)]
        assert moved != [(one.path, one.score) for one in usual.search(QUERY, profile=profile)]
    assert settled == moved


# What the page does.
def test_a_signal_that_is_switched_off_reorders_the_results_at_once(show):
    page = show("/?q=cart+total")
    page.wait_for_selector(".results li")
    assert "checkout" in page.inner_text(".results li:nth-child(2)")
    page.keyboard.press("Escape")
    page.click(".results li:nth-child(2) .why")
    page.get_by_role("switch", name="exact counts").click()
    page.wait_for_selector(".results li:nth-child(2):has-text('test_cart')")
    assert page.inner_text(".results li:nth-child(2) .move") == "▲1\none place up"
    page.wait_for_url("**w=exact*0**")
    assert "switched off" in page.inner_text(".contribution.off")
    page.click("text=Put back")
    page.wait_for_selector(".results li:nth-child(2):has-text('checkout')")
    assert page.query_selector(".move") is None


def test_a_slider_is_moved_by_keys_and_put_back_by_a_double_click(show):
    page = show(OPEN)
    slider = page.get_by_role("slider", name="Weight of meaning")
    before = page.inner_text(".total strong")
    same = f".total strong:text-is('{before}')"
    slider.focus()
    for _ in range(3):
        page.keyboard.press("ArrowUp")
    page.wait_for_url(re.compile(r"w=meaning(\*|%2A)1\.3"))
    page.wait_for_selector(same, state="detached")
    assert page.evaluate("document.activeElement.type") == "range"
    slider.dblclick()
    page.wait_for_selector(same)


def test_the_bars_of_the_waterfall_join_end_to_end(show):
    page = show(OPEN)
    page.wait_for_selector(".waterfall .bar")
    bars = page.evaluate(
        "[...document.querySelectorAll('.receipt section > .waterfall .bar')].map((bar) => "
        "({left: parseFloat(bar.style.left), width: parseFloat(bar.style.width), plus: bar.classList.contains('plus')}))"
    )
    ends = [bar["left"] + (bar["width"] if bar["plus"] else 0) for bar in bars]
    begins = [bar["left"] + (0 if bar["plus"] else bar["width"]) for bar in bars]
    assert len(bars) > 3
    assert begins[1:] == pytest.approx(ends[:-1], abs=0.5)
    assert re.fullmatch(r"\d+ signals say nothing", page.inner_text(".silent summary"))
    page.get_by_role("switch", name="all weights").click()
    page.wait_for_selector(".contribution .doc")
    assert page.locator(".contribution").count() == len(PROFILES["default"].signals)


def test_a_key_asks_why_something_is_not_there(show):
    page = show("/?q=cart+total")
    page.wait_for_selector(".why-not")
    page.keyboard.press("Escape")
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("n")
    page.keyboard.type("README.md")
    page.keyboard.press("Enter")
    page.wait_for_selector(".missing")
    assert "only code is searched" in page.inner_text(".missing")
    page.go_back()
    page.wait_for_selector(".missing", state="detached")


@pytest.mark.parametrize("page", looks({}, {"color_scheme": "dark", "viewport": PHONE}), indirect=True, ids=["wide", "dark phone"])
def test_everybody_can_use_the_receipt(show, accessible):
    page = show("/?q=cart+total&open=shop:shop/checkout.py&weights=all&w=meaning*0.5,test*0")
    page.wait_for_selector(".contribution .doc")
    page.click(".lacking summary")
    accessible(page)


def test_moved_weights_are_shown_as_lines_of_settings(show, accessible):
    page = show("/?q=cart+total&w=meaning*0.5,test*0")
    page.click("text=Copy as settings")
    page.wait_for_selector(".settings")
    assert "[profiles.default.signals.meaning]" in page.inner_text(".settings")
    accessible(page)

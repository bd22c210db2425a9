"""The context view: packs through the API, and in a real browser."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from mcp_servers import surroundings
from sample_trees import git, whence, write
from small_cases import each
from ui.opened import url_has
from ui.pages import PHONE, Served

TASK = "take the discount off the total of the cart"
SMALL = 160
TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def packed(served: Served, **asked: Any) -> dict[str, Any]:
    status, answer = served.ask("context", asked)
    assert status == 200, answer
    return answer["pack"]


def refused(served: Served, **asked: Any) -> str:
    status, answer = served.ask("context", asked)
    assert status in (400, 422), answer
    return f"{answer['error']} ({answer['hint']})"


def by_name(pack: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {one["qualified_name"]: one for one in pack["symbols"]}


# What a pack tells.
@pytest.mark.parametrize("budget", [SMALL, 400, 50_000])
def test_a_pack_keeps_its_budget_and_tells_what_each_symbol_takes(served, budget):
    pack = packed(served, task=TASK, budget=budget)
    assert pack["tokens"] <= pack["budget"] == budget
    assert math.isclose(sum(one["tokens"] for one in pack["symbols"]) + pack["frame_tokens"], pack["tokens"], abs_tol=0.1)
    assert pack["text"].endswith("\n")


def test_the_text_is_what_the_command_prints(served, project, home):
    printed = whence("context", TASK, "--budget", "300", cwd=project, **surroundings(home))
    assert packed(served, task=TASK, budget=300)["text"] == printed.stdout


def test_what_does_not_fit_is_told_with_what_it_would_take(served):
    pack = packed(served, task=TASK, budget=SMALL)
    left = [one for one in pack["symbols"] if one["form"] == "left_out"]
    assert left
    assert all(one["tokens"] == 0 and (one["uncut_tokens"] > 0 or one["holder"]) for one in left)
    assert pack["missing_tokens"] > 0
    assert f"{len(left)} left out" in pack["text"]


def test_with_enough_budget_nothing_is_missing_and_methods_stand_in_their_class(served):
    pack = packed(served, task=TASK, budget=50_000)
    assert pack["missing_tokens"] == 0
    found = by_name(pack)
    assert (found["Cart"]["form"], found["Cart.total"]["form"]) == ("body", "inside")
    assert found["Cart.total"]["holder"] == "shop/cart.py#Cart"


def test_the_forms_are_counted(served):
    pack = packed(served, task=TASK, budget=SMALL)
    forms = [one["form"] for one in pack["symbols"]]
    counts = dict(pack["counts"])
    assert counts.pop("ranked") == len(forms)
    assert counts.pop("looked_at") == len(forms)
    assert counts == {form: forms.count(form) for form in ("body", "excerpt", "signature", "pointer", "inside", "left_out", "beyond")}


def test_symbols_come_best_first_with_their_rank(served):
    symbols = packed(served, task=TASK)["symbols"]
    assert [one["rank"] for one in symbols] == list(range(1, len(symbols) + 1))
    assert [one["score"] for one in symbols] == sorted((one["score"] for one in symbols), reverse=True)


def test_the_picture_is_told_what_joins_the_symbols(served):
    pack = packed(served, task=TASK)
    edges = {(one["source"], one["group"], one["target"]) for one in pack["edges"]}
    assert ("shop/cart.py#Cart.total", "calls", "shop/price.py#discount") in edges
    assert {end for source, _, target in edges for end in (source, target)} <= {one["key"] for one in pack["symbols"]}


# What can be asked.
def test_files_are_asked_for_instead_of_a_task(served):
    assert {"pay", "receipt"} <= set(by_name(packed(served, files=["shop/checkout.py"])))


def test_a_change_is_asked_for_instead_of_a_task(served, project):
    before = (project / "shop/price.py").read_text(encoding="utf-8")
    try:
        write(project, {"shop/price.py": before.replace("0.1", "0.2")})
        assert packed(served, diff="HEAD")["symbols"][0]["qualified_name"] == "RATE"
    finally:
        write(project, {"shop/price.py": before})
        assert git("status", "--porcelain", cwd=project) == ""


@each(
    ("asked", "said"),
    [
        ({}, "there is no task"),
        ({"task": "x", "diff": "HEAD"}, "exclude each other"),
        ({"task": TASK, "budget": 5}, "too small for an answer (the least is"),
        ({"task": TASK, "budget": 0}, "budget"),
        ({"task": TASK, "profile": "best"}, "there is no profile 'best'"),
        ({"task": TASK, "format": "html"}, "there is no format 'html'"),
        ({"files": ["../../etc/passwd"]}, "is not in a folder that this server may read"),
        ({"diff": "--output=x"}, "git cannot compare with"),
    ],
)
def test_what_cannot_be_answered_is_refused_with_a_reason(served, asked, said):
    assert said in refused(served, **asked)


def test_a_task_that_is_not_here_is_doubted(served):
    _, answer = served.ask("context", {"task": "quaternion rotation of asteroids"})
    assert answer["doubt"].startswith("not here, most likely")
    assert served.ask("context", {"task": TASK})[1]["doubt"] == ""


def test_a_secret_in_a_task_does_not_come_back(served):
    _, answer = served.ask("context", {"task": f"pay with {TOKEN}"})
    assert TOKEN not in str(answer)


# Why a symbol is there.
def test_the_parts_of_a_score_add_up_to_it(served):
    symbol = packed(served, task=TASK)["symbols"][1]
    status, found = served.ask("context/why", {"task": TASK, "symbol": symbol["key"]})
    assert status == 200
    total = 0.0
    for line in found["lines"]:
        total = total * line["contribution"] if line["operation"] == "x" else total + line["contribution"]
    assert (found["rank"], found["qualified_name"]) == (2, symbol["qualified_name"])
    assert total == pytest.approx(found["score"]) == pytest.approx(symbol["score"], abs=1e-5)


def test_some_symbol_would_stand_elsewhere_without_a_part_of_its_score(served):
    found = [served.ask("context/why", {"task": TASK, "symbol": one["key"]})[1] for one in packed(served, task=TASK)["symbols"]]
    assert any(line["rank_without"] != why["rank"] for why in found for line in why["lines"])


def test_a_symbol_that_is_not_there_is_refused(served):
    status, answer = served.ask("context/why", {"task": TASK, "symbol": "Cartt"})
    assert status == 400
    assert "Cart" in answer["hint"] + answer["error"]


def test_looking_teaches_nothing(served, home):
    before = packed(served, task=TASK, budget=300)
    served.ask("context/why", {"task": TASK, "symbol": before["symbols"][0]["key"]})
    packed(served, task=TASK, budget=SMALL)
    assert packed(served, task=TASK, budget=300) == before
    assert list(Path(home).rglob("learned*")) == []


# In a browser.
def test_a_task_is_packed_when_the_typing_pauses_and_the_bar_moves_with_the_budget(show):
    page = show("/context")
    page.keyboard.type(TASK)
    page.wait_for_selector(".bar .form-body")
    url_has(page, "task=take")
    page.fill("input[type=number]", str(SMALL))
    page.keyboard.press("Enter")
    page.wait_for_selector(".bar.left-out .form-left_out")
    assert page.inner_text(".bars h2:first-child").endswith("ranked")
    assert f"of {SMALL} tokens" in page.inner_text(".bars h2:first-child")
    page.focus("input[type=range]")
    page.keyboard.press("End")
    page.wait_for_selector(".bars .good")
    url_has(page, "budget=200000")


def test_symbols_are_walked_by_keys_and_say_why_and_show_their_code(show):
    page = show(f"/context?task={TASK}&budget=400")
    page.wait_for_selector(".packed li")
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    page.keyboard.press("w")
    page.wait_for_selector(".packed li.at .reasons tbody tr")
    page.keyboard.press("o")
    page.wait_for_selector(".packed li.at pre.code .line")
    page.go_back()
    page.wait_for_selector(".packed li.at .reasons")


def test_what_is_left_out_the_picture_and_the_text_are_one_key_away(show):
    page = show(f"/context?task={TASK}&budget={SMALL}")
    page.wait_for_selector(".packed li")
    page.keyboard.press("Escape")
    page.keyboard.press("l")
    page.wait_for_selector(".packed li:has-text('did not fit')")
    page.keyboard.press("p")
    page.wait_for_selector(".picture canvas")
    page.keyboard.press("t")
    page.wait_for_selector(".printed:has-text('# take the discount')")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.click("text=Copy")
    page.wait_for_selector("text=Copied.")
    assert page.evaluate("navigator.clipboard.readText()") == page.text_content(".printed")


def test_a_task_too_long_for_an_address_is_packed_all_the_same(show):
    page = show("/context")
    page.fill("#asked-text", f"{TASK}. " * 400)
    page.click("text=Pack")
    page.wait_for_selector(".bar .form-body")
    expect(page).not_to_have_url(re.compile("task="))


@pytest.mark.parametrize(
    ("page", "state"),
    [
        ({}, "open=shop/cart.py%23Cart.total&panel=why"),
        ({"color_scheme": "dark"}, "tab=left"),
        pytest.param({"viewport": PHONE}, "open=shop/cart.py%23Cart.total&panel=why", marks=pytest.mark.nightly),
    ],
    indirect=["page"],
    ids=["light", "dark", "phone"],
)
def test_everybody_can_use_it(show, accessible, state):
    page = show(f"/context?task={TASK}&budget={SMALL}&{state}")
    page.wait_for_selector(".packed .reasons, .packed li:has-text('did not fit')")
    accessible(page)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")

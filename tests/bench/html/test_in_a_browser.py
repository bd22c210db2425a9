"""The pages of all benchmarks in a real browser: no complaint, no request, nothing that somebody cannot see or reach."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bench.html.conftest import Results
from bench.html.small_results import MAKERS
from whence_bench.html.document import as_html

WIDE, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
#: axe's findings that count (its own words for how bad they are).
BAD = ("serious", "critical")


LOOKS = {"light": {"viewport": WIDE, "color_scheme": "light"}, "dark phone": {"viewport": PHONE, "color_scheme": "dark"}}


@pytest.fixture(scope="module")
def tabs(browser: Any) -> dict[str, Any]:
    """A page of each look: a new one costs more than what is done with it."""
    return {look: browser.new_context(**options).new_page() for look, options in LOOKS.items()}


def complaints(page: Any, file: Path, *, axe: bool) -> list[str]:
    """What a browser, axe and a ruler have against a page."""
    told: list[str] = []
    heard = {
        "pageerror": lambda error: told.append(f"error: {error}"),
        "console": lambda said: told.append(f"console: {said.text}"),
        "request": lambda request: told.append(f"request: {request.url}") if request.url != file.as_uri() else None,
    }
    for event, note in heard.items():
        page.on(event, note)
    page.goto(file.as_uri())
    page.evaluate("document.querySelectorAll('details').forEach((one) => (one.open = true))")
    wide = page.evaluate("document.documentElement.scrollWidth")
    if wide > page.viewport_size["width"]:
        told.append(f"{wide} wide")
    if axe:
        from axe_playwright_python.sync_playwright import Axe

        found = Axe().run(page).response["violations"]
        told += [f"{one['id']}: {one['nodes'][0]['html'][:200]}" for one in found if one["impact"] in BAD]
    for event, note in heard.items():
        page.remove_listener(event, note)
    return told


@pytest.mark.parametrize("kind", MAKERS)
def test_a_page_opens_without_a_complaint_or_a_request_and_axe_finds_nothing_serious(
    results: Results, kind: str, tabs: dict[str, Any], tmp_path: Path
):
    result = results(kind)
    result["settings"] = result.get("settings", [])[:5]
    file = tmp_path / "page.html"
    file.write_text(as_html(result, result if kind in ("search", "speed") else None), encoding="utf-8")
    assert complaints(tabs["light"], file, axe=True) == []
    assert complaints(tabs["dark phone"], file, axe=kind in ("speed", "faults")) == []


def test_a_page_needs_no_script_and_on_paper_everything_is_unfolded(results: Results, browser: Any, tmp_path: Path):
    file = tmp_path / "page.html"
    file.write_text(as_html(results("search")), encoding="utf-8")
    context = browser.new_context(viewport=WIDE, color_scheme="dark", java_script_enabled=False)
    page = context.new_page()
    page.goto(file.as_uri())
    folded = page.locator("details table").first
    assert page.locator("figure svg").first.bounding_box()["width"] > 300
    assert not folded.is_visible()
    page.emulate_media(media="print")
    assert folded.is_visible()
    context.close()


def test_the_ground_is_dark_where_that_is_asked_for_and_paper_is_white(results: Results, browser: Any, tmp_path: Path):
    file = tmp_path / "page.html"
    file.write_text(as_html(results("speed")), encoding="utf-8")
    grounds = {}
    for scheme, media in (("light", "screen"), ("dark", "screen"), ("dark", "print")):
        context = browser.new_context(viewport=WIDE)
        page = context.new_page()
        page.emulate_media(media=media, color_scheme=scheme)
        page.goto(file.as_uri())
        grounds[scheme, media] = page.evaluate("getComputedStyle(document.body).backgroundColor")
        context.close()
    assert grounds == {
        ("light", "screen"): "rgb(255, 255, 255)",
        ("dark", "screen"): "rgb(20, 22, 26)",
        ("dark", "print"): "rgb(255, 255, 255)",
    }

"""What is measured inside the page: key presses, bytes, paints, accessibility, frames."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from whence_bench.ui.driver import PHONE, WIDE, Site, page_of, show

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

#: Seconds between two letters: half are shorter than the first, and none is outside the others.
TYPICAL_GAP, SHORTEST_GAP, LONGEST_GAP = 0.13, 0.06, 0.4
SPREAD_OF_GAPS = 0.35
#: Seconds that one who has read the results waits before the next query.
PAUSE = 0.5
#: Findings of axe that count (its own words for how bad they are).
BAD = ("serious", "critical")
#: How the picture is moved, and for how long each way.
SECONDS_OF_MOVING = 4.0

# For every letter typed into the query: when results of it were first on the screen. The page says of which query its
# results are in `data-of`; a task that is begun by a frame runs when that frame has been drawn.
_KEYS = """
(() => {
  const waiting = [];
  window.measured = [];
  let pressed = 0;
  addEventListener("keydown", (event) => (pressed = event.timeStamp), true);
  addEventListener("input", (event) => event.target.id === "query" && waiting.push({ query: event.target.value, at: pressed }), true);
  const afterTheFrame = (run) => requestAnimationFrame(() => {
    const channel = new MessageChannel();
    channel.port1.onmessage = run;
    channel.port2.postMessage(null);
  });
  new MutationObserver(() => {
    const shown = document.querySelector("main[data-of]")?.dataset.of;
    const settled = waiting.splice(0, waiting.findLastIndex((one) => one.query === shown) + 1);
    if (!settled.length) return;
    afterTheFrame(() => settled.forEach((one, place) => window.measured.push({
      query: one.query, milliseconds: performance.now() - one.at, overtaken: place < settled.length - 1 })));
  }).observe(document, { subtree: true, childList: true, attributes: true, attributeFilter: ["data-of"] });
})();
"""
_FRAMES = """
(() => {
  window.frames_at = [];
  const tick = (now) => { window.frames_at.push(now); requestAnimationFrame(tick); };
  requestAnimationFrame(tick);
})();
"""
_PAINTED = """() => new Promise((done) => new PerformanceObserver((list, observer) => {
  const found = list.getEntriesByName("first-contentful-paint");
  if (found.length) { observer.disconnect(); done(found[0].startTime); }
}).observe({ type: "paint", buffered: true }))"""


@dataclass(frozen=True, slots=True)
class Press:
    """One key press, and how long it took until results of its query, or of a later one, were shown."""

    query: str
    milliseconds: float
    overtaken: bool  # the next letter came before the answer


def presses(browser: Browser, site: Site, queries: Sequence[str], seed: int) -> list[Press]:
    """Type queries letter by letter; the first is for warming up and does not count."""
    chance = random.Random(seed)
    with page_of(browser) as page:
        page.add_init_script(_KEYS)
        show(page, site, "/")
        for number, query in enumerate(queries):
            page.focus("#query")
            page.keyboard.press("Control+a")
            for letter in query:
                page.keyboard.press("Space" if letter == " " else letter)
                time.sleep(min(max(TYPICAL_GAP * chance.lognormvariate(0, SPREAD_OF_GAPS), SHORTEST_GAP), LONGEST_GAP))
            page.wait_for_selector(f"main[data-of={json.dumps(query)}]")
            time.sleep(PAUSE)
            if number == 0:
                page.evaluate("window.measured.length = 0")
        return [Press(**one) for one in page.evaluate("window.measured")]


@dataclass(frozen=True, slots=True)
class Weight:
    """Bytes that were transferred, headers included, without the answers of the API."""

    first: int  # until the page can be used
    whole: int  # when all views were shown
    files: int
    strangers: tuple[str, ...]  # what was asked of other machines


def weight(browser: Browser, site: Site) -> Weight:
    """Load the page, then every view of it by its link."""
    sizes: dict[str, int] = {}
    names: dict[str, str] = {}
    with page_of(browser) as page:
        log = page.context.new_cdp_session(page)
        log.send("Network.enable")
        log.on("Network.requestWillBeSent", lambda event: names.update({event["requestId"]: event["request"]["url"]}))
        log.on("Network.loadingFinished", lambda event: sizes.update({event["requestId"]: event["encodedDataLength"]}))

        def so_far() -> int:
            return sum(size for one, size in sizes.items() if not names.get(one, "").startswith(f"{site.base}/api/"))

        show(page, site, "/")
        first = so_far()
        for place in range(page.locator("nav a").count()):
            page.locator("nav a").nth(place).click()
            page.wait_for_selector("#content main:not(.wait)")
            page.wait_for_load_state("networkidle")
        whole = so_far()
    own = [url for url in names.values() if url.startswith(site.base)]
    strangers = sorted({url for url in names.values() if not url.startswith((site.base, "data:", "blob:"))})
    return Weight(first, whole, len([url for url in own if not url.startswith(f"{site.base}/api/")]), tuple(strangers))


def paints(browser: Browser, site: Site, loads: int) -> list[dict[str, float]]:
    """Milliseconds until something is painted, and until the query can be typed, of loads that know nothing of one another."""
    found = []
    for _ in range(loads):
        with page_of(browser) as page:
            page.goto(site.link)
            page.wait_for_selector("#query")
            usable = page.evaluate("performance.now()")
            found.append({"painted": page.evaluate(_PAINTED), "usable": usable})
    return found


def violations(browser: Browser, site: Site, addresses: Sequence[str]) -> dict[str, list[str]] | None:
    """What axe finds serious or critical in each view, wide, dark and narrow; None where axe is not installed."""
    try:
        from axe_playwright_python.sync_playwright import Axe  # noqa: PLC0415  -- for this alone
    except ImportError:
        return None
    found: dict[str, list[str]] = {}
    for name, size, dark in (("light", WIDE, False), ("dark", WIDE, True), ("phone", PHONE, False)):
        with page_of(browser, size, dark=dark) as page:
            for address in addresses:
                show(page, site, address)
                told = Axe().run(page).response["violations"]
                found[f"{address} {name}"] = [one["id"] for one in told if one["impact"] in BAD]
    return found


def frames(browser: Browser, site: Site, address: str) -> dict[str, Any]:
    """Milliseconds between frames while the picture of a graph is dragged, and while it is zoomed."""
    with page_of(browser) as page:
        page.add_init_script(_FRAMES)
        show(page, site, address)
        page.wait_for_selector("canvas[data-rest=true]")
        time.sleep(PAUSE)
        box = page.locator("canvas").first.bounding_box()
        if box is None:
            return {}
        middle = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        return {"panning": _while(page, lambda at: _drag(page, middle, at)), "zooming": _while(page, lambda at: _wheel(page, middle, at))}


def _while(page: Page, move: Any) -> list[float]:
    page.evaluate("window.frames_at.length = 0")
    began, step = time.monotonic(), 0
    while time.monotonic() - began < SECONDS_OF_MOVING:
        move(step)
        step += 1
    page.mouse.up()
    times: list[float] = page.evaluate("window.frames_at")
    return [later - earlier for earlier, later in pairwise(times)]


def _drag(page: Page, middle: tuple[float, float], step: int) -> None:
    x, y = middle
    if step == 0:
        page.mouse.move(x, y)
        page.mouse.down()
    page.mouse.move(x + 150 * ((step // 20 % 2) * 2 - 1) * (step % 20) / 20, y + 5 * (step % 20))


def _wheel(page: Page, middle: tuple[float, float], step: int) -> None:
    if step == 0:
        page.mouse.move(*middle)
    page.mouse.wheel(0, 60 if step // 12 % 2 else -60)

"""`whence bench ui`: how the page feels, measured in a real Chromium in front of a real server.

What is counted, and what is not:

- **A key press** counts from the time stamp that the browser gave the key's event to the end of the frame in which
  results of that query are in the document. Letters are typed one by one, half of the gaps shorter than 130 ms. Where
  the next letter comes before the answer, the press counts until results of a later query are shown. One query is typed
  before, so that the index is open. The way of a key to the browser and of a frame to a screen are not in it.
- **Weight** is what the browser's own network log says was transferred, headers included: the document, scripts,
  styles and icon of all views, without answers of the API.
- **First paint** is the browser's first contentful paint of loads with an empty profile. The document has words before
  any script has run; when the query can be typed stands beside it.
- **axe** counts findings that it calls serious or critical, in every view, in light and dark and as wide as a phone.
- **Frames** are those of a page whose picture is dragged and zoomed without a pause, by events of a real mouse; drawing
  is done without a graphics card.

Everything runs on one machine at once: the server, the browser and what drives it share its cores.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from whence_bench import report
from whence_bench.speed import trees
from whence_bench.speed.harness import Room, Row, Tell, at_most, sized_tree
from whence_bench.ui import measures as measured
from whence_bench.ui.driver import Site, chromium, serving

if TYPE_CHECKING:
    from playwright.sync_api import Browser

#: A tree of so many units is asked for, and may come out a tenth smaller.
UNITS = 11_500
#: Queries that are typed, and the seed of the gaps between their letters.
QUERIES, SEED = 24, 1
LOADS = 10
SECONDS_BETWEEN_LOOKS = 0.1
#: Nodes of the graph that is moved.
NODES = 500
#: What a figure may be at most, or at least.
KEY_P50, KEY_P99 = 60.0, 150.0
BYTES = 400_000
PAINT = 500.0
FRAMES_PER_SECOND = 30.0


def run(tree: Path | None, tell: Tell, *, units: int = UNITS, queries: int = QUERIES) -> Room:
    """Measure everything, in a folder that is removed afterwards."""
    with chromium() as browser, TemporaryDirectory(prefix="whence-bench-") as temporary:
        room = Room(Path(temporary).resolve(), trees.read_sources(tree), tell)
        room.raw["browser"] = {"chromium": browser.version}
        tell(f"a tree of {units:,} units")
        made, built = sized_tree(room, "page", units)
        room.raw["tree"] = built
        with serving(made.root, room.environment(built["data_dir"])) as site:
            _ready(site)
            asked = trees.questions(room.sources, queries + 1)
            _typed(room, browser, site, asked)
            _loaded(room, browser, site)
            symbol = _moved(room, browser, site)
            _accessible(
                room,
                browser,
                site,
                [
                    f"/?q={quote(asked[0])}",
                    "/compare",
                    f"/graph?symbol={quote(symbol)}",
                    f"/context?task={quote(asked[0])}",
                    "/memory",
                    "/index",
                ],
            )
    return room


def _ready(site: Site) -> None:
    """Wait until the index is open."""
    while any(root["progress"]["building"] for root in site.ask("search", {"query": "ready"})["roots"]):
        time.sleep(SECONDS_BETWEEN_LOOKS)


def _typed(room: Room, browser: Browser, site: Site, queries: Sequence[str]) -> None:
    room.tell(f"{len(queries)} queries, letter by letter")
    presses = measured.presses(browser, site, queries, SEED)
    times = sorted(one.milliseconds for one in presses)
    room.raw["key presses"] = [asdict(one) for one in presses]
    room.raw["queries"] = list(queries)
    overtaken = sum(one.overtaken for one in presses)
    room.notes.append(f"{len(presses)} key presses; the next letter came before the answer {overtaken} times")
    units = room.raw["tree"]["units"]
    for name, value, bar in (
        ("p50", median(times), KEY_P50),
        ("p95", percentile(times, 0.95), None),
        ("p99", percentile(times, 0.99), KEY_P99),
        ("worst", times[-1], None),
    ):
        what = f"key press to results, {units:,} units, {name}"
        room.rows.append(Row(what, f"<= {bar:g} ms" if bar else "", value, "ms", kept=at_most(value, bar) if bar else None))


def _loaded(room: Room, browser: Browser, site: Site) -> None:
    room.tell("the page, loaded")
    weight = measured.weight(browser, site)
    room.raw["weight"] = asdict(weight)
    room.rows += [
        Row("weight of the first load", "", weight.first / 1000, "kB"),
        Row(f"weight of all views, {weight.files} files", f"<= {BYTES // 1000} kB", weight.whole / 1000, "kB", kept=weight.whole <= BYTES),
        Row("requests to other machines", "0", len(weight.strangers), "requests", kept=not weight.strangers),
    ]
    loads = measured.paints(browser, site, LOADS)
    room.raw["loads"] = loads
    painted, usable = ([one[name] for one in loads] for name in ("painted", "usable"))
    room.rows += [
        Row(f"first paint, p50 of {LOADS} loads", f"<= {PAINT:g} ms", median(painted), "ms", kept=median(painted) <= PAINT),
        Row("first paint, worst", f"<= {PAINT:g} ms", max(painted), "ms", kept=max(painted) <= PAINT),
        Row("the query can be typed, p50", "", median(usable), "ms"),
    ]


def _moved(room: Room, browser: Browser, site: Site) -> str:
    """Frames while a graph is moved; the symbol in its middle."""
    symbol, nodes = largest_neighbourhood(site)
    room.tell(f"a graph of {nodes} nodes, moved")
    found = measured.frames(browser, site, f"/graph?symbol={quote(symbol)}&most={NODES}")
    room.raw["frames"] = {"symbol": symbol, "nodes": nodes, **found}
    for name, gaps in found.items():
        rate, slowest = 1000 * len(gaps) / sum(gaps), 1000 / percentile(sorted(gaps), 0.95)
        room.rows.append(
            Row(f"{name} a graph of {nodes} nodes", f">= {FRAMES_PER_SECOND:g} frames/s", rate, "frames/s", kept=rate >= FRAMES_PER_SECOND)
        )
        room.rows.append(Row(f"{name}, the slowest frame of twenty", "", slowest, "frames/s"))
    return symbol


def largest_neighbourhood(site: Site) -> tuple[str, int]:
    """A symbol with as many others around it as are shown at once, or the one with most."""
    best = "", 0
    for one in site.ask("symbols?most=100")["symbols"]:
        nodes = len(site.ask(f"graph?symbol={quote(one['key'])}&most={NODES}")["nodes"])
        best = max(best, (one["key"], nodes), key=lambda found: found[1])
        if nodes == NODES:
            break
    return best


def _accessible(room: Room, browser: Browser, site: Site, addresses: Sequence[str]) -> None:
    room.tell("every view, looked at by axe")
    found = measured.violations(browser, site, addresses)
    if found is None:
        room.notes.append("axe-playwright-python is not installed; accessibility was not looked at")
        return
    room.raw["axe"] = found
    count = sum(map(len, found.values()))
    room.rows.append(Row(f"serious or critical for axe, {len(addresses)} views", "0", count, "findings", kept=count == 0))
    room.notes += [f"axe: {where}: {', '.join(ids)}" for where, ids in found.items() if ids]


def percentile(values: Sequence[float], share: float) -> float:
    """The value that so large a share of sorted values does not exceed."""
    return values[min(int(len(values) * share), len(values) - 1)]


def as_text(room: Room) -> str:
    """The table, and what has to be known to read it."""
    rows = [(row.what, row.bar or None, f"{_short(row.measured)} {row.unit}", report.verdict(row.kept)) for row in room.rows]
    return "\n".join([report.table(("what", "bar", "measured", ""), rows), *(f"note: {note}" for note in room.notes)])


def _short(value: float) -> str:
    return str(value) if isinstance(value, int) else f"{value:.0f}" if value >= 100 else f"{value:.1f}"


def as_json(room: Room) -> dict[str, Any]:
    """Everything that was measured, and what is needed to measure it again."""
    built = room.raw.get("tree", {})
    return {
        "benchmark": "ui",
        "rows": [asdict(row) for row in room.rows],
        "notes": room.notes,
        "measured": room.raw,
        "settings": built.get("settings", []),
    }

"""A page of any server, opened as a person would, and what it says in its console."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

from ui.pages import WIDE, Served

SECONDS = 10


@dataclass(slots=True)
class Heard:
    """What a page complains about, but for what is excused, and its requests that are not answered yet."""

    complaints: list[str]
    excused: str
    going: set[Any] = field(default_factory=set)


_heard: WeakKeyDictionary[Any, Heard] = WeakKeyDictionary()
#: Pages of each browser that are free, by their options: a new one costs more than all that most tests do with it.
_free: WeakKeyDictionary[Any, dict[str, list[Any]]] = WeakKeyDictionary()


@contextmanager
def opened(
    browser: Any, served: Served, address: str = "/", *, token: bool = True, excused: str = "status of 4", **options: Any
) -> Iterator[Any]:
    """A page in a browser that knows nothing of others; whatever it complains about fails the test, what is excused aside."""
    options = {"viewport": WIDE, "color_scheme": "light", "reduced_motion": "reduce", **options}
    free = _free.setdefault(browser, {}).setdefault(repr(sorted(options.items())), [])
    page = free.pop() if free else browser.new_context(**options).new_page()
    page.context.set_default_timeout(SECONDS * 1000)
    complaints: list[str] = []
    listen(page, complaints, excused)
    page.goto(f"{served.base}{address}{f'#token={served.token}' if token else ''}")
    page.wait_for_selector("#content main:not(.wait)")
    yield page
    assert complaints == []
    if served.process.poll() is None:
        _forget(page, served)
        free.append(page)
    else:
        page.context.close()


def _forget(page: Any, served: Served) -> None:
    """Leave nothing of a test in its page."""
    for other in page.context.pages[1:]:
        other.close()
    page.unroute_all()
    page.evaluate("localStorage.clear(); sessionStorage.clear()")
    page.goto(f"{served.base}/static/icon.svg")  # not about:blank: for each change of site the browser starts a process
    page.mouse.move(0, 0)
    page.context.clear_permissions()


def listen(page: Any, complaints: list[str], excused: str = "status of 4") -> None:
    """Take down what a page complains about in its console, and which of its requests are open."""
    known = page in _heard
    _heard[page] = Heard(complaints, excused)
    if known:
        return
    page.on("request", lambda one: _heard[page].going.update([one]))
    for end in ("requestfinished", "requestfailed"):
        page.on(end, lambda one: _heard[page].going.difference_update([one]))
    page.on("pageerror", lambda error: _heard[page].complaints.append(str(error)))
    page.on("console", lambda said: _complain(_heard[page], said))


def _complain(heard: Heard, said: Any) -> None:
    if said.type == "error" and heard.excused not in said.text:
        heard.complaints.append(said.text)


def settle(page: Any) -> None:
    """Wait until a page asks for nothing any more; playwright's own "networkidle" takes half a second longer."""
    until, quiet = time.monotonic() + SECONDS, 0
    while quiet < 3:
        page.wait_for_timeout(20)
        quiet = 0 if _heard[page].going else quiet + 1
        assert time.monotonic() < until, [one.url for one in _heard[page].going]


def url_has(page: Any, *texts: str) -> None:
    """Wait until the address holds some texts: the page tells the browser a moment after it was changed."""
    until = time.monotonic() + SECONDS
    while not all(text in page.url for text in texts):
        assert time.monotonic() < until, page.url
        page.wait_for_timeout(20)


def counts(page: Any, selector: str, count: int) -> None:
    """Wait until there are so many of something; a function to wait for is refused by the page's own rules."""
    until = time.monotonic() + SECONDS
    while (found := page.locator(selector).count()) != count:
        assert time.monotonic() < until, f"{found} of {selector}"
        page.wait_for_timeout(20)

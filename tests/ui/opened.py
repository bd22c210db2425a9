"""A page of any server, opened as a person would, and what it says in its console."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ui.pages import WIDE, Served

SECONDS = 10


@contextmanager
def opened(
    browser: Any, served: Served, address: str = "/", *, token: bool = True, excused: str = "status of 4", **options: Any
) -> Iterator[Any]:
    """A page in a browser that knows nothing of others; whatever it complains about fails the test, what is excused aside."""
    context = browser.new_context(**{"viewport": WIDE, "color_scheme": "light", "reduced_motion": "reduce", **options})
    context.set_default_timeout(SECONDS * 1000)
    page = context.new_page()
    complaints: list[str] = []
    listen(page, complaints, excused)
    page.goto(f"{served.base}{address}{f'#token={served.token}' if token else ''}")
    page.wait_for_selector("#content main:not(.wait)")
    yield page
    context.close()
    assert complaints == []


def listen(page: Any, complaints: list[str], excused: str = "status of 4") -> None:
    """Take down what a page complains about in its console."""
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", lambda said: complaints.append(said.text) if said.type == "error" and excused not in said.text else None)


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

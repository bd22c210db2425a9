"""A page of any server, opened as a person would, and what it says in its console."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from serve.ui.conftest import WIDE
from serve.ui.pages import Served


@contextmanager
def opened(browser: Any, served: Served, address: str = "/", *, token: bool = True, **options: Any) -> Iterator[Any]:
    """A page in a browser that knows nothing of others; whatever it complains about fails the test."""
    context = browser.new_context(**{"viewport": WIDE, "color_scheme": "light", "reduced_motion": "reduce", **options})
    context.set_default_timeout(10_000)
    page = context.new_page()
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", lambda said: complaints.append(said.text) if said.type == "error" and "status of 4" not in said.text else None)
    page.goto(f"{served.base}{address}{f'#token={served.token}' if token else ''}")
    page.wait_for_selector("#content main:not(.wait)")
    yield page
    context.close()
    assert complaints == []

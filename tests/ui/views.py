"""The views of the page with something in them, each by its address and by what is there when it is ready."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ui.opened import settle
from ui.pages import Served


@dataclass(frozen=True, slots=True)
class View:
    """A view as the tests of all views open it."""

    name: str
    address: str
    ready: str  # a selector of what is there when it is
    number: str = ""  # the key that opens it, for those that have one


#: The whole list: what is looked at for accessibility, width, weight and hostile text, and what pictures are kept of.
VIEWS = (
    View("search", "/?q=cart+total", ".results li", "1"),
    View("why", "/?q=cart+total&open=shop:shop/cart.py", ".panel h2, .panel h3"),
    View("source", "/?q=cart+total&open=shop:shop/cart.py&panel=source", ".panel .code"),
    View("compare", "/compare", "main h1, main h2", "2"),
    View("graph", "/graph?symbol=Cart.total", "canvas[data-rest=true]", "3"),
    View("context", "/context?task=change+the+discount+of+the+cart", ".packed li", "4"),
    View("memory", "/memory", ".notes li, .empty", "5"),
    View("index", "/index", ".findings li", "6"),
)


def show(page: Any, served: Served, view: View) -> None:
    """Open a view, and wait until it is all there."""
    page.goto(f"{served.base}{view.address}")
    page.wait_for_selector(view.ready)
    settle(page)

"""What the API can be asked, read from its own description, with a good question for each path."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from serve.ui.pages import Served

#: A question to each path that is answered with 200 by the project of these tests: parameters of a GET, the body of a POST.
#: Where a path is about something that must exist, a test makes it first and puts its name in the place of "{name}".
GOOD: dict[str, dict[str, Any]] = {
    "GET /api/roots": {},
    "GET /api/source": {"path": "shop/cart.py"},
    "POST /api/search": {"query": "cart total", "k": 5, "factors": {"test": 0.5}},
}


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A path of the API with a method, as the document has it."""

    method: str
    path: str
    about: Mapping[str, Any] = field(hash=False, compare=False)

    @property
    def name(self) -> str:
        return f"{self.method} {self.path}"

    def line(self, given: Mapping[str, Any]) -> str:
        """The beginning of a request; what is not a parameter of a path stands in the address of a GET."""
        path = self.path.format_map({key: str(value) for key, value in given.items()})
        rest = {key: value for key, value in given.items() if f"{{{key}}}" not in self.path}
        return f"{self.method} {path}" + (f"?{urlencode(rest)}" if rest and not self.asks_by_body else "")

    @property
    def asks_by_body(self) -> bool:
        return "requestBody" in self.about

    def answer_schema(self) -> dict[str, Any]:
        """The schema of a good answer."""
        content = self.about["responses"]["200"]["content"]
        found: dict[str, Any] = content["application/json"]["schema"]
        return found


def document_of(served: Served) -> dict[str, Any]:
    """The description of the API, as the server gives it."""
    status, document = served.ask("openapi.json")
    assert status == 200
    found: dict[str, Any] = document
    return found


def endpoints_of(document: Mapping[str, Any]) -> list[Endpoint]:
    """Every path with every method."""
    return [
        Endpoint(method.upper(), path, about)
        for path, methods in document["paths"].items()
        for method, about in methods.items()
        if method in ("get", "post", "put", "patch", "delete")
    ]


def prepared(served: Served, one: Endpoint) -> dict[str, Any]:
    """A good question to a path of this server; what it is about is made first."""
    return dict(GOOD[one.name])

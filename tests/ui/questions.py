"""What the API can be asked, read from its own description, with a good question for each path."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from sample_histories import commit
from sample_shop import FILES
from sample_trees import git, write
from ui.pages import Served, serving

#: A question to each path that is answered with 200 by the project of these tests: parameters of a GET, the body of a POST.
#: Where a path is about notes, some are made first and stand in the place of these words.
NOTE, TWO_NOTES = "a note", "two notes"
GOOD: dict[str, dict[str, Any]] = {
    "GET /api/roots": {},
    "POST /api/search": {"query": "cart total", "k": 5, "factors": {"test": 0.5}},
    "GET /api/source": {"path": "shop/cart.py"},
    "POST /api/why": {"query": "cart total", "target": "shop/cart.py"},
    "GET /api/signals": {},
    "POST /api/weights": {"factors": {"test": 0.5}},
    "POST /api/compare": {"queries": [{"query": "cart total", "answers": ["shop/cart.py"]}], "a": {}, "b": {"factors": {"test": 0}}},
    "POST /api/context": {"task": "change the discount of the cart", "budget": 2_000},
    "POST /api/context/why": {"task": "change the discount of the cart", "symbol": "Cart.total"},
    "GET /api/symbols": {"text": "tot"},
    "GET /api/graph": {"symbol": "Cart.total"},
    "GET /api/notes": {"q": "discount"},
    "POST /api/notes": {"text": "The total is rounded once.", "topic": "Rounding", "replace": True},
    "GET /api/notes/{folder}/{slug}": {"note": NOTE},
    "GET /api/notes/{folder}/{slug}/code": {"note": NOTE},
    "POST /api/notes/{folder}/{slug}": {"note": NOTE, "text": "The discount is given once, before taxes."},
    "POST /api/notes/{folder}/{slug}/archive": {"note": NOTE},
    "POST /api/notes/{folder}/{slug}/restore": {"note": NOTE},
    "POST /api/notes/{folder}/{slug}/affirm": {"note": NOTE},
    "POST /api/notes/{folder}/{slug}/forget": {"note": NOTE},
    "POST /api/notes/merge-draft": {"notes": TWO_NOTES},
    "POST /api/notes/merge": {"notes": TWO_NOTES},
    "GET /api/index": {},
    "GET /api/index/files": {"state": "left_out"},
    "GET /api/index/health": {},
    "POST /api/index/refresh": {},
}
_numbers = count(1)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A path of the API with a method, as the document has it."""

    method: str
    path: str
    about: Mapping[str, Any] = field(hash=False, compare=False, repr=False)

    @property
    def name(self) -> str:
        return f"{self.method} {self.path}"

    def line(self, given: Mapping[str, Any]) -> str:
        """The beginning of a request; what is not a parameter of a path stands in the address of a GET."""
        path = self.path
        for name in self.named_in_path:
            path = path.replace(f"{{{name}}}", quote(str(given.get(name, f"no-{name}")), safe="", errors="replace"))
        rest = {key: value for key, value in given.items() if key not in self.named_in_path}
        return f"{self.method} {path}" + (f"?{urlencode(rest, errors='replace')}" if rest and not self.asks_by_body else "")

    def body(self, given: Mapping[str, Any]) -> bytes:
        """The rest of it."""
        return (
            json.dumps({key: value for key, value in given.items() if key not in self.named_in_path}).encode() if self.asks_by_body else b""
        )

    @property
    def named_in_path(self) -> list[str]:
        return [piece.strip("{}") for piece in self.path.split("/") if piece.startswith("{")]

    @property
    def asks_by_body(self) -> bool:
        return "requestBody" in self.about

    def fields(self, document: Mapping[str, Any]) -> dict[str, Any]:
        """What a question may hold, each with its schema."""
        parameters = {one["name"]: one["schema"] for one in self.about.get("parameters", ())}
        return parameters | (self.question_schema(document).get("properties", {}) if self.asks_by_body else {})

    def question_schema(self, document: Mapping[str, Any]) -> dict[str, Any]:
        """The schema of the body of a question."""
        schema: dict[str, Any] = self.about["requestBody"]["content"]["application/json"]["schema"]
        found: dict[str, Any] = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
        return found

    def answer_schema(self, document: Mapping[str, Any], status: int = 200) -> dict[str, Any]:
        """The schema of an answer, with all that it refers to."""
        content = self.about["responses"][str(status)]["content"]
        return {**content["application/json"]["schema"], "components": document["components"]}


@contextmanager
def asked_server(place: Path) -> Iterator[Served]:
    """A server of a small repository that is indexed, whose notes may be written."""
    root = write(place / "shop", FILES)
    git("init", "-q", cwd=root)
    commit(root, "The shop opens")
    with serving(root, home=place / "home") as one:
        deadline = time.monotonic() + 60
        while one.ask("source?path=shop/cart.py")[0] != 200:  # until it is indexed
            assert time.monotonic() < deadline
            time.sleep(0.1)
        yield one


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
    assert one.name in GOOD, f"{one.name} has no good question in GOOD of tests/ui/questions.py"
    question = dict(GOOD[one.name])
    if question.pop("note", None) == NOTE:
        note = noted(served)
        question["folder"], _, question["slug"] = note["key"].partition("/")
        question |= {"expected": note["seen"]} if one.asks_by_body else {}
    if question.get("notes") == TWO_NOTES:
        question["notes"] = [{"key": note["key"], "expected": note["seen"]} for note in (noted(served), noted(served))]
    return question


def noted(served: Served) -> dict[str, Any]:
    """A note that no other test has."""
    number = next(_numbers)
    given = {"text": f"The discount was changed for the {number}th time.", "topic": f"Discount {number}", "about": ["shop/cart.py"]}
    status, note = served.ask("notes", given)
    assert status == 200, note
    found: dict[str, Any] = note
    return found

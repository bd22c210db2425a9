"""What a program reports of a function becomes a symbol when exactly one fits; else it is counted, never guessed."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from whence.core.types import Parsed
from whence.graph.enrich.traces import AMBIGUOUS, UNKNOWN, UNNAMED, Functions, reported_names
from whence.parse.languages import language_of
from whence.parse.units import parse

FILES = {
    "src/shop/cart.py": "class Cart:\n    def add(self):\n        pass\n\n\ndef total():\n    def inner():\n        pass\n    return inner()\n",
    "src/shop/stock.py": "class Stock:\n    def add(self):\n        pass\n\n\ndef only_here():\n    pass\n",
    "src/web/cart.py": "def total():\n    pass\n",
    "go/store/store.go": "package store\n\ntype Box struct{}\n\nfunc (b *Box) Put() {}\n",
    "java/com/acme/Pay.java": "package com.acme;\n\nclass Pay {\n    Pay() {}\n    void charge() {}\n}\n",
}


class Parts:
    """Files that are parsed for real and looked up by hand."""

    def __init__(self, files: dict[str, str]) -> None:
        self._parsed = {path: parse(text.encode(), language_of(path).name) for path, text in files.items()}

    def paths(self) -> Sequence[str]:
        return list(self._parsed)

    def files_defining(self, name: str) -> Sequence[str]:
        return [path for path, parsed in self._parsed.items() if any(unit.name == name for unit in parsed.units)]

    def parsed(self, path: str) -> Parsed | None:
        return self._parsed.get(path)


@pytest.fixture(scope="module")
def functions() -> Functions:
    return Functions(Parts(FILES))


@pytest.mark.parametrize(
    ("attributes", "key"),
    [
        ({"code.function": "only_here"}, "src/shop/stock.py#only_here"),
        ({"code.function": "add", "code.namespace": "shop.cart.Cart"}, "src/shop/cart.py#Cart.add"),
        ({"code.function.name": "shop.stock.Stock.add"}, "src/shop/stock.py#Stock.add"),
        ({"code.function": "Cart.add"}, "src/shop/cart.py#Cart.add"),
        ({"code.function": "total", "code.filepath": "/app/src/web/cart.py"}, "src/web/cart.py#total"),
        ({"code.function": "total", "code.namespace": "shop.cart"}, "src/shop/cart.py#total"),
        ({"code.function": "total.<locals>.inner", "code.file.path": "shop/cart.py"}, "src/shop/cart.py#total"),
        ({"code.function.name": "github.com/acme/store.(*Box).Put"}, "go/store/store.go#Box.Put"),
        ({"code.function.name": "com.acme.Pay.charge"}, "java/com/acme/Pay.java#Pay.charge"),
        ({"code.function": "add", "code.filepath": "C:\\build\\src\\shop\\cart.py"}, "src/shop/cart.py#Cart.add"),
    ],
)
def test_a_function_that_only_one_symbol_fits_is_that_symbol(functions, attributes, key):
    assert functions.find(attributes) == (key, "")


@pytest.mark.parametrize(
    ("attributes", "reason"),
    [
        ({"code.function": "add"}, AMBIGUOUS),
        ({"code.function": "total", "code.filepath": "cart.py"}, AMBIGUOUS),
        ({"code.function": "no_such"}, UNKNOWN),
        ({"code.function": "only_here", "code.namespace": "requests.api"}, UNKNOWN),
        ({"code.function": "only_here", "code.filepath": "/usr/lib/requests/api.py"}, UNKNOWN),
        ({"code.function": "add", "code.namespace": "shop.cart.Basket"}, UNKNOWN),
        ({"code.function": "add", "code.filepath": "/usr/lib/other/cart.py"}, UNKNOWN),
        ({"code.filepath": "/app/src/shop/cart.py", "code.lineno": "2"}, UNNAMED),
        ({"code.function": "f" * 10_000}, UNNAMED),
        ({}, UNNAMED),
    ],
)
def test_a_function_that_none_or_several_fit_is_not_guessed(functions, attributes, reason):
    assert functions.find(attributes) == ("", reason)


def test_a_line_decides_between_equals():
    functions = Functions(
        Parts({"a.py": "class One:\n    def run(self):\n        pass\n\n\nclass Two:\n    def run(self):\n        pass\n"})
    )
    report = {"code.function": "run", "code.filepath": "/srv/a.py"}
    assert functions.find(report) == ("", AMBIGUOUS)
    assert functions.find({**report, "code.lineno": "7"}) == ("a.py#Two.run", "")


@pytest.mark.parametrize(
    ("function", "namespace", "names"),
    [
        ("GuzzleHttp\\Client::transfer", "", ["GuzzleHttp", "Client", "transfer"]),
        ("main.serve.func1", "", ["main", "serve"]),
        ("com.acme.Pay.<init>", "", ["com", "acme", "Pay", "Pay"]),
        ("com.acme.Pay.charge", "com.acme.Pay", ["com", "acme", "Pay", "charge"]),
        ("run()", "jobs", ["jobs", "run"]),
    ],
)
def test_the_names_of_other_languages_are_taken_apart(function, namespace, names):
    assert reported_names(function, namespace) == names

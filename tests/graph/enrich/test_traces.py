"""Spans that mean symbols become edges with a count, a time and a confidence; none counts twice."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from small_cases import each
from whence.core.errors import StorageError
from whence.core.types import RUNTIME, Edge, ParsedFile
from whence.graph.enrich.traces import (
    AMBIGUOUS,
    UNKNOWN,
    UNNAMED,
    FunctionFinder,
    Observations,
    Span,
    TraceError,
    confidence,
    relation_of,
    reported_names,
)
from whence.parse.languages import language_of
from whence.parse.units import parse

FILES = {"app.py": "def view():\n    pay()\n\n\ndef pay():\n    pass\n"}
NOW = 2_000_000_000.0


def span(number: int, function: str, parent: int = 0, ended: float = 0.0, kind: str = "", **attributes: str) -> Span:
    said = {"code.function": function, **{name.replace("_", "."): value for name, value in attributes.items()}}
    return Span(bytes([number]) * 16, bytes([parent]) * 16 if parent else b"", kind, ended, said)


def observed(path: Path, *batches: list[Span]) -> list[Edge]:
    functions = FunctionFinder(Parts(FILES))
    with Observations(path) as observations:
        for batch in batches:
            observations.ingest(batch, functions)
        return observations.edges(NOW)


def test_a_child_span_is_a_call_of_its_parent(tmp_path):
    (edge,) = observed(tmp_path / "t.db", [span(1, "view"), span(2, "pay", 1, 50.0), span(3, "pay", 1, 90.0)])
    assert (edge.source, edge.target, edge.kind, edge.provenance) == ("app.py#view", "app.py#pay", "calls", RUNTIME)
    assert (edge.count, edge.seen, edge.confidence) == (2, 90.0, round(confidence(2), 4))


def test_the_same_spans_count_once_however_often_they_come(tmp_path):
    batch = [span(1, "view"), span(2, "pay", 1)]
    grown = [*batch, span(3, "pay", 1)]
    assert observed(tmp_path / "t.db", batch, batch, grown, grown)[0].count == 2


def test_a_child_finds_its_parent_in_another_file_whichever_came_first(tmp_path):
    assert len(observed(tmp_path / "a.db", [span(2, "pay", 1)], [span(1, "view")])) == 1
    assert len(observed(tmp_path / "b.db", [span(1, "view")], [span(2, "pay", 1)])) == 1


def test_a_function_inside_itself_is_no_call_of_another(tmp_path):
    assert observed(tmp_path / "t.db", [span(1, "pay"), span(2, "pay", 1)]) == []


def test_what_is_not_known_is_counted_by_its_reason(tmp_path):
    with Observations(tmp_path / "t.db") as observations:
        did = observations.ingest([span(1, "view"), span(2, "nobody"), None], FunctionFinder(Parts(FILES)))
    assert (did.spans, did.mapped, did.unmapped) == (3, 1, {"unknown": 1, "without a number": 1})


def test_a_file_that_turns_out_to_be_unreadable_leaves_nothing(tmp_path):
    def spans():
        yield from (span(1, "view"), span(2, "pay", 1))
        raise TraceError("half of it is missing")

    with Observations(tmp_path / "t.db") as observations:
        with pytest.raises(TraceError):
            observations.ingest(spans(), FunctionFinder(Parts(FILES)))
        assert observations.edges(NOW) == []
        observations.ingest([span(1, "view"), span(2, "pay", 1)], FunctionFinder(Parts(FILES)))
        assert len(observations.edges(NOW)) == 1


def test_a_clock_that_is_ahead_says_no_later_than_now(tmp_path):
    assert observed(tmp_path / "t.db", [span(1, "view"), span(2, "pay", 1, NOW * 2)])[0].seen == NOW


@each(
    ("kind", "attributes", "relation"),
    [
        ("server", {"http.route": "/users/{id}", "http.request.method": "get"}, ("handles_route", "route:GET /users/{id}")),
        ("", {"http.route": "/users", "http.method": "POST"}, ("handles_route", "route:POST /users")),
        ("client", {"url.template": "/users", "http.method": "GET"}, ("consumes_endpoint", "route:GET /users")),
        ("server", {"rpc.service": "shop.Pay", "rpc.method": "Charge"}, ("implements_rpc", "rpc:shop.Pay/Charge")),
        ("client", {"rpc.method": "shop.Pay/Charge"}, ("consumes_rpc", "rpc:shop.Pay/Charge")),
        ("internal", {"rpc.method": "shop.Pay/Charge"}, None),
        ("server", {"http.route": "/\x1b[31m"}, None),
        ("server", {"http.route": "/" + "x" * 5_000}, None),
        ("server", {}, None),
    ],
)
def test_routes_and_remote_procedures_are_read_from_attributes(kind, attributes, relation):
    assert relation_of(Span(b"1", b"", kind, 0.0, attributes)) == relation


def test_a_route_is_an_edge_of_the_function_that_handled_it(tmp_path):
    (edge,) = observed(tmp_path / "t.db", [span(1, "view", 0, 7.0, "server", http_route="/pay", http_method="GET")])
    assert (edge.source, edge.target, edge.kind, edge.count, edge.seen) == ("app.py#view", "route:GET /pay", "handles_route", 1, 7.0)


def test_confidence_rises_with_observations_and_stays_within_its_bounds():
    values = [confidence(count) for count in (1, 2, 20, 100, 10**6)]
    assert values == sorted(values)
    assert values[0] > 0.2
    assert values[-1] <= 0.95
    assert round(values[2], 2) == 0.67


def test_a_damaged_file_of_observations_is_one_clear_line(tmp_path):
    (tmp_path / "t.db").write_bytes(b"no database at all" * 100)
    with pytest.raises(StorageError, match="not a database"):
        Observations(tmp_path / "t.db")


REPORTED_FROM = {
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

    def parsed(self, path: str) -> ParsedFile | None:
        return self._parsed.get(path)


@pytest.fixture(scope="module")
def functions() -> FunctionFinder:
    return FunctionFinder(Parts(REPORTED_FROM))


@each(
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


@each(
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
    functions = FunctionFinder(
        Parts({"a.py": "class One:\n    def run(self):\n        pass\n\n\nclass Two:\n    def run(self):\n        pass\n"})
    )
    report = {"code.function": "run", "code.filepath": "/srv/a.py"}
    assert functions.find(report) == ("", AMBIGUOUS)
    assert functions.find({**report, "code.lineno": "7"}) == ("a.py#Two.run", "")


@each(
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

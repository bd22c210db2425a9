"""`whence ingest traces`, as a process: what it stores, what it leaves out, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sample_trees import whence, write
from whence import Index
from whence.core.types import RUNTIME, Edge

FILES = {
    "shop/views.py": "from shop.pay import charge\n\n\ndef checkout():\n    return charge()\n",
    "shop/pay.py": "def charge():\n    return 1\n\n\ndef twice():\n    return 2\n",
    "shop/old.py": "def twice():\n    return 3\n",
}


def span(number: int, parent: int = 0, **attributes: str) -> dict[str, Any]:
    return {
        "traceId": "5b8efff798038103d269b633813fc60c",
        "spanId": f"{number:016x}",
        "parentSpanId": f"{parent:016x}" if parent else "",
        "kind": 2,
        "endTimeUnixNano": f"{1_700_000_000 + number}000000000",
        "attributes": [{"key": key.replace("_", "."), "value": {"stringValue": value}} for key, value in attributes.items()],
    }


def trace(*spans: dict[str, Any]) -> str:
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": list(spans)}]}]}) + "\n"


SEEN = trace(
    span(1, code_function="checkout", code_filepath="/srv/app/shop/views.py", http_route="/checkout", http_request_method="POST"),
    span(2, 1, code_function="charge", code_namespace="shop.pay"),
    span(3, 1, code_function="charge", code_namespace="shop.pay"),
    span(4, 1, code_function="twice"),
    span(5, 1, code_function="nobody"),
    span(6, 1, db_system="sqlite"),
)


@pytest.fixture
def tree(tmp_path) -> Path:
    return write(tmp_path / "tree", FILES)


def observed(root: Path) -> list[Edge]:
    with Index.open(root) as index:
        return index.store.edges(RUNTIME)


def test_observed_calls_and_routes_become_edges_with_count_and_time(tree, tmp_path):
    write(tmp_path, {"spans.json": SEEN})
    done = whence("ingest", "traces", str(tmp_path / "spans.json"), cwd=tree)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "6 spans: 3 mapped (3 new), 1 ambiguous, 1 unknown, 1 unnamed; 2 edges observed so far\n"
    call, route = sorted(observed(tree), key=lambda edge: edge.kind)
    assert (call.source, call.target, call.kind, call.count) == ("shop/views.py#checkout", "shop/pay.py#charge", "calls", 2)
    assert (route.target, route.kind, route.count) == ("route:POST /checkout", "handles_route", 1)
    assert call.seen == 1_700_000_003
    assert 0.2 < route.confidence < call.confidence < 0.95


def test_the_same_file_given_twice_counts_once(tree, tmp_path):
    write(tmp_path, {"spans.json": SEEN, "grown.json": SEEN + trace(span(7, 1, code_function="charge"))})
    for name in ("spans.json", "spans.json", "grown.json", "grown.json"):
        whence("ingest", "traces", str(tmp_path / name), cwd=tree)
    assert [edge.count for edge in observed(tree) if edge.kind == "calls"] == [3]


def test_a_symbol_that_is_gone_takes_its_edges_along(tree, tmp_path):
    write(tmp_path, {"spans.json": SEEN})
    whence("ingest", "traces", str(tmp_path / "spans.json"), cwd=tree)
    write(tree, {"shop/pay.py": FILES["shop/pay.py"].replace("charge", "refund")})
    done = whence("ingest", "traces", str(tmp_path / "spans.json"), "--json", cwd=tree)
    assert json.loads(done.stdout)["edges"] == 1
    assert [edge.kind for edge in observed(tree)] == ["handles_route"]


def test_an_index_that_is_built_afresh_keeps_what_was_observed(tree, tmp_path):
    write(tmp_path, {"spans.json": SEEN})
    whence("ingest", "traces", str(tmp_path / "spans.json"), cwd=tree)
    whence("index", "--set", "index.max_line_bytes=9999", cwd=tree)
    done = whence("ingest", "traces", str(tmp_path / "spans.json"), "--json", "--set", "index.max_line_bytes=9999", cwd=tree)
    assert (json.loads(done.stdout)["new"], json.loads(done.stdout)["edges"]) == (0, 2)


def test_spans_that_mean_no_symbol_are_nothing_found(tree, tmp_path):
    write(tmp_path, {"spans.json": trace(span(1, code_function="nobody"))})
    done = whence("ingest", "traces", str(tmp_path / "spans.json"), cwd=tree)
    assert done.returncode == 1
    assert "1 unknown" in done.stdout


@pytest.mark.parametrize(
    "content",
    [b"", b"hello", b"{}", SEEN.encode()[:-20], SEEN.encode() + b"{", b"\xff\xfe\x00", b"[" * 100_000],
    ids=["empty", "prose", "another", "cut", "half", "bytes", "deep"],
)
def test_a_file_that_is_no_trace_is_one_line_and_nothing_is_stored(tree, tmp_path, content):
    write(tmp_path, {"spans.json": content})
    done = whence("ingest", "traces", str(tmp_path / "spans.json"), cwd=tree)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "spans.json: " in done.stderr
    assert "nothing was stored" in done.stderr
    assert observed(tree) == []


def test_a_file_that_is_not_there_is_one_line(tree):
    done = whence("ingest", "traces", "no-such-file.json", cwd=tree)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)

"""OpenTelemetry's JSON in all the ways it is written, and JSON that is none of them."""

from __future__ import annotations

import io
import json
import tracemalloc
from collections.abc import Iterator
from typing import Any

import pytest

from small_cases import each
from whence.graph.enrich.traces import Span, TraceError, read_spans

SPAN = {
    "traceId": "5b8efff798038103d269b633813fc60c",
    "spanId": "eee19b7ec3c1b174",
    "parentSpanId": "eee19b7ec3c1b173",
    "kind": 2,
    "endTimeUnixNano": "1700000000500000000",
    "attributes": [
        {"key": "code.function", "value": {"stringValue": "pay"}},
        {"key": "code.lineno", "value": {"intValue": "12"}},
        {"key": "db.statement", "value": {"stringValue": "SELECT 1"}},
    ],
}
SNAKE = {
    "trace_id": SPAN["traceId"],
    "span_id": SPAN["spanId"],
    "parent_span_id": SPAN["parentSpanId"],
    "kind": "SPAN_KIND_SERVER",
    "end_time_unix_nano": 1700000000500000000,
    "attributes": [
        {"key": "code.function", "value": {"string_value": "pay"}},
        {"key": "code.lineno", "value": {"int_value": 12}},
    ],
}


def document(*spans: Any) -> dict[str, Any]:
    return {"resourceSpans": [{"resource": {"attributes": []}, "scopeSpans": [{"scope": {"name": "x"}, "spans": list(spans)}]}]}


def read(text: str) -> list[Span | None]:
    return list(read_spans(io.StringIO(text)))


def test_a_span_keeps_what_it_says_of_the_source_and_nothing_else():
    (span,) = read(json.dumps(document(SPAN)))
    assert span is not None
    assert (span.kind, span.ended, span.attributes) == ("server", 1700000000.5, {"code.function": "pay", "code.lineno": "12"})


def test_both_ways_to_write_names_and_numbers_are_the_same_span():
    snake = {"resource_spans": [{"scope_spans": [{"spans": [SNAKE]}]}]}
    assert read(json.dumps(snake)) == read(json.dumps(document(SPAN)))


@pytest.mark.parametrize("joined", ["\n", "", "\n\n  "])
def test_documents_one_after_another_are_read_all(joined):
    assert len(read(joined.join([json.dumps(document(SPAN, SPAN))] * 3))) == 6


def test_an_array_of_documents_is_read_all():
    assert len(read(json.dumps([document(SPAN), document(SPAN)], indent=2))) == 2


def test_a_span_without_a_number_is_told_apart():
    assert read(json.dumps(document({"name": "x"}))) == [None]


def test_an_empty_list_of_spans_is_an_answer():
    assert read('{"resourceSpans": []}') == []


@each("value", ["x", -5, 1e300, None, [], "9" * 30, True])
def test_a_time_that_is_none_is_not_known(value):
    (span,) = read(json.dumps(document({**SPAN, "endTimeUnixNano": value})))
    assert span is not None
    assert span.ended in (0.0, 1e-9)


@each(
    "text",
    [
        "",
        "   \n",
        "not json",
        "{}",
        '{"resourceSpans": 5}',
        '{"resourceSpans": [5]}',
        '{"resourceSpans": [{"scopeSpans": [{"spans": ["x"]}]}]}',
        json.dumps(document(SPAN))[:-9],
        json.dumps(document(SPAN)) + "}",
        '{"resourceSpans": [], "x": ' + "[" * 200_000,
        '{"resourceSpans": [], "x": ' + "9" * 10_000 + "}",
        '{"resourceSpans": [], 5: 1}',
        '{"resourceSpans" []}',
        '{"a": "' + "x" * 17_000_000,
    ],
)
def test_what_is_no_trace_is_one_clear_line(text):
    with pytest.raises(TraceError) as trouble:
        read(text)
    assert "\n" not in str(trouble.value)
    assert len(str(trouble.value)) < 200


class Endless(io.TextIOBase):
    """A document of as many spans as wanted, made while it is read."""

    def __init__(self, spans: int) -> None:
        self._pieces = self._made(spans)

    def _made(self, spans: int) -> Iterator[str]:
        head, _, tail = json.dumps(document("HERE")).partition('"HERE"')
        yield head
        block = ",".join([json.dumps(SPAN)] * 500)
        for row in range(spans // 500):
            yield ("," if row else "") + block
        yield tail

    def read(self, size: int | None = -1, /) -> str:
        return next(self._pieces, "")


def test_memory_does_not_grow_with_the_file():
    tracemalloc.start()
    try:
        count = sum(1 for _ in read_spans(Endless(20_000)))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert count == 20_000
    assert peak < 6_000_000

"""Whatever is sent to the API, the answer is one line of JSON or what was asked for, and the next question is answered."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from campaigns import examples, is_nightly
from ui.pages import Served
from ui.questions import Endpoint, asked_server, document_of, endpoints_of, prepared
from ui.wire import Answer, sent

#: Bodies that are no question at all.
NO_QUESTIONS = [
    b"",
    b"{",
    b"[]",
    b"null",
    b'"text"',
    b"17",
    b"\xff\xfe{}",
    b"\0",
    b'{"query": "a"} {"query": "b"}',
    b"[" * 100_000,
    b'{"a":' * 50_000,
    b'{"query": NaN}',
    b'{"k": 1' + b"0" * 5_000 + b"}",
]
#: Values that nobody meant, for each field of a question.
ODD_VALUES: list[Any] = [
    None,
    True,
    -1,
    10**30,
    1e308,
    float("nan"),
    float("inf"),
    "",
    "\0",
    "\ud800",
    "\u202eevil\u2066",
    "../../../../etc/passwd",
    "/etc/passwd",
    "x" * 50_000,
    "((((",
    '"',
    "sym:",
    [],
    [[]],
    {},
    {"a": {"b": []}},
    {"test": float("nan")},
    {"no_such_signal": 1.0},
    ["\ud800"],
]
#: By day each field has one value of so many, and the next field has the next ones.
SHARES = 4


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server that may be written to."""
    with asked_server(tmp_path_factory.mktemp("odd")) as one:
        yield one
        assert one.process.poll() is None, "something has ended the server"


@pytest.fixture(scope="module")
def document(target: Served) -> dict[str, Any]:
    """What the server says of itself."""
    return document_of(target)


@pytest.fixture(scope="module")
def endpoints(document: dict[str, Any]) -> list[Endpoint]:
    """All that can be asked."""
    return endpoints_of(document)


def is_told(answer: Answer) -> bool:
    """Whether an answer says in one line what is wrong."""
    said = answer.json()
    return {"error", "hint", "at"} <= set(said) and bool(said["error"]) and "\n" not in said["error"] and "Traceback" not in said["error"]


def test_what_is_no_question_is_refused_in_one_line(target: Served, endpoints: list[Endpoint]):
    for one in endpoints:
        for body in NO_QUESTIONS if one.asks_by_body else []:
            answer = sent(target, one.line({}), body)
            assert 400 <= answer.status < 500, (one.name, body[:40], answer)
            assert is_told(answer), (one.name, body[:40], answer)


def test_other_methods_and_types_are_refused_in_one_line(target: Served, endpoints: list[Endpoint]):
    known = [(one.method, re.compile(re.sub(r"{\w+}", "[^/]+", one.path))) for one in endpoints]
    for one in endpoints:
        good = prepared(target, one)
        for method in {"GET", "POST", "PUT", "PATCH", "DELETE", "TRACE"} - {method for method, path in known if path.fullmatch(one.path)}:
            answer = sent(target, f"{method} {one.line(good).partition(' ')[2]}", b"{}")
            assert answer.status == 405, (method, one.path)
            assert is_told(answer), (method, one.path)
        if one.asks_by_body:
            for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"):
                # What a form of another page could send without asking first is never a question.
                assert sent(target, one.line(good), one.body(good), Content_Type=kind).status in (415, 422), (one.name, kind)


def test_a_field_of_any_value_is_answered_or_refused(target: Served, document: dict[str, Any], endpoints: list[Endpoint]):
    for one in endpoints:
        for number, name in enumerate([*one.fields(document), "no_such_field"]):
            good = whatever_it_is_now(prepared(target, one))
            in_address = name in one.named_in_path or not one.asks_by_body
            for value in ODD_VALUES if is_nightly() else values_by_day(one, number):
                asked = {**good, name: value}
                if in_address and not isinstance(value, str | int | float):
                    continue  # an address holds texts only
                answer = sent(target, one.line(asked), one.body(asked))
                assert answer.status < 500, (one.name, name, str(value)[:60], answer)
                assert answer.status == 200 or len(str(value)) > 10_000 or is_told(answer), (one.name, name, str(value)[:60], answer)
                if answer.status == 200:
                    answer.json()
    assert target.ask("search", {"query": "discount"})[1]["results"]


def values_by_day(one: Endpoint, number: int) -> list[Any]:
    """A share of the values; of a path that starts a process for each answer, two."""
    found = ODD_VALUES[number % SHARES :: SHARES]
    return found[:2] if one.path == "/api/index/health" else found


#: Anything that JSON can hold, and near the values that mean something.
TEXTS = st.one_of(
    st.text(max_size=30),
    st.sampled_from(["cart", "shop/cart.py", "Cart.total", "shop", "default", "all", "lang:python cart", "a OR (b", "HEAD~1"]),
)
NUMBERS = st.one_of(st.integers(-(2**70), 2**70), st.floats(), st.integers(-2, 12))
ANYTHING = st.recursive(
    st.one_of(st.none(), st.booleans(), NUMBERS, TEXTS),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXTS, inner, max_size=3)),
    max_leaves=6,
)


@settings(max_examples=examples(600), suppress_health_check=list(HealthCheck))
@given(st.data())
def test_any_question_at_all_is_answered_or_refused(
    target: Served, document: dict[str, Any], endpoints: list[Endpoint], data: st.DataObject
):
    one = data.draw(st.sampled_from([one for one in endpoints if not one.path.startswith("/api/index/")]))
    values = ANYTHING if one.asks_by_body else st.one_of(NUMBERS, TEXTS)
    names = st.sampled_from(list(one.fields(document)) or ["no_such_field"])
    asked = {**whatever_it_is_now(prepared(target, one)), **data.draw(st.dictionaries(names, values, max_size=3))}
    answer = sent(target, one.line(asked), one.body(asked))
    assert answer.status < 500, (one.name, asked, answer)
    assert answer.status == 200 or is_told(answer), (one.name, asked, answer)
    if answer.status == 200:
        assert list(Draft202012Validator(one.answer_schema(document)).iter_errors(answer.json())) == []


def whatever_it_is_now(question: Any) -> Any:
    """A question about a note that may be changed by every answer."""
    if isinstance(question, list):
        return [whatever_it_is_now(one) for one in question]
    if not isinstance(question, dict):
        return question
    return {name: "" if name == "expected" else whatever_it_is_now(value) for name, value in question.items()}


def test_a_question_that_is_left_out_is_named(target: Served, document: dict[str, Any], endpoints: list[Endpoint]):
    for one in endpoints:
        if not one.asks_by_body:
            continue
        answer = sent(target, one.line(prepared(target, one)), b"{}")
        needed = one.question_schema(document).get("required", ())
        if needed:
            assert answer.status == 422, one.name
            assert answer.json()["error"].partition(":")[0] in needed, one.name
            assert "required" in answer.json()["error"], one.name
        elif answer.status != 200:  # one of several has to be given
            assert answer.status == 400, one.name
            assert is_told(answer), one.name
            assert answer.json()["hint"].startswith("give "), one.name


def test_what_is_too_long_is_refused(target: Served, endpoints: list[Endpoint]):
    big = b'{"query": "' + b"x" * (5 << 20) + b'"}'
    assert sent(target, "POST /api/search", big).status == 413
    assert sent(target, f"GET /api/source?path={'x' * 40_000}").status in (400, 431)
    assert target.ask("search", {"query": "discount"})[0] == 200


def test_nothing_is_written_where_the_log_has_no_reader(target: Served, endpoints: list[Endpoint], tmp_path: Path):
    """A line of the log for each bad request would fill the pipe of standard error, and the server would wait for a reader."""
    for _ in range(300):
        assert sent(target, "POST /api/search", b"{").status == 422
    assert target.ask("search", {"query": "discount"})[0] == 200

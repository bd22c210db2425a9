"""The API is what its document says: each path has a question here, and each answer the shape that is promised."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from ui.pages import Served
from ui.questions import GOOD, Endpoint, asked_server, document_of, endpoints_of, prepared
from ui.wire import sent


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server that may be written to."""
    with asked_server(tmp_path_factory.mktemp("asked")) as one:
        yield one


@pytest.fixture(scope="module")
def document(asked: Served) -> dict[str, Any]:
    """What the server says of itself."""
    return document_of(asked)


@pytest.fixture(scope="module")
def endpoints(document: dict[str, Any]) -> list[Endpoint]:
    """All that can be asked."""
    return endpoints_of(document)


def faults(schema: dict[str, Any], answer: Any) -> list[str]:
    """Where an answer is not what was promised."""
    return [f"{error.json_path}: {error.message[:200]}" for error in Draft202012Validator(schema).iter_errors(answer)]


def test_each_path_has_a_good_question_and_each_question_a_path(endpoints: list[Endpoint]):
    """Add the question to GOOD in questions.py: all tests of all paths ask it."""
    assert sorted(one.name for one in endpoints) == sorted(GOOD)


def test_every_good_question_is_answered_in_the_shape_that_is_promised(asked: Served, document: dict[str, Any], endpoints: list[Endpoint]):
    for one in endpoints:
        question = prepared(asked, one)
        answer = sent(asked, one.line(question), one.body(question))
        assert answer.status == 200, (one.name, answer.body[:500])
        assert faults(one.answer_schema(document), answer.json()) == [], one.name


def test_a_field_that_nobody_knows_is_refused_by_name(asked: Served, document: dict[str, Any], endpoints: list[Endpoint]):
    for one in endpoints:
        question = prepared(asked, one)
        for line, body in [
            (one.line(question), one.body({**question, "no_such_field": "1"})),
            (f"{one.line(question)}{'&' if '?' in one.line(question) else '?'}no_such_field=1", one.body(question)),
        ][not one.asks_by_body :]:
            answer = sent(asked, line, body)
            assert answer.status == 422, (line, answer.body[:500])
            assert answer.json()["error"].startswith("no_such_field: "), one.name
            assert faults(one.answer_schema(document, 422), answer.json()) == []


def test_a_value_of_the_wrong_type_is_refused_by_name(asked: Served, document: dict[str, Any], endpoints: list[Endpoint]):
    tried = 0
    for one in endpoints:
        question = prepared(asked, one)
        for name, schema in one.fields(document).items():
            kinds = {kind["type"] for kind in (schema, *schema.get("anyOf", ())) if "type" in kind}
            if name in one.named_in_path or not kinds or ("string" in kinds and not one.asks_by_body):
                continue  # every text of an address is a text
            wrong: Any = {"no": ["such"]} if one.asks_by_body and "object" not in kinds else "neither"
            given = {**question, name: wrong}
            answer = sent(asked, one.line(given), one.body(given))
            assert answer.status == 422, (one.name, name, answer.body[:300])
            assert answer.json()["error"].startswith(name), (one.name, name, answer.body[:300])
            assert "\n" not in answer.json()["error"]
            tried += 1
    assert tried > 50


def test_what_is_refused_has_one_shape(asked: Served, document: dict[str, Any], endpoints: list[Endpoint]):
    for one in endpoints:
        if "root" in one.fields(document):
            given = {**prepared(asked, one), "root": "no such root"}
            answer = sent(asked, one.line(given), one.body(given))
            assert answer.status == 400, (one.name, answer.body[:300])
            assert faults(one.answer_schema(document, 400), answer.json()) == [], one.name
            assert "no such root" in answer.json()["error"], one.name


def test_notes_that_were_changed_meanwhile_are_shown_in_the_shape_that_is_promised(
    asked: Served, document: dict[str, Any], endpoints: list[Endpoint]
):
    tried = 0
    for one in endpoints:
        question = prepared(asked, one)
        if "409" not in one.about["responses"] or "expected" not in question:
            continue
        answer = sent(asked, one.line(question), one.body({**question, "expected": "0000000000000000"}))
        assert answer.status == 409, (one.name, answer.body[:300])
        assert faults(one.answer_schema(document, 409), answer.json()) == [], one.name
        tried += 1
    assert tried >= 5


# What the document says of each thing.
def test_every_path_says_what_it_does_and_needs_the_token(document: dict[str, Any], endpoints: list[Endpoint]):
    assert document["components"]["securitySchemes"]["token"] == {"type": "http", "scheme": "bearer"} | {
        "description": document["components"]["securitySchemes"]["token"]["description"]
    }
    assert document["security"] == [{"token": []}]
    for one in endpoints:
        assert one.about["description"].endswith("."), one.name
        assert {"200", "400", "401", "422"} <= set(one.about["responses"]), one.name
        assert one.about["tags"], one.name


def test_everything_in_the_document_is_described(document: dict[str, Any], endpoints: list[Endpoint]):
    """By the comment behind a field, or by what its name means everywhere: see meanings.py."""
    shapes = document["components"]["schemas"]
    missing = [name for name, shape in shapes.items() if not shape.get("description")]
    missing += [
        f"{name}.{field}"
        for name, shape in shapes.items()
        for field, about in shape.get("properties", {}).items()
        if not about.get("description")
    ]
    missing += [
        f"{one.name} {given['name']}" for one in endpoints for given in one.about.get("parameters", ()) if not given.get("description")
    ]
    assert missing == []


def test_shapes_have_the_names_that_their_classes_have(document: dict[str, Any]):
    """Two classes of one name would be told apart by the modules that they are in."""
    assert [name for name in document["components"]["schemas"] if not name.isalpha()] == []

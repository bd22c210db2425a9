"""JSON with comments, changed in place (A3): whatever the text looks like, only what is ours comes and goes."""

from __future__ import annotations

import contextlib
import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from campaigns import examples
from small_cases import each
from whence.app.agents.json_edits import MISSING, JsonError, can_hold, parse, put, remove, scaffold_for, value_at
from whence.app.agents.text_edits import apply_splices

ENTRY = {"command": "whence", "args": ["mcp"], "env": {"A": "b"}}
PATH = ("mcpServers", "whence")

# Texts: values with blanks, comments and trailing commas of every kind between their parts.
blanks = st.lists(
    st.sampled_from([" ", "\n", "\r\n", "\t", "  ", "\n    ", '// a, "b": {\n', "/* } */", "/* a\n b */", "//\r\n"]), max_size=3
).map("".join)
plain = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-9, 9999),
    st.sampled_from([0.5, -1e9]),
    st.sampled_from(["", "a", "http://x // y", 'é"\\\n', "/* */"]),
).map(json.dumps)
keys = st.sampled_from(["a", "b", "mcpServers", "whence", "hooks", "é", "x//y"])


def containers(children: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    member = st.tuples(blanks, keys, blanks, blanks, children, blanks).map(
        lambda parts: f"{parts[0]}{json.dumps(parts[1])}{parts[2]}:{parts[3]}{parts[4]}{parts[5]}"
    )
    element = st.tuples(blanks, children, blanks).map("".join)
    ends = st.tuples(st.booleans(), blanks)

    def closed(inside: list[str], end: tuple[bool, str], marks: str) -> str:
        comma = "," + end[1] if inside and end[0] else "" if inside else end[1]
        return f"{marks[0]}{','.join(inside)}{comma}{marks[1]}"

    return st.one_of(
        st.builds(closed, st.lists(member, max_size=3), ends, st.just("{}")),
        st.builds(closed, st.lists(element, max_size=3), ends, st.just("[]")),
    )


values = st.recursive(plain, containers, max_leaves=6)
documents = st.tuples(st.sampled_from(["", "\ufeff"]), blanks, containers(values), blanks).map("".join)


def with_entry(value: dict, path: tuple, entry: object) -> dict:
    if len(path) == 1:
        return {**value, path[0]: entry}
    return {**value, path[0]: with_entry(value.get(path[0], {}), path[1:], entry)}


@settings(max_examples=examples(80), deadline=None)
@given(documents)
def test_what_is_put_in_and_taken_out_leaves_every_byte_as_it_was(text):
    before = value_at(text, ())
    if not can_hold(text, PATH) or value_at(text, PATH) is not MISSING:
        return
    scaffold, added = scaffold_for(text, PATH), put(text, PATH, ENTRY)
    assert value_at(added.text, ()) == with_entry(before, PATH, ENTRY)
    assert list(value_at(added.text, ())) == list(with_entry(before, PATH, ENTRY))
    assert apply_splices(added.text, added.undo) == text
    assert remove(added.text, PATH, scaffold).text == text
    assert value_at(remove(added.text, PATH).text, ()) in (before, {key: one for key, one in before.items() if key != "mcpServers"})


@settings(max_examples=examples(60), deadline=None)
@given(documents, st.data())
def test_any_value_can_be_taken_out_and_the_others_stay(text, data):
    root = parse(text)
    assert root is not None
    if not root.children or len(root.spans) != len(root.children):
        return
    step = data.draw(st.sampled_from(sorted(root.children, key=str)))
    done = remove(text, (step,))
    expected = [one for key, one in root.children.items() if key != step]
    after = parse(done.text)
    assert after is not None
    assert [one.value for one in after.children.values()] == [one.value for one in expected]
    assert apply_splices(done.text, done.undo) == text


@settings(max_examples=examples(80), deadline=None)
@given(st.one_of(st.text(max_size=40), documents.map(lambda text: text[: len(text) * 2 // 3]), st.text('{}[],:"/*\n1a', max_size=20)))
def test_any_text_is_read_or_refused(text):
    with contextlib.suppress(JsonError):
        parse(text)


@each(
    ("before", "after"),
    [
        ("{}", '{\n  "m": {\n    "w": {\n      "a": ["x"]\n    }\n  }\n}'),
        ('{\n\t"m": {}\n}', '{\n\t"m": {\n\t\t"w": {\n\t\t\t"a": ["x"]\n\t\t}\n\t}\n}'),
        ('{"m": {"o": 1}}', '{"m": {"o": 1, "w": {"a": ["x"]}}}'),
        ('{\n  "m": {\n    "o": 1 // one\n  },\n}\n', '{\n  "m": {\n    "o": 1, // one\n    "w": {\n      "a": ["x"]\n    }\n  },\n}\n'),
        ('{\r\n "m": {\r\n  "o": 1,\r\n }\r\n}', '{\r\n "m": {\r\n  "o": 1,\r\n  "w": {\r\n   "a": ["x"]\r\n  },\r\n }\r\n}'),
        ("", '{\n  "m": {\n    "w": {\n      "a": ["x"]\n    }\n  }\n}\n'),
        ('{"m": {"w": 1}}', '{"m": {"w": {"a": ["x"]}}}'),
    ],
)
def test_what_is_added_looks_like_what_is_there(before, after):
    assert put(before, ("m", "w"), {"a": ["x"]}).text == after


def test_elements_are_added_to_lists_and_taken_out_of_them():
    text = '{"hooks": {"Start": [\n    {"a": 1}, // first\n]}}'
    added = put(text, ("hooks", "Start", 1), {"b": 2}).text
    assert added == '{"hooks": {"Start": [\n    {"a": 1}, // first\n    {\n      "b": 2\n    },\n]}}'
    assert remove(added, ("hooks", "Start", 1)).text == text
    assert remove('{"hooks": {"Start": [1]}, "x": 2}', ("hooks", "Start", 0)).text == '{ "x": 2}'


def test_a_comment_never_swallows_what_comes_after_it():
    assert remove('{"a": 1, // one\n"w": 2}', ("w",)).text == '{"a": 1 // one\n}'
    assert remove('{ // all\n"w": 2, "b": 3}', ("w",)).text == '{ // all\n "b": 3}'


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{\n"a": }', "line 2: unexpected '}'"),
        ('{"a": 1', "line 1: unexpected end of file"),
        ("{\n/* a", "line 2: the comment never ends"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(text, why):
    with pytest.raises(JsonError, match=re.escape(why)):
        parse(text)

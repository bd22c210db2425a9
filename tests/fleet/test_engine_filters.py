"""What is asked of the engine is made of values: nothing in a value can end it, and nothing that was asked for is lost."""

from __future__ import annotations

import pytest

from small_cases import each
from whence.core.errors import FleetError
from whence.fleet.engine import EVERYTHING, NOTHING, Engine, Filter, below, differs, equals, one_of, overlaps

#: What somebody may call a repository or a group who wants to see those of others.
NAMES = [
    "plain",
    "",
    " ",
    'a"b',
    "a'b",
    "a\\b",
    "a\\",
    '\\"',
    '\\\\"',
    '" or id != "',
    "' or id != '",
    '\\" or id != \\"',
    '"] or id in ["a0',
    '") or array_contains_any(groups, ["all"',
    "{name}",
    "[1]",
    "%",
    "_",
    "a%",
    "a_",
    "pl%",
    "a\tb",
    "a\0b",
    "\x01\x1b[31m",
    "\x7f",
    "é",
    "\u2028",
    "𝄞",
    "\u202e",
    "\\u0041",
    "A",
    "\\n",
    "null",
    "1",
]
BROKEN = ["a\nb", "\r", '"\n or id != ""']


def row(number: int, name: str) -> dict[str, object]:
    return {"id": f"a{number}", "repo": "r", "groups": ["all", f"g{name}"], "scope": name, "bucket": number, "blob": ""}


def found(engine: Engine, which: Filter) -> list[str]:
    return sorted((one["scope"] for one in engine.rows("counts", which, ["scope"])), key=NAMES.index)


def test_every_value_is_found_by_itself_and_by_nothing_else(either):
    either.put("counts", [row(number, name) for number, name in enumerate(NAMES)])
    for name in NAMES:
        assert found(either, equals("scope", name)) == [name]
        assert found(either, one_of("scope", [name])) == [name]
        assert found(either, overlaps("groups", [f"g{name}"])) == [name]
        assert name not in found(either, differs("scope", name))
    assert found(either, one_of("scope", NAMES)) == NAMES
    assert found(either, overlaps("groups", ["all"])) == NAMES
    assert found(either, below("bucket", 3)) == NAMES[:3]
    assert found(either, EVERYTHING) == NAMES
    assert found(either, NOTHING) == []
    assert found(either, one_of("scope", ["plain", "A"]) & differs("scope", "plain")) == ["A"]
    assert either.count("counts", equals("scope", '" or id != "')) == 1
    either.delete("counts", equals("scope", '" or id != "'))
    assert either.count("counts") == len(NAMES) - 1


@each("broken", BROKEN)
@each("made", [equals, differs])
def test_a_line_break_is_refused_not_guessed_at(made, broken):
    with pytest.raises(FleetError, match="line break"):
        made("scope", broken)


@pytest.mark.parametrize("made", [one_of, overlaps])
def test_a_line_break_in_a_list_is_refused(made):
    with pytest.raises(FleetError, match="line break"):
        made("scope", ["fine", "a\nb"])


def test_half_a_character_is_refused():
    with pytest.raises(FleetError, match="not valid Unicode"):
        equals("scope", "\ud834")


@each("name", ["", "a b", "a == 1 or b", 'a"', "é", "1a"])
def test_a_field_is_a_name(name):
    with pytest.raises(ValueError, match="not a field name"):
        equals(name, 1)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), True])
def test_only_numbers_are_numbers(value):
    with pytest.raises(ValueError, match="cannot compare"):
        equals("bucket", value)


def test_of_no_values_nothing_is_one():
    assert one_of("scope", []) == overlaps("groups", []) == NOTHING


def test_everything_and_nothing_are_what_they_say():
    some = equals("scope", "x")
    assert EVERYTHING & some == some & EVERYTHING == some
    assert NOTHING & some == some & NOTHING == NOTHING
    assert EVERYTHING & NOTHING == NOTHING

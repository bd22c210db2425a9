"""What is asked of the engine's rows, built from values only: no text of a user becomes part of an expression.

Strings are written so that nothing in them ends the string. The engines disagree on every escape but those of the
backslash and the quote, and none lets a line break stand in a string, so a value with a line break is refused.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from whence.core.errors import FleetError

Value = str | int | float


@dataclass(frozen=True, slots=True)
class Filter:
    """Which rows are meant. Joined with `&` and `|`; `text` is what the engine reads, empty for all rows."""

    text: str

    def __and__(self, other: Filter) -> Filter:
        """Rows that both mean."""
        if NOTHING in (self, other):
            return NOTHING
        if EVERYTHING in (self, other):
            return other if self == EVERYTHING else self
        return Filter(f"({self.text}) and ({other.text})")

    def __or__(self, other: Filter) -> Filter:
        """Rows that either means."""
        if EVERYTHING in (self, other):
            return EVERYTHING
        if NOTHING in (self, other):
            return other if self == NOTHING else self
        return Filter(f"({self.text}) or ({other.text})")


EVERYTHING = Filter("")
#: No row has an empty id.
NOTHING = Filter('id == ""')


def equals(field: str, value: Value) -> Filter:
    """Rows whose field is this."""
    return Filter(f"{_name(field)} == {_literal(value)}")


def differs(field: str, value: Value) -> Filter:
    """Rows whose field is not this."""
    return Filter(f"{_name(field)} != {_literal(value)}")


def below(field: str, value: float) -> Filter:
    """Rows whose field is less than this."""
    return Filter(f"{_name(field)} < {_literal(value)}")


def one_of(field: str, values: Iterable[Value]) -> Filter:
    """Rows whose field is one of these; of no values, none is."""
    return _listed(f"{_name(field)} in ", values, "")


def overlaps(field: str, values: Iterable[Value]) -> Filter:
    """Rows whose list holds any of these; of no values, none does."""
    return _listed(f"array_contains_any({_name(field)}, ", values, ")")


def like_prefix(field: str, text: str) -> Filter:
    """Rows whose field begins with this, letter by letter: `%` and `_` mean themselves. Everything begins with nothing."""
    if not text:
        return EVERYTHING
    if not set(text) & set("%_\\"):
        return Filter(f"{_name(field)} like {_literal(text + '%')}")
    # The engines disagree on how a pattern says that it means a letter; in an order of strings all letters are letters.
    after = _after(text)
    name = _name(field)
    return Filter(f"{name} >= {_literal(text)}" + (f" and {name} < {_literal(after)}" if after else ""))


def _after(text: str) -> str:
    """The least string that comes after all those which begin with a text; empty if there is none."""
    head = text.rstrip(chr(0x10FFFF))
    if not head:
        return ""
    last = ord(head[-1]) + 1
    last = 0xE000 if last == 0xD800 else last  # between them no character stands
    return head[:-1] + chr(last)


def _listed(before: str, values: Iterable[Value], after: str) -> Filter:
    literals = sorted({_literal(value) for value in values})
    return Filter(f"{before}[{', '.join(literals)}]{after}") if literals else NOTHING


def _name(field: str) -> str:
    if not (field.isascii() and field.isidentifier()):
        raise ValueError(f"{field!r} is no name of a field")
    return field


def _literal(value: Value) -> str:
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, bool) or value != value or abs(value) > 1e300:  # noqa: PLR0124  -- not a number
        raise ValueError(f"{value!r} is nothing that the engine compares")
    return repr(value)


def _quoted(text: str) -> str:
    if "\n" in text or "\r" in text:
        raise FleetError("the engine of the fleet cannot be asked for a text with a line break in it")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise FleetError("the engine of the fleet cannot be asked for what is no text") from error
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'

"""Editing JSON in place, with comments and trailing commas: every byte that is not ours stays.

A text is parsed into nodes that know their position. A new member or element goes to the end of its container, in the
style of its neighbours: on its own line or not, with their indentation, with a trailing comma if they have one. The
document is never serialized as a whole.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from whence.app.agents.text_edits import EditError, TextEdit, line_number, newline_of, replace_ranges

#: The parser is recursive.
MAX_DEPTH = 100
MISSING: Any = object()
Path = Sequence[str | int]

_SKIPPED = re.compile(r"(?:[ \t\r\n\ufeff]+|//[^\r\n]*|/\*.*?\*/)*", re.DOTALL)
_COMMENT = re.compile(r"//[^\r\n]*|/\*.*?\*/", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_PLAIN = re.compile(r"(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?)(?![\w.+-])", re.ASCII)


class JsonError(EditError):
    """Why a text cannot be parsed as JSON, with the line."""

    prefix = "not valid JSON: "


@dataclass(frozen=True, slots=True)
class Node:
    """A value and its position in the text; of a container, also its children."""

    start: int
    end: int
    value: Any
    children: dict[str | int, Node] = field(default_factory=dict)
    spans: list[tuple[int, int]] = field(default_factory=list)  # of each child in text order; a member's includes its key
    number: dict[str | int, int] = field(default_factory=dict)  # index into spans by key; of duplicate keys the later one counts
    trailing_comma: int = -1  # position of the comma after the last child, if any


@dataclass(frozen=True, slots=True)
class Scaffold:
    """What has to be created around an entry, recorded so that removing the entry removes it too."""

    containers: tuple[tuple[str | int, ...], ...] = ()  # by their paths
    blank: str = ""  # the whitespace in an empty container before; in a text without containers, the gap inserted


# Parsing.
def parse(text: str) -> Node | None:
    """The root of a document; None if it holds only whitespace and comments."""
    start = _skip(text, 0)
    if start == len(text):
        return None
    node = _value(text, start, 0)
    if (rest := _skip(text, node.end)) != len(text):
        raise _unexpected(text, rest)
    return node


def value_at(text: str, path: Path) -> Any:
    """The value at a path, or MISSING."""
    node = _at(parse(text), path)
    return MISSING if node is None else node.value


def _at(node: Node | None, path: Path) -> Node | None:
    for step in path:
        node = node.children.get(step) if node is not None else None
    return node


def _value(text: str, at: int, depth: int) -> Node:
    if depth > MAX_DEPTH:
        raise JsonError(f"line {line_number(text, at)}: nested more than {MAX_DEPTH} deep")
    if text[at : at + 1] in ("{", "["):
        return _container(text, at, depth)
    match = _STRING.match(text, at) or _PLAIN.match(text, at)
    if match is None:
        raise _unexpected(text, at)
    return Node(at, match.end(), _scalar(text, at, match.group()))


def _scalar(text: str, at: int, literal: str) -> Any:
    try:
        return json.loads(literal)
    except ValueError as error:
        raise _unexpected(text, at) from error


def _container(text: str, at: int, depth: int) -> Node:
    is_object = text[at] == "{"
    closing = "}" if is_object else "]"
    children: dict[str | int, Node] = {}
    spans: list[tuple[int, int]] = []
    number: dict[str | int, int] = {}
    comma, position = -1, _skip(text, at + 1)
    while text[position : position + 1] != closing:
        if spans and comma < 0:
            raise _unexpected(text, position)
        key: str | int = len(spans)
        start = position
        if is_object:
            name = _STRING.match(text, position)
            if name is None:
                raise _unexpected(text, position)
            key = _scalar(text, position, name.group())
            position = _skip(text, name.end())
            if text[position : position + 1] != ":":
                raise _unexpected(text, position)
            position = _skip(text, position + 1)
        child = _value(text, position, depth + 1)
        children[key], number[key] = child, len(spans)
        spans.append((start, child.end))
        position = _skip(text, child.end)
        comma = position if text[position : position + 1] == "," else -1
        position = _skip(text, position + 1) if comma >= 0 else position
    value = {key: child.value for key, child in children.items()} if is_object else [child.value for child in children.values()]
    return Node(at, position + 1, value, children, spans, number, comma)


def _skip(text: str, at: int) -> int:
    match = _SKIPPED.match(text, at)
    end = match.end() if match else at
    if text.startswith("/*", end):
        raise JsonError(f"line {line_number(text, end)}: the comment never ends")
    return end


def _unexpected(text: str, at: int) -> JsonError:
    there = f"unexpected {text[at]!r}" if at < len(text) else "unexpected end of file"
    return JsonError(f"line {line_number(text, at)}: {there}")


# Putting in.
def put(text: str, path: Path, value: Any) -> TextEdit:
    """Set the value at a path, creating missing containers. An index one beyond the end of a list appends."""
    root = parse(text)
    if root is None:
        new = _rendered(_nested(path, value), "", newline_of(text), "  ") + newline_of(text)
        return replace_ranges(text, [(len(text), len(text), new)])
    node: Node = root
    for number, step in enumerate(path):
        if not isinstance(node.value, dict if isinstance(step, str) else list):
            where, kind = ".".join(map(str, path[:number])) or "the document", "an object" if isinstance(step, str) else "a list"
            raise EditError(f"line {line_number(text, node.start)}: {where} is not {kind}")
        inside = node.children.get(step)
        if inside is None:
            return _add(text, root, node, step, _nested(path[number + 1 :], value))
        node = inside
    if "\n" in text[node.start : node.end]:
        new = _rendered(value, _margin(text, node.start), newline_of(text), _unit(text, root))
    else:
        new = json.dumps(value, ensure_ascii=False)
    return replace_ranges(text, [(node.start, node.end, new)])


def can_hold(text: str, path: Path) -> bool:
    """Whether a value can be put at a path: every value on the way is a container or missing."""
    node = parse(text)
    for step in path:
        if node is None:
            return True
        if not isinstance(node.value, dict if isinstance(step, str) else list):
            return False
        node = node.children.get(step)
    return True


def scaffold_for(text: str, path: Path) -> Scaffold:
    """What `put` would have to create on the way to a path."""
    root = parse(text)
    missing = tuple(tuple(path[:length]) for length in range(len(path)) if _at(root, path[:length]) is None)
    around = _at(root, path[: len(path) - 1 - len(missing)]) if root is not None else None
    return Scaffold(missing, text[around.start + 1 : around.end - 1] if around is not None and not around.spans else "")


def _nested(path: Path, value: Any) -> Any:
    for step in reversed(path):
        value = {step: value} if isinstance(step, str) else [value]
    return value


def _add(text: str, root: Node, into: Node, step: str | int, value: Any) -> TextEdit:
    newline, unit = newline_of(text), _unit(text, root)
    name = f"{json.dumps(step, ensure_ascii=False)}: " if isinstance(step, str) else ""
    if not into.spans:
        return _add_first(text, root, into, name, value)
    start, end = into.spans[-1]
    before = _whitespace_before(text, start)
    after = into.trailing_comma + 1 if into.trailing_comma >= 0 else end
    place = _after_comments(text, after, into.end - 1)
    if "\n" in before:
        margin = before.rpartition("\n")[2]
        new = f"{newline}{margin}{name}{_rendered(value, margin, newline, unit)}"
    elif _ends_in_line_comment(text, after, place):
        new = f"{newline}{name}{json.dumps(value, ensure_ascii=False)}"
    else:
        new = f" {name}{json.dumps(value, ensure_ascii=False)}"
    if into.trailing_comma >= 0:
        return replace_ranges(text, [(place, place, f"{new},")])
    if place == after:
        return replace_ranges(text, [(place, place, f",{new}")])
    return replace_ranges(text, [(after, after, ","), (place, place, new)])


def _add_first(text: str, root: Node, into: Node, name: str, value: Any) -> TextEdit:
    """Into a container that holds only whitespace and comments."""
    newline, unit = newline_of(text), _unit(text, root)
    place = _after_comments(text, into.start + 1, into.end - 1)
    if root.spans and "\n" not in text[root.start : root.end]:  # the whole document is on one line
        return replace_ranges(text, [(place, place, f"{name}{json.dumps(value, ensure_ascii=False)}")])
    margin = _margin(text, into.start)
    inner = margin + unit
    closes = "" if "\n" in text[place : into.end] else newline + margin
    return replace_ranges(text, [(place, place, f"{newline}{inner}{name}{_rendered(value, inner, newline, unit)}{closes}")])


def _rendered(value: Any, margin: str, newline: str, unit: str) -> str:
    """A value over several lines; a list of scalars on one line."""
    if isinstance(value, dict) and value:
        members = (f"{json.dumps(key, ensure_ascii=False)}: {_rendered(one, margin + unit, newline, unit)}" for key, one in value.items())
        inside, marks = list(members), "{}"
    elif isinstance(value, list) and any(isinstance(one, dict | list) for one in value):
        inside, marks = [_rendered(one, margin + unit, newline, unit) for one in value], "[]"
    else:
        return json.dumps(value, ensure_ascii=False)
    joined = f",{newline}{margin}{unit}".join(inside)
    return f"{marks[0]}{newline}{margin}{unit}{joined}{newline}{margin}{marks[1]}"


def _unit(text: str, root: Node) -> str:
    """One step of indentation: that of the document's first member."""
    for start, _ in root.spans:
        before = _whitespace_before(text, start)
        if "\n" in before and (unit := before.rpartition("\n")[2]):
            return unit
    return "  "


def _margin(text: str, at: int) -> str:
    """The indentation of the line of a position."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _whitespace_before(text: str, at: int) -> str:
    return text[len(text[:at].rstrip(" \t\r\n")) : at]


def _after_comments(text: str, start: int, end: int) -> int:
    """The end of the last comment in a range; the start of the range if there is none."""
    ends = [one.end() for one in _COMMENT.finditer(text, start, end)]
    return ends[-1] if ends else start


def _ends_in_line_comment(text: str, start: int, end: int) -> bool:
    """Whether the range ends with a `//` comment: anything after it needs a new line."""
    return any(one.end() == end and one.group().startswith("//") for one in _COMMENT.finditer(text, start, end))


# Removing.
def remove(text: str, path: Path, scaffold: Scaffold | None = None) -> TextEdit:
    """Remove the value at a path, and the containers of its scaffold that hold nothing else (any, if the scaffold is not known)."""
    root = parse(text)
    steps = tuple(path)
    if root is None or _at(root, steps) is None:
        return TextEdit(text)
    while steps and (steps[:-1] in scaffold.containers if scaffold is not None else len(steps) > 1):
        parent = _at(root, steps[:-1])
        if parent is None or len(parent.spans) > 1 or _has_comments(text, parent):
            break
        steps = steps[:-1]
    if not steps:
        end = root.end + len(newline_of(text)) if text.startswith(newline_of(text), root.end) else root.end
        return replace_ranges(text, [(root.start, end, "")])
    into = _at(root, steps[:-1])
    return _without(text, into, steps[-1], scaffold.blank if scaffold is not None else "") if into is not None else TextEdit(text)


def _without(text: str, into: Node, step: str | int, blank: str) -> TextEdit:
    number = into.number[step]
    start, end = into.spans[number]
    start -= len(_whitespace_before(text, start))
    comma = _skip(text, end)
    if len(into.spans) == 1:
        return _emptied(text, into, (start, end), blank)
    left = into.spans[number - 1][1] if number else into.start + 1
    gap = newline_of(text) if _ends_in_line_comment(text, left, start) and text[end : end + 1] not in ("\r", "\n") else ""
    if text[comma] == ",":  # remove it with the comma after it
        if comma == end:
            return replace_ranges(text, [(start, comma + 1, gap if text[comma + 1 : comma + 2] not in ("\r", "\n") else "")])
        return replace_ranges(text, [(start, end, gap), (comma, comma + 1, "")])
    before = _skip(text, into.spans[number - 1][1])
    return replace_ranges(text, [(before, before + 1, ""), (start, end, gap)])


def _emptied(text: str, into: Node, span: tuple[int, int], blank: str) -> TextEdit:
    """A container without its only child; if nothing else was added since, with the whitespace it had before."""
    first, last = into.start + 1, into.end - 1
    tail = text[span[1] : last]
    if into.trailing_comma >= 0:
        tail = text[span[1] : into.trailing_comma] + text[into.trailing_comma + 1 : last]
    open_ended = _ends_in_line_comment(text, first, span[0]) and tail[:1] not in ("\r", "\n")
    rest = text[first : span[0]] + (newline_of(text) if open_ended else "") + tail
    if rest.split() == blank.split():
        return replace_ranges(text, [(first, last, blank)])
    return replace_ranges(text, [(first, last, rest)])


def _has_comments(text: str, node: Node) -> bool:
    """Whether a container has comments outside its children."""
    edges = [node.start + 1, *(edge for span in node.spans for edge in span), node.end - 1]
    return any(_COMMENT.search(text, start, end) for start, end in zip(edges[::2], edges[1::2], strict=True))

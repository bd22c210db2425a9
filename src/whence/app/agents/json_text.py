"""JSON as people write it, with comments and trailing commas, changed in place: all that is not ours stays as it was, to the byte.

A text is read into nodes that know where they stand. A member or an element is put at the end of its container, in
the style of what is there: on a line of its own or not, with the indentation of its neighbours, with a comma after it
where the others have one. Nothing is ever written out anew.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from whence.app.agents.splices import Edited, edited

#: Deeper than people nest; the reader goes down by calling itself.
DEEPEST = 100
MISSING: Any = object()
Path = Sequence[str | int]

_BLANK = re.compile(r"(?:[ \t\r\n\ufeff]+|//[^\r\n]*|/\*.*?\*/)*", re.DOTALL)
_COMMENT = re.compile(r"//[^\r\n]*|/\*.*?\*/", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_PLAIN = re.compile(r"(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?)(?![\w.+-])", re.ASCII)


class NotJson(Exception):
    """Why a text cannot be read, and on which line."""


class NoPlace(NotJson):
    """Something else stands where a container should be."""


@dataclass(frozen=True, slots=True)
class Node:
    """A value and where it stands; of a container also what is in it, with the place where each of it starts."""

    start: int
    end: int
    value: Any
    children: dict[str | int, Node] = field(default_factory=dict)
    spans: list[tuple[int, int]] = field(default_factory=list)  # of each child in the order of the text, a member with its key
    number: dict[str | int, int] = field(default_factory=dict)  # which of them is whose: of two with one name the later counts
    trailing: int = -1  # the comma after the last child, where there is one


@dataclass(frozen=True, slots=True)
class Made:
    """What had to be made to put something at its place: containers, by their paths.

    And what blanks there were: in the container around it, if that was empty; in a text without containers, the gap before.
    """

    containers: tuple[tuple[str | int, ...], ...] = ()
    inside: str = ""


# Reading.
def read(text: str) -> Node | None:
    """The value of a text, or None when there is none in it but blanks and comments."""
    start = _skip(text, 0)
    if start == len(text):
        return None
    node = _value(text, start, 0)
    if (rest := _skip(text, node.end)) != len(text):
        raise _wrong(text, rest)
    return node


def value_at(text: str, path: Path) -> Any:
    """What stands at a path, or MISSING."""
    node = _at(read(text), path)
    return MISSING if node is None else node.value


def _at(node: Node | None, path: Path) -> Node | None:
    for step in path:
        node = node.children.get(step) if node is not None else None
    return node


def _value(text: str, at: int, depth: int) -> Node:
    if depth > DEEPEST:
        raise NotJson(f"line {_line(text, at)}: nested more than {DEEPEST} deep")
    if text[at : at + 1] in ("{", "["):
        return _container(text, at, depth)
    found = _STRING.match(text, at) or _PLAIN.match(text, at)
    if found is None:
        raise _wrong(text, at)
    return Node(at, found.end(), _scalar(text, at, found.group()))


def _scalar(text: str, at: int, written: str) -> Any:
    try:
        return json.loads(written)
    except ValueError as error:
        raise _wrong(text, at) from error


def _container(text: str, at: int, depth: int) -> Node:
    named = text[at] == "{"
    closing = "}" if named else "]"
    children: dict[str | int, Node] = {}
    spans: list[tuple[int, int]] = []
    number: dict[str | int, int] = {}
    comma, position = -1, _skip(text, at + 1)
    while text[position : position + 1] != closing:
        if spans and comma < 0:
            raise _wrong(text, position)
        key: str | int = len(spans)
        start = position
        if named:
            written = _STRING.match(text, position)
            if written is None:
                raise _wrong(text, position)
            key = _scalar(text, position, written.group())
            position = _skip(text, written.end())
            if text[position : position + 1] != ":":
                raise _wrong(text, position)
            position = _skip(text, position + 1)
        child = _value(text, position, depth + 1)
        children[key], number[key] = child, len(spans)
        spans.append((start, child.end))
        position = _skip(text, child.end)
        comma = position if text[position : position + 1] == "," else -1
        position = _skip(text, position + 1) if comma >= 0 else position
    value = {key: child.value for key, child in children.items()} if named else [child.value for child in children.values()]
    return Node(at, position + 1, value, children, spans, number, comma)


def _skip(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    end = found.end() if found else at
    if text.startswith("/*", end):
        raise NotJson(f"line {_line(text, end)}: a comment that does not end")
    return end


def _wrong(text: str, at: int) -> NotJson:
    there = f"unexpected {text[at]!r}" if at < len(text) else "the text ends too early"
    return NotJson(f"line {_line(text, at)}: {there}")


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


# Putting in.
def put(text: str, path: Path, value: Any) -> Edited:
    """Have a value at a path: what is there is replaced, what is missing on the way is made.

    An index one beyond the end of a list adds to it.
    """
    root = read(text)
    if root is None:
        made = _rendered(_nested(path, value), "", newline_of(text), "  ") + newline_of(text)
        return edited(text, [(len(text), len(text), made)])
    node: Node = root
    for number, step in enumerate(path):
        if not isinstance(node.value, dict if isinstance(step, str) else list):
            where = ".".join(map(str, path[:number])) or "the whole"
            raise NoPlace(f"line {_line(text, node.start)}: {where} is not {'an object' if isinstance(step, str) else 'a list'}")
        inside = node.children.get(step)
        if inside is None:
            return _add(text, root, node, step, _nested(path[number + 1 :], value))
        node = inside
    if "\n" in text[node.start : node.end]:
        new = _rendered(value, _margin(text, node.start), newline_of(text), _unit(text, root))
    else:
        new = json.dumps(value, ensure_ascii=False)
    return edited(text, [(node.start, node.end, new)])


def fits(text: str, path: Path) -> bool:
    """Whether something can be put at a path: everything on the way is a container, or missing."""
    node = read(text)
    for step in path:
        if node is None:
            return True
        if not isinstance(node.value, dict if isinstance(step, str) else list):
            return False
        node = node.children.get(step)
    return True


def made_for(text: str, path: Path) -> Made:
    """What putting something at a path has to make on the way."""
    root = read(text)
    missing = tuple(tuple(path[:length]) for length in range(len(path)) if _at(root, path[:length]) is None)
    around = _at(root, path[: len(path) - 1 - len(missing)]) if root is not None else None
    return Made(missing, text[around.start + 1 : around.end - 1] if around is not None and not around.spans else "")


def _nested(path: Path, value: Any) -> Any:
    for step in reversed(path):
        value = {step: value} if isinstance(step, str) else [value]
    return value


def _add(text: str, root: Node, into: Node, step: str | int, value: Any) -> Edited:
    newline, unit = newline_of(text), _unit(text, root)
    name = f"{json.dumps(step, ensure_ascii=False)}: " if isinstance(step, str) else ""
    if not into.spans:
        return _add_first(text, root, into, name, value)
    start, end = into.spans[-1]
    before = _blank_before(text, start)
    after = into.trailing + 1 if into.trailing >= 0 else end
    place = _after_comments(text, after, into.end - 1)
    if "\n" in before:
        margin = before.rpartition("\n")[2]
        new = f"{newline}{margin}{name}{_rendered(value, margin, newline, unit)}"
    elif _is_in_line_comment(text, after, place):
        new = f"{newline}{name}{json.dumps(value, ensure_ascii=False)}"
    else:
        new = f" {name}{json.dumps(value, ensure_ascii=False)}"
    if into.trailing >= 0:
        return edited(text, [(place, place, f"{new},")])
    if place == after:
        return edited(text, [(place, place, f",{new}")])
    return edited(text, [(after, after, ","), (place, place, new)])


def _add_first(text: str, root: Node, into: Node, name: str, value: Any) -> Edited:
    """Into a container that holds nothing but blanks and comments."""
    newline, unit = newline_of(text), _unit(text, root)
    place = _after_comments(text, into.start + 1, into.end - 1)
    if root.spans and "\n" not in text[root.start : root.end]:  # all of it is on one line
        return edited(text, [(place, place, f"{name}{json.dumps(value, ensure_ascii=False)}")])
    margin = _margin(text, into.start)
    inner = margin + unit
    closes = "" if "\n" in text[place : into.end] else newline + margin
    return edited(text, [(place, place, f"{newline}{inner}{name}{_rendered(value, inner, newline, unit)}{closes}")])


def _rendered(value: Any, margin: str, newline: str, unit: str) -> str:
    """A value over several lines, a list of plain values in one."""
    if isinstance(value, dict) and value:
        members = (f"{json.dumps(key, ensure_ascii=False)}: {_rendered(one, margin + unit, newline, unit)}" for key, one in value.items())
        inside, marks = list(members), "{}"
    elif isinstance(value, list) and any(isinstance(one, dict | list) for one in value):
        inside, marks = [_rendered(one, margin + unit, newline, unit) for one in value], "[]"
    else:
        return json.dumps(value, ensure_ascii=False)
    joined = f",{newline}{margin}{unit}".join(inside)
    return f"{marks[0]}{newline}{margin}{unit}{joined}{newline}{margin}{marks[1]}"


def newline_of(text: str) -> str:
    """How lines end in a text: as the first does."""
    first = text.find("\n")
    return "\r\n" if first > 0 and text[first - 1] == "\r" else "\n"


def _unit(text: str, root: Node) -> str:
    """One step of indentation: what the first member of the whole stands in by."""
    for start, _ in root.spans:
        before = _blank_before(text, start)
        if "\n" in before and (unit := before.rpartition("\n")[2]):
            return unit
    return "  "


def _margin(text: str, at: int) -> str:
    """The blanks that the line of a place begins with."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _blank_before(text: str, at: int) -> str:
    blank = len(text[:at].rstrip(" \t\r\n"))
    return text[blank:at]


def _after_comments(text: str, start: int, end: int) -> int:
    """The end of the last comment between two places; the first place where there is none."""
    found = [one.end() for one in _COMMENT.finditer(text, start, end)]
    return found[-1] if found else start


def _is_in_line_comment(text: str, start: int, end: int) -> bool:
    """Whether a place is the end of a comment that only a new line ends."""
    return any(one.end() == end and one.group().startswith("//") for one in _COMMENT.finditer(text, start, end))


# Taking out.
def take(text: str, path: Path, made: Made | None = None) -> Edited:
    """Take out what stands at a path, and the containers that were made for it (unknown: any) when nothing else is in them."""
    root = read(text)
    steps = tuple(path)
    if root is None or _at(root, steps) is None:
        return Edited(text)
    while steps and (steps[:-1] in made.containers if made is not None else len(steps) > 1):
        parent = _at(root, steps[:-1])
        if parent is None or len(parent.spans) > 1 or _has_comments(text, parent):
            break
        steps = steps[:-1]
    if not steps:
        end = root.end + len(newline_of(text)) if text.startswith(newline_of(text), root.end) else root.end
        return edited(text, [(root.start, end, "")])
    into = _at(root, steps[:-1])
    return _without(text, into, steps[-1], made.inside if made is not None else "") if into is not None else Edited(text)


def _without(text: str, into: Node, step: str | int, inside: str) -> Edited:
    number = into.number[step]
    start, end = into.spans[number]
    start -= len(_blank_before(text, start))
    comma = _skip(text, end)
    if len(into.spans) == 1:
        return _emptied(text, into, (start, end), inside)
    left = into.spans[number - 1][1] if number else into.start + 1
    gap = newline_of(text) if _is_in_line_comment(text, left, start) and text[end : end + 1] not in ("\r", "\n") else ""
    if text[comma] == ",":  # it goes with the comma after it
        if comma == end:
            return edited(text, [(start, comma + 1, gap if text[comma + 1 : comma + 2] not in ("\r", "\n") else "")])
        return edited(text, [(start, end, gap), (comma, comma + 1, "")])
    before = _skip(text, into.spans[number - 1][1])
    return edited(text, [(before, before + 1, ""), (start, end, gap)])


def _emptied(text: str, into: Node, span: tuple[int, int], inside: str) -> Edited:
    """A container without the one thing that was in it; where only that was put into it, it looks as it did before."""
    first, last = into.start + 1, into.end - 1
    tail = text[span[1] : last]
    if into.trailing >= 0:
        tail = text[span[1] : into.trailing] + text[into.trailing + 1 : last]
    open_ended = _is_in_line_comment(text, first, span[0]) and tail[:1] not in ("\r", "\n")
    rest = text[first : span[0]] + (newline_of(text) if open_ended else "") + tail
    if rest.split() == inside.split():
        return edited(text, [(first, last, inside)])
    return edited(text, [(first, last, rest)])


def _has_comments(text: str, node: Node) -> bool:
    """Whether somebody wrote a comment into a container, outside of what is in it."""
    edges = [node.start + 1, *(edge for span in node.spans for edge in span), node.end - 1]
    return any(_COMMENT.search(text, start, end) for start, end in zip(edges[::2], edges[1::2], strict=True))

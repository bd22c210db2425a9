"""What to do where a grammar fails: which lines it could not read, and the declarations in them, by the patterns of `recovery.txt`."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from tree_sitter import Node

from whence.core.types import CONTAINERS, VALUES
from whence.text.tables import content_lines

#: More ranges of lines than this are joined: a file that is one long error needs no more.
MAX_ERROR_RANGES = 40
#: The indent of a directive to the preprocessor: one at the margin ends no function around it.
INSIDE_ANYTHING = 1 << 20
_RECOVERY_TABLE = Path(__file__).with_name("recovery.txt")
_DEFINED = re.compile(r"(\w+) := (.*)")
#: Comments, strings and characters: no declarations are in them.
_C_LIKE = re.compile(rb'//[^\n]*|/\*.*?\*/|R"(\w{0,16})\(.*?\)\1"|""".*?"""+|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n]){1,8}\'', re.DOTALL)
_PYTHON_LIKE = re.compile(rb'#[^\n]*|""".*?"""|\'\'\'.*?\'\'\'|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)
_NOT_NEWLINE = re.compile(rb"[^\n]")
#: A directive to the preprocessor: its brackets need not match.
_DIRECTIVE = re.compile(rb"^[ \t]*#(?:[^\n\\]|\\.)*", re.MULTILINE | re.DOTALL)
_BRACKETS = re.compile(rb"[][(){}]")
_CLOSES = {b")": b"(", b"]": b"[", b"}": b"{"}
#: A line that ends or begins so belongs to the next or the one before.
_GOES_ON = re.compile(rb"(?:[=,:(&|+\-*/.<>?]|\b(?:in|is|as|else|where|by|throws|extends|implements|with))[ \t\r]*$")
_CONTINUES = re.compile(rb"\s*(?:[{.:=?)&|]|(?:where|by|throws|extends|implements|with|get|set)\b|(?:@\w+\s+)?(?:\w+\s+)?constructor\b)")
#: Words that begin statements, and are no names.
_NO_NAMES = frozenset(b"if for while switch return else do catch sizeof defined alignof decltype new delete throw case when".split())

Spans = Sequence[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Declaration:
    """A declaration found by pattern. Places are bytes."""

    kind: str
    name: str
    owner: str
    start: int
    name_at: int
    named: int  # where the name ends
    end: int
    body: int  # where its body starts; -1 without one
    parameters: str
    indent: int
    bracket: int  # the bracket it is in; -1 for none


# The lines that a grammar could not read.
def error_lines(root: Node, lines: Sequence[int]) -> list[tuple[int, int]]:
    """First and last lines, from 1, of what a tree has no meaning for; whole declarations inside it are read all the same.

    `lines` has the byte where each line starts: the rows of the library's own points crash it.
    """
    marks = bytearray(len(lines))
    open_ = [root]
    while open_:
        node = open_.pop()
        if node.is_error or node.is_missing:
            _mark(marks, 1, node, lines)
        for child in node.children if node.has_error else ():
            if child.has_error or child.is_missing:
                open_.append(child)
            elif node.is_error and child.is_named:
                _mark(marks, 0, child, lines)
    return _ranges(marks)


def _mark(marks: bytearray, value: int, node: Node, lines: Sequence[int]) -> None:
    first, last = bisect_right(lines, node.start_byte) - 1, bisect_right(lines, max(node.start_byte, node.end_byte - 1)) - 1
    if value or last > first:  # less than a line is no declaration
        marks[first : last + 1] = bytes([value]) * (last + 1 - first)


def _ranges(marks: bytearray) -> list[tuple[int, int]]:
    found = [(match.start() + 1, match.end()) for match in re.finditer(rb"\x01+", marks)]
    if len(found) <= MAX_ERROR_RANGES:
        return found
    widest = sorted(sorted(range(1, len(found)), key=lambda at: found[at - 1][1] - found[at][0])[: MAX_ERROR_RANGES - 1])
    begins, ends = [0, *widest], [*widest, len(found)]
    return [(found[begin][0], found[end - 1][1]) for begin, end in zip(begins, ends, strict=True)]


def broken_spans(root: Node) -> Spans:
    """The top-level pieces of a tree that have errors in them."""
    if root.is_error:
        return [(0, root.end_byte)]
    return [(child.start_byte, max(child.end_byte, child.start_byte + 1)) for child in root.children if child.has_error or child.is_missing]


# The declarations in them.
@cache
def _patterns() -> tuple[dict[str, list[tuple[str, Any]]], dict[str, str]]:
    """The patterns of each language with the kinds that they find, and how a declaration ends in it."""
    import re2  # noqa: PLC0415  -- only for files with errors

    parts: dict[str, str] = {}
    patterns: dict[str, list[tuple[str, Any]]] = {}
    endings: dict[str, str] = {}
    for line in content_lines(_RECOVERY_TABLE):
        for part, pattern in parts.items():
            line = line.replace(f"%{part}%", pattern)  # noqa: PLW2901
        if defined := _DEFINED.fullmatch(line):
            parts[defined[1]] = defined[2]
            continue
        languages, kind, pattern = line.split(" ", 2)
        if languages == "ends":
            endings |= dict.fromkeys(kind.split(","), pattern)
            continue
        compiled = re2.compile(rf"(?m)^(?P<indent>[ \t]*)(?P<head>{pattern})".encode("latin-1"))
        for language in languages.split(","):
            patterns.setdefault(language, []).append((kind, compiled))
    return patterns, endings


def declarations(source: bytes, language: str, spans: Spans, bodies: Iterable[int]) -> list[Declaration]:
    """The declarations with their names in some spans, in order, with where they end. `bodies` are where known ones have theirs."""
    patterns, endings = _patterns()
    if language not in patterns:
        return []
    ending = endings[language]
    text = _marked(ending).sub(_blank, source)
    heads: dict[int, Declaration] = {}
    for kind, pattern in patterns[language]:
        for found in pattern.finditer(text):
            head = _head(source, kind, found)
            if head is not None and any(start <= head.name_at < end for start, end in spans):
                heads.setdefault(head.start, head)  # by the first pattern that fits
    ordered = sorted(heads.values(), key=lambda head: head.start)
    pairs, inside = _matched_brackets(_DIRECTIVE.sub(_blank, text), [head.start for head in ordered])
    ordered = [replace(head, bracket=at) for head, at in zip(ordered, inside, strict=True)]
    end_of = {"line": _end_of_lines, "semicolon": _end_of_statement, "indent": _end_of_indent}[ending]
    ordered = [_complete(text, head, pairs, end_of) for head in ordered]
    limits = [next(end for start, end in spans if start <= head.name_at < end) for head in ordered]
    ordered = [replace(head, end=min(head.end, max(limit, head.named))) for head, limit in zip(ordered, limits, strict=True)]
    return _clipped(_members_only(ordered, bodies))


def comments(source: bytes, language: str, spans: Spans) -> list[tuple[int, int]]:
    """The comments in some spans: inside an error a tree may have none."""
    patterns, endings = _patterns()
    if language not in patterns:
        return []
    inside = [found for start, end in spans for found in _marked(endings[language]).finditer(source, start, end)]
    return [found.span() for found in inside if found.group().startswith((b"/", b"#"))]


def _marked(ending: str) -> re.Pattern[bytes]:
    return _PYTHON_LIKE if ending == "indent" else _C_LIKE


def _blank(found: re.Match[bytes]) -> bytes:
    return _NOT_NEWLINE.sub(b" ", found.group())


def _head(source: bytes, kind: str, found: Any) -> Declaration | None:
    groups, number = found.groupdict(), found.re.groupindex
    at, to = found.span(number[b"name"])
    if groups[b"name"] in _NO_NAMES or groups[b"head"].split(None, 1)[0] in _NO_NAMES:
        return None
    name = source[at:to].decode("utf-8", "replace").strip("`")
    parameters = (groups.get(b"parameters") or b"").decode("utf-8", "replace")
    start = found.start(number[b"head"])
    indent = INSIDE_ANYTHING if groups[b"head"].startswith(b"#") else start - found.start()
    owner = (groups.get(b"owner") or b"").decode("utf-8", "replace").rstrip(":")
    return Declaration(kind, name, owner, start, at, to, found.end(), -1, parameters, indent, -1)


def _matched_brackets(text: bytes, places: Sequence[int]) -> tuple[dict[int, int], list[int]]:
    """Where each bracket closes, and the bracket that each of some places is in; -1 for none. What does not match is passed over."""
    pairs: dict[int, int] = {}
    inside: list[int] = []
    open_: list[tuple[int, bytes]] = []
    for found in _BRACKETS.finditer(text):
        while len(inside) < len(places) and places[len(inside)] <= found.start():
            inside.append(open_[-1][0] if open_ else -1)
        bracket = found.group()
        if bracket not in _CLOSES:
            open_.append((found.start(), bracket))
        elif any(kind == _CLOSES[bracket] for _, kind in open_[-3:]):
            while open_[-1][1] != _CLOSES[bracket]:
                open_.pop()
            pairs[open_.pop()[0]] = found.start()
    return pairs, inside + [-1] * (len(places) - len(inside))


def _complete(
    text: bytes, head: Declaration, pairs: dict[int, int], end_of: Callable[[bytes, int, dict[int, int]], tuple[int, int]]
) -> Declaration:
    if text.startswith(b"#", head.start):
        line = re.compile(rb"(?:[^\n\\]|\\.)*", re.DOTALL).match(text, head.start)
        return replace(head, end=line.end() if line else head.end)
    end, body = end_of(text, head.named, pairs)
    return replace(head, end=end, body=body, kind="field" if head.kind == "constant" and head.bracket >= 0 else head.kind)


def _end_of_lines(text: bytes, at: int, pairs: dict[int, int]) -> tuple[int, int]:
    """Where a declaration ends that ends with its line, unless that goes on; and where its body starts."""
    body = -1
    for found in re.compile(rb"[({[=]|\n").finditer(text, at):
        if found.start() < at:
            continue  # inside brackets
        if found.group() == b"\n":
            line = text[text.rfind(b"\n", 0, found.start()) + 1 : found.start()]
            if not _GOES_ON.search(line) and not _CONTINUES.match(text, found.end()):
                return found.start(), body
        elif found.group() == b"=":
            body = found.end() if body < 0 else body
        else:
            body = found.start() if body < 0 and found.group() == b"{" else body
            at = pairs.get(found.start(), len(text)) + 1
    return len(text), body


def _end_of_statement(text: bytes, at: int, pairs: dict[int, int]) -> tuple[int, int]:
    """Where a declaration ends that ends with a semicolon or its body; and where its body starts."""
    for found in re.compile(rb"[({[;]").finditer(text, at):
        if found.start() < at:
            continue
        if found.group() == b";":
            return found.end(), -1
        at = pairs.get(found.start(), len(text)) + 1
        if found.group() == b"{":
            return min(at, len(text)), found.start()
    return len(text), -1


def _end_of_indent(text: bytes, at: int, pairs: dict[int, int]) -> tuple[int, int]:  # noqa: ARG001
    """Where the lines that are indented more than a declaration's own end; and where its body starts."""
    begin = text.rfind(b"\n", 0, at) + 1
    own = re.compile(rb"[ \t]*").match(text, begin)
    depth = own.end() - begin if own else 0
    following = re.compile(rb"\n[ \t]{0,%d}[^\s)]" % depth).search(text, at)
    return (following.start() if following else len(text)), -1


def _members_only(found: Sequence[Declaration], known: Iterable[int]) -> list[Declaration]:
    """Without values that are local: those in a bracket that is no declaration's body."""
    bodies = {one.body for one in found if one.kind in CONTAINERS} | {*known}
    return [one for one in found if one.kind not in VALUES or one.bracket < 0 or one.bracket in bodies]


def _clipped(found: Sequence[Declaration]) -> list[Declaration]:
    """Declarations that end before the next one that is indented no more than they: brackets in broken text may match anything."""
    result, starts = [], [one.start for one in found]
    for row, one in enumerate(found):
        inner = range(row + 1, bisect_left(starts, one.end))
        stop = next((starts[at] for at in inner if found[at].indent <= one.indent), one.end)
        result.append(replace(one, end=min(one.end, stop)))
    return result


def languages_with_patterns() -> Iterable[str]:
    """The languages whose declarations can be recovered."""
    return _patterns()[0]

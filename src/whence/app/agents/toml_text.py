"""TOML, changed in place: one table of ours comes at the end of the file and goes again; every other line stays as it is.

A library that keeps comments (tomlkit) would be a dependency for one table of three lines. What is written by hand here
is where tables begin; the reader of the standard library checks every result against what it should say.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from whence.app.agents.json_text import MISSING, newline_of
from whence.app.agents.marked_text import gap_after, gap_before
from whence.app.agents.splices import Edited, edited

_TOKEN = re.compile(
    r'"""(?:[^\\]|\\.)*?"{3,5}|\'\'\'.*?\'{3,5}'  # texts over several lines, where no bracket counts
    r'|"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'|\#[^\n]*|[\[\]{}]|\n|[^\[\]{}"\'\#\n]+',
    re.DOTALL,
)
_KEY = re.compile(r'\s*(?:"((?:[^"\\]|\\.)*)"|\'([^\']*)\'|([A-Za-z0-9_-]+))\s*(\.|\Z)')
_BARE = re.compile(r"[A-Za-z0-9_-]+")


class NotToml(Exception):
    """Why a text cannot be read or changed."""


@dataclass(frozen=True, slots=True)
class _Table:
    """A table as it is written: where its line begins, where the next one's does, and its name."""

    start: int
    end: int
    name: tuple[str, ...]


def read(text: str) -> dict[str, Any]:
    """All that a text says."""
    reader = _reader()
    try:
        found: dict[str, Any] = reader.loads(text.removeprefix("\ufeff").replace("\r\n", "\n"))
    except (reader.TOMLDecodeError, RecursionError) as error:
        raise NotToml(str(error) or "nested too deep") from error
    return found


def value_at(text: str, path: Sequence[str]) -> Any:
    """What stands at a path, or MISSING."""
    found: Any = read(text)
    for step in path:
        if not isinstance(found, dict) or step not in found:
            return MISSING
        found = found[step]
    return found


def put(text: str, path: Sequence[str], values: Mapping[str, Any]) -> Edited:
    """Have a table with some values: the one of that name is replaced where it stands, else it comes at the end."""
    read(text)
    newline = newline_of(text)
    lines = [f"[{'.'.join(map(_name, path))}]", *(f"{_name(key)} = {_written(value)}" for key, value in values.items())]
    block = newline.join(lines) + newline
    there = _span(text, path)
    end = len(text)
    done = edited(text, [(*there, block) if there is not None else (end, end, gap_after(text) + block)])
    _check(text, done.text, path, dict(values))
    return done


def take(text: str, path: Sequence[str], gap: str | None = None) -> Edited:
    """Take a table out, and the gap that was made before it; where that is not known, the empty line there."""
    there = _span(text, path)
    if there is None:
        if value_at(text, path) is MISSING:
            return Edited(text)
        raise NotToml(f"{'.'.join(path)} is not written as a table of its own")
    start, end = there
    done = edited(text, [(start - gap_before(text, start, gap), end, "")])
    _check(text, done.text, path, MISSING)
    return done


def _check(before: str, after: str, path: Sequence[str], value: Any) -> None:
    """See that a change did what it should, and nothing else."""
    name = ".".join(path)
    try:
        if value_at(after, path) == value and _others(read(after), path) == _others(read(before), path):
            return
    except NotToml as error:
        raise NotToml(f"{name} cannot be written as a table of its own here: {error}") from error
    raise NotToml(f"{name} cannot be changed in place here")


def _others(found: dict[str, Any], path: Sequence[str]) -> dict[str, Any]:
    """All but what stands at a path, and without the tables around it where nothing else is in them."""
    first, *rest = path
    inside = found.get(first)
    left = _others(inside, rest) if rest and isinstance(inside, dict) else {}
    return {**{key: value for key, value in found.items() if key != first}, **({first: left} if left else {})}


# Where tables stand.
def _span(text: str, path: Sequence[str]) -> tuple[int, int] | None:
    """From the line that names a table to the last line that belongs to it or to a table below it."""
    wanted = tuple(path)
    ours = [table for table in _tables(text) if table.name[: len(wanted)] == wanted]
    if not ours or ours[0].name != wanted:
        return None
    start, end = ours[0].start, ours[0].end
    for table in ours[1:]:
        if table.start != end:
            raise NotToml(f"{'.'.join(path)} is written in several places")
        end = table.end
    return start, _last_line(text, start, end)


def _last_line(text: str, start: int, end: int) -> int:
    """The end of the last line that says something: comments after it belong to what comes next."""
    lines = text[start:end].splitlines(keepends=True)
    while lines and (not lines[-1].strip() or lines[-1].lstrip().startswith("#")):
        lines.pop()
    return start + sum(map(len, lines))


def _tables(text: str) -> list[_Table]:
    found: list[tuple[int, tuple[str, ...]]] = []
    depth, at, fresh = 0, 1 if text.startswith("\ufeff") else 0, True  # fresh: nothing but blanks on this line so far
    while at < len(text):
        token = _TOKEN.match(text, at)
        if token is None:
            raise NotToml(f"line {text.count(chr(10), 0, at) + 1}: cannot be read")
        written = token.group()
        if written == "[" and depth == 0 and fresh:
            end = text.find("\n", at)
            end = len(text) if end < 0 else end
            found.append((text.rfind("\n", 0, at) + 1, _parts(text[at:end])))
            at = end
            continue
        depth += (written in "[{") - (written in "]}") if len(written) == 1 else 0
        fresh = written == "\n" or (fresh and not written.strip())
        at = token.end()
    ends = [*(start for start, _ in found[1:]), len(text)]
    return [_Table(start, end, name) for (start, name), end in zip(found, ends, strict=False)]


def _parts(line: str) -> tuple[str, ...]:
    """The name in a line such as `[mcp_servers."my server"]  # comment`."""
    inside = line.lstrip("[")
    parts: list[str] = []
    while found := _KEY.match(inside[: _name_end(inside)]):
        parts.append(json.loads(f'"{found[1]}"') if found[1] is not None and "\\" in found[1] else found[1] or found[2] or found[3] or "")
        inside = inside[found.end() :]
        if found[4] != ".":
            break
    return tuple(parts)


def _name_end(text: str) -> int:
    """Where the bracket is that ends a name: not one within quotes."""
    quote = ""
    for place, character in enumerate(text):
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'":
            quote = character
        elif character == "]":
            return place
    return len(text)


def _name(key: str) -> str:
    return key if _BARE.fullmatch(key) else json.dumps(key)


def _written(value: Any) -> str:
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{_name(key)} = {_written(one)}' for key, one in value.items())} }}"
    return json.dumps(value)  # texts, lists of texts and numbers look the same in both


def _reader() -> Any:
    try:
        import tomllib  # noqa: PLC0415  -- only where there is such a file
    except ModuleNotFoundError:  # Python 3.10
        import tomli as tomllib  # type: ignore[import-not-found,no-redef,unused-ignore]  # noqa: PLC0415
    return tomllib

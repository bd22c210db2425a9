"""Editing TOML in place: one table of ours is appended, replaced or removed; every other byte stays.

tomlkit was tried for this: it refuses a byte-order mark, ends its own lines with LF in a CRLF file, and adding a table
and removing it again leaves other bytes than before. Here only the place of a table is found by hand. A line that
begins with `[` is a header exactly if the text above it is complete TOML, and every result is parsed and compared.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from whence.app.agents.json_edits import MISSING
from whence.app.agents.text_edits import EditError, TextEdit, gap_after, gap_length, newline_of, replace_ranges
from whence.core.settings import toml_reader

_HEADER = re.compile(r"^\ufeff?[ \t]*\[.*$", re.MULTILINE)
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


class TomlError(EditError):
    """Why a text cannot be parsed as TOML."""

    prefix = "not valid TOML: "


def parse(text: str) -> dict[str, Any]:
    """The document as a dictionary."""
    reader = toml_reader()
    try:
        document: dict[str, Any] = reader.loads(text.removeprefix("\ufeff").replace("\r\n", "\n"))
    except (reader.TOMLDecodeError, RecursionError) as error:
        raise TomlError(str(error) or "nested too deep") from error
    return document


def value_at(text: str, path: Sequence[str]) -> Any:
    """The value at a path, or MISSING."""
    value: Any = parse(text)
    for step in path:
        if not isinstance(value, dict) or step not in value:
            return MISSING
        value = value[step]
    return value


def put(text: str, path: Sequence[str], values: Mapping[str, Any]) -> TextEdit:
    """Write a table: in place of the one with this name, else at the end."""
    parse(text)
    newline = newline_of(text)
    lines = [f"[{'.'.join(map(_key, path))}]", *(f"{_key(key)} = {_literal(value)}" for key, value in values.items())]
    block = newline.join(lines) + newline
    span, end = _span(text, path), len(text)
    edit = replace_ranges(text, [(*span, block) if span is not None else (end, end, gap_after(text) + block)])
    _check(text, edit.text, path, dict(values))
    return edit


def remove(text: str, path: Sequence[str], gap: str | None = None) -> TextEdit:
    """Remove a table and the gap before it (see `gap_length`)."""
    span = _span(text, path)
    if span is None:
        if value_at(text, path) is MISSING:
            return TextEdit(text)
        raise EditError(f"{'.'.join(path)} is not written as a table of its own")
    start, end = span
    edit = replace_ranges(text, [(start - gap_length(text, start, gap), end, "")])
    _check(text, edit.text, path, MISSING)
    return edit


def _check(before: str, after: str, path: Sequence[str], value: Any) -> None:
    """Verify that an edit changed this table and nothing else."""
    name = ".".join(path)
    try:
        if value_at(after, path) == value and _others(parse(after), path) == _others(parse(before), path):
            return
    except TomlError as error:
        raise EditError(f"{name} cannot be written as a table of its own here: {error}") from error
    raise EditError(f"{name} cannot be changed in place here")


def _others(document: dict[str, Any], path: Sequence[str]) -> dict[str, Any]:
    """The document without the value at a path, and without tables around it that hold nothing else."""
    first, *rest = path
    inside = document.get(first)
    left = _others(inside, rest) if rest and isinstance(inside, dict) else {}
    return {**{key: value for key, value in document.items() if key != first}, **({first: left} if left else {})}


# Where tables are.
def _span(text: str, path: Sequence[str]) -> tuple[int, int] | None:
    """From the header of a table to the last line of it and its subtables; None if it has no header of its own."""
    ours: list[tuple[int, int]] = []
    headers = list(_HEADER.finditer(text))
    for number, header in enumerate(headers):
        name = _table_name(header.group().rstrip("\r"))
        if name[: len(path)] != tuple(path) or not _is_header(text, header):
            continue
        if not ours and name != tuple(path):
            return None
        start = header.end() - len(header.group().removeprefix("\ufeff"))
        if ours and ours[-1][1] != start:
            raise EditError(f"{'.'.join(path)} is written in several places")
        ours.append((start, next((later.start() for later in headers[number + 1 :] if _is_header(text, later)), len(text))))
    return (ours[0][0], _last_line(text, ours[0][0], ours[-1][1])) if ours else None


def _is_header(text: str, line: re.Match[str]) -> bool:
    """Whether a line that begins with a bracket is a table's header: inside a list or string, the text above it is incomplete."""
    try:
        parse(text[: line.start()])
    except TomlError:
        return False
    return True


def _table_name(header: str) -> tuple[str, ...]:
    """The path in a header such as `[mcp_servers."my server"]  # comment`; empty if the line is none."""
    try:
        return tuple(_only_keys(parse(header)))
    except TomlError:
        return ()


def _only_keys(document: Any) -> Iterator[str]:
    while document:
        if isinstance(document, list):
            document = document[0]
        else:
            ((key, document),) = document.items()
            yield key


def _last_line(text: str, start: int, end: int) -> int:
    """The end of the last line with a value: comments after it belong to the next table."""
    lines = text[start:end].splitlines(keepends=True)
    while lines and (not lines[-1].strip() or lines[-1].lstrip().startswith("#")):
        lines.pop()
    return start + sum(map(len, lines))


def _key(key: str) -> str:
    return key if _BARE_KEY.fullmatch(key) else json.dumps(key)


def _literal(value: Any) -> str:
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{_key(key)} = {_literal(one)}' for key, one in value.items())} }}"
    return json.dumps(value)  # strings, numbers and lists of them are written alike in JSON and TOML

"""The file format of a note: YAML front matter that people can read and edit, then the text verbatim."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from typing import Any, NamedTuple

from whence.core.errors import UsageError
from whence.memory.note import GENERAL, KINDS, TIMES, CodeRef, Note

FENCE = "---"
#: Keys of other programs, read when ours is missing.
_ALIASES = {"title": "topic", "date": "created"}
_COMMENT = "#"
#: People nest two or three levels; the YAML parser's time grows with the square of the depth.
_MAX_DEPTH = 64
_NOT_AT_START = "a key must start at the beginning of its line"
_ONE_KEY_PER_LINE = "line 2: front matter needs one `key: value` per line"

_OPENING = re.compile(r"---[ \t]*\r?\n")
#: Whose a note is that cannot be parsed otherwise; a line that is cut off does not say it.
_REPOSITORY = re.compile(r"^repository: ((?:commit|remote|folder):[^\"\ufffd\r\n]+)\r?\n", re.MULTILINE)
_CLOSING = re.compile(r"^---[ \t]*(\r?)(?:\n|\Z)", re.MULTILINE)
# Text may start with a rule (`---`) that opens no front matter: the first line after it decides, comments aside.
_FIRST_KEY = re.compile(r"(?:[ \t]*(?:#[^\n]*)?\r?\n)*(?:\{|[ \t]*[^\s#:\-](?:[^:\n]|:(?=\S))*:(?:\s|\Z))")

_UNPRINTABLE = "\\x00-\\x1f\\x7f-\\x9f\\u2028\\u2029\\ufeff\\ufffe\\uffff"
_TO_ESCAPE = re.compile(f"[{_UNPRINTABLE}]")
# Plain YAML scalars: on a line of their own, and inside brackets.
_FIRST = r"(?:[^\s\-?:,\[\]{}#&*!|>'\"%@`" + _UNPRINTABLE + r"]|-(?=[^\s,\[\]{}]))"
_IN_LINE = re.compile(_FIRST + r"[^:#{0}]*(?:(?::(?=\S)|(?<!\s)#)[^:#{0}]*)*(?<!\s)".replace("{0}", _UNPRINTABLE))
_IN_LIST = re.compile(_FIRST + r"[^:#,?\[\]{}{0}]*(?:(?::(?=[^\s,\[\]{}])|(?<!\s)#)[^:#,?\[\]{}{0}]*)*(?<!\s)".replace("{0}", _UNPRINTABLE))
# Plain scalars that other programs read as something other than text: numbers, dates, booleans, null.
_NOT_TEXT = re.compile(
    r"(?i:null|true|false|yes|no|on|off|y|n)|~|=|<<|[-+]?\.(?i:inf|nan)|[-+]?0[xob][\da-fA-F_]+"
    r"|[-+]?\.?\d[\d_.,:]*(?:[eE][-+]?\d+)?|\d{4}-\d\d?-\d\d?(?:[Tt\s].*)?"
)
_TIME = re.compile(
    r"(\d{4})-(\d\d?)-(\d\d?)(?:(?:[Tt]|[ \t]+)(\d\d?):(\d\d)(?::(\d\d)(?:[.,]\d+)?)?[ \t]*(?:([Zz])|([-+])(\d\d):?(\d\d)?)?)?", re.ASCII
)


class _FrontMatterError(Exception):
    """Front matter that cannot be read, with its line."""


class _Entry(NamedTuple):
    """A key with its value: text, a list, a mapping, or None for an alias."""

    key: str
    value: Any
    line: int  # in the file


def parse(data: bytes, *, folder: str, slug: str) -> Note:
    """The note in a file. One that cannot be parsed has the whole file as its text and says why in `problem`."""
    given: dict[str, Any] = {"slug": slug, "project": "" if folder == GENERAL else folder, "folder": folder}
    try:
        text = data.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        return _unparsed(data.decode("utf-8", "replace"), given, f"line {line}: not UTF-8")
    try:
        front, body = _split(text)
        return Note(body, **(given if front is None else given | _fields(front)))
    except _FrontMatterError as error:
        return _unparsed(text, given, " ".join(str(error).split()))


def _unparsed(text: str, given: dict[str, Any], problem: str) -> Note:
    front, closing, _ = text.partition(f"\n{FENCE}")
    whose = _REPOSITORY.search(front + closing[:1]) if text.startswith(FENCE) else None
    return Note(text, **given, repository=whose[1] if whose else "", problem=problem)


def render(note: Note) -> str:
    """The content of a note's file; deterministic, and `parse` reverses it.

    One newline is added before and after the text, whatever it starts and ends with. A note with a problem is
    rendered as its file was.
    """
    if note.problem:
        return note.text
    return "\n".join([FENCE, *_lines(normalized(note)), FENCE, "", note.text]) + "\n"


def normalized(note: Note) -> Note:
    """A note as a file can hold it: times in UTC to the second, each tag once and without its `#`."""
    tags = tuple(dict.fromkeys(filter(None, (tag.strip().lstrip("#").strip() for tag in note.tags))))
    times: dict[str, Any] = {name: _to_the_second(getattr(note, name)) for name in TIMES}
    return replace(note, tags=tags, about=_in_repository(note.about, note.repository), **times)


def _in_repository(about: tuple[CodeRef, ...], repository: str) -> tuple[CodeRef, ...]:
    """References that name no repository are to code in the note's own."""
    return tuple(one if one.repository else replace(one, repository=repository) for one in about)


def _to_the_second(time: datetime | None) -> datetime | None:
    if time is None:
        return None
    try:
        return (time if time.tzinfo else time.replace(tzinfo=timezone.utc)).astimezone(timezone.utc).replace(microsecond=0)
    except OverflowError as error:
        raise UsageError(f"{time} cannot be expressed in UTC") from error


def _lines(note: Note) -> Iterator[str]:
    theirs = {_ALIASES.get(key) for key, _ in note.other}
    if note.project or note.folder != GENERAL:
        yield f"project: {_scalar(note.project)}"
    if note.repository:
        yield f"repository: {_scalar(note.repository)}"
    if note.topic or "topic" in theirs:
        yield f"topic: {_scalar(note.topic)}"
    yield f"kind: {_scalar(note.kind)}"
    if note.tags:
        yield f"tags: [{', '.join(_scalar(tag, _IN_LIST) for tag in note.tags)}]"
    if note.source:
        yield f"source: {_scalar(note.source)}"
    for name in TIMES:
        if time := getattr(note, name):
            yield f"{name}: {time.replace(tzinfo=None).isoformat()}Z"
        elif name in theirs:
            yield f'{name}: ""'
    if note.about:
        yield "about:"
        yield from [line for about in note.about for line in _lines_about(about, note.repository)]
    yield from [raw for _, raw in note.other]


def _lines_about(about: CodeRef, repository: str) -> Iterator[str]:
    yield f"  - code: {_scalar(about.code)}"
    if about.hash:
        yield f"    hash: {_scalar(about.hash)}"
    if about.repository != repository:
        yield f"    repository: {_scalar(about.repository)}"


def _scalar(text: str, plain: re.Pattern[str] = _IN_LINE) -> str:
    """Text as a plain scalar, or as a JSON string where YAML would read something else."""
    if plain.fullmatch(text) and not _NOT_TEXT.fullmatch(text):
        return text
    return _TO_ESCAPE.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(text, ensure_ascii=False))


def _split(text: str) -> tuple[str | None, str]:
    """The front matter, if there is any, and the text after it."""
    opening = _OPENING.match(text)
    closing = _CLOSING.search(text, opening.end()) if opening else None
    front = text[opening.end() : closing.start() if closing else None] if opening else ""
    if opening is None or (not _FIRST_KEY.match(front) and (front.strip() or not closing)):
        return None, text.removesuffix("\n").removesuffix("\r")
    if closing is None:
        raise _FrontMatterError(f"line 1: the front matter is not closed by a line with `{FENCE}` alone")
    line_end = closing[1] + "\n"
    return front.replace("\r\n", "\n"), text[closing.end() :].removeprefix(line_end).removesuffix(line_end)


def _fields(front: str) -> dict[str, Any]:
    """The fields of a note that front matter sets."""
    other: list[tuple[str, str]] = []
    if (entries := _simple_entries(front)) is None:
        entries, other = _yaml_entries(front)
    fields: dict[str, Any] = {"other": tuple(other)} if other else {}
    seen: set[str] = set()
    for key, value, line in entries:
        name = key.replace("-", "_")
        if name in seen:
            raise _FrontMatterError(f"line {line}: `{key}` is given twice")
        seen.add(name)
        if name in _READERS:
            try:
                fields[name] = _READERS[name](value)
            except ValueError as error:
                raise _FrontMatterError(f"line {line}: {key}: {error}") from error
    for key, value, _ in entries:
        if (name := _ALIASES.get(key, "")) and name not in fields and isinstance(value, str):
            try:
                fields[name] = _READERS[name](value)
            except ValueError:  # another program's date format
                continue
    if "about" in fields and "repository" in fields:
        fields["about"] = _in_repository(fields["about"], fields["repository"])
    return fields


def _simple_entries(front: str) -> list[_Entry] | None:
    """The entries, if they are as simple as `render` writes them: most are, and importing YAML is slow."""
    entries: list[_Entry] = []
    for number, line in enumerate(front.split("\n")[:-1], 2):
        key, _, text = line.partition(": ")
        value: Any = text
        if key not in _READERS or key == "about":
            return None
        if text.startswith("["):
            value = text[1:-1].split(", ") if text != "[]" else []
            if not text.endswith("]") or not all(map(_IN_LIST.fullmatch, value)):
                return None
        elif text.startswith('"') and "\\ud" not in text.lower() and not _TO_ESCAPE.search(text):
            try:
                value = json.loads(text)
            except ValueError:
                return None
        elif not _IN_LINE.fullmatch(text):
            return None
        entries.append(_Entry(key, value, number))
    return entries


def _yaml_entries(front: str) -> tuple[list[_Entry], list[tuple[str, str]]]:
    """All entries, and the lines of unknown ones as they were written.

    Reads events, not nodes: the library composes nodes recursively and overflows the stack on deep nesting.
    """
    import yaml  # noqa: PLC0415  -- only for front matter that a person or another program wrote

    _check_marks(front)
    try:
        found = list(_top_level(yaml.parse(front, Loader=getattr(yaml, "CBaseLoader", yaml.BaseLoader))))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line if mark else front.count("\n", 0, getattr(error, "position", 0))
        raise _FrontMatterError(f"line {line + 2}: not YAML: {getattr(error, 'problem', '') or getattr(error, 'reason', '')}") from error
    for entry, at in found:
        if at and front[at - 1] != "\n":  # YAML has other line breaks, too
            raise _FrontMatterError(f"line {entry.line}: {_NOT_AT_START}")
    starts = [at for _, at in found] + [len(front)]
    other = _comments(front[: starts[0]])
    for (entry, start), end in zip(found, starts[1:], strict=True):
        lines = front[start:end].removesuffix("\n").split("\n")
        own = next((at for at, line in enumerate(lines) if line.startswith(_COMMENT)), len(lines))
        if entry.key.replace("-", "_") not in _READERS:
            rest = [line for line in lines[own:] if line.strip() and not line.startswith(_COMMENT)]
            other.append((entry.key, "\n".join(lines[:own] + rest)))
        other += _comments("\n".join(lines[own:]))
    return [entry for entry, _ in found], other


def _check_marks(front: str) -> None:
    """Reject characters that the library skips without counting, or that would not be written back unchanged."""
    if front.startswith("\ufeff"):
        raise _FrontMatterError("line 2: the front matter starts with a byte order mark")
    if (at := front.find("\r")) >= 0:
        raise _FrontMatterError(f"line {front.count(chr(10), 0, at) + 2}: a carriage return inside a line")


def _comments(text: str) -> list[tuple[str, str]]:
    return [(_COMMENT, line) for line in text.split("\n") if line.startswith(_COMMENT)]


def _top_level(events: Iterator[Any]) -> Iterator[tuple[_Entry, int]]:
    """The entries of the top-level mapping, each with the offset of its key."""
    values = _values(events)
    for (name, mark), (value, _) in zip(values, values, strict=True):
        if mark.column:
            raise _FrontMatterError(f"line {mark.line + 2}: {_NOT_AT_START}")
        yield _Entry(name if isinstance(name, str) else "", value, mark.line + 2), mark.index


def _values(events: Iterator[Any]) -> Iterator[tuple[Any, Any]]:
    """Keys and values of the top-level mapping in turn, each with its start mark."""
    import yaml  # noqa: PLC0415  -- loaded by the caller

    stack: list[list[Any]] = []  # open collections: their start event and items
    for event in events:
        if isinstance(event, yaml.CollectionStartEvent):
            if not stack and (not isinstance(event, yaml.MappingStartEvent) or event.flow_style):
                raise _FrontMatterError(_ONE_KEY_PER_LINE)
            if len(stack) >= _MAX_DEPTH:
                raise _FrontMatterError(f"line {event.start_mark.line + 2}: nested too deeply")
            stack.append([event])
            continue
        if isinstance(event, yaml.CollectionEndEvent):
            began, *items = stack.pop()
            value: Any = items if isinstance(began, yaml.SequenceStartEvent) else _mapping(items)
        elif isinstance(event, yaml.ScalarEvent | yaml.AliasEvent):
            began, value = event, getattr(event, "value", None)
            if not stack:
                raise _FrontMatterError(_ONE_KEY_PER_LINE)
        else:
            continue
        if len(stack) == 1:
            yield value, began.start_mark
        elif stack:
            stack[-1].append(value)


def _mapping(items: list[Any]) -> dict[str, Any]:
    return {key: value for key, value in zip(items[::2], items[1::2], strict=True) if isinstance(key, str)}


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("must be text")  # noqa: TRY004  -- a value that a person wrote; reported with its line
    return value


def _kind(value: Any) -> str:
    if (kind := _text(value) or "durable") not in KINDS:
        raise ValueError(f"{kind!r} is not one of {', '.join(KINDS)}")
    return kind


def _tags(value: Any) -> tuple[str, ...]:
    tags = re.split(r"[\s,]+", value) if isinstance(value, str) else value
    if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
        raise ValueError("must be a list of words")
    return tuple(dict.fromkeys(filter(None, (tag.strip().lstrip("#").strip() for tag in tags))))


def _time(value: Any) -> datetime | None:
    """A time, or a date, which means its midnight. UTC unless it has an offset."""
    text = _text(value).strip()
    if not text or text.lower() in ("null", "~"):
        return None
    found = _TIME.fullmatch(text)
    if not found:
        raise ValueError(f"{text[:40]!r} is not a time: write 2026-01-31 or 2026-01-31T09:30:00Z")
    try:
        return utc_time(found)
    except (ValueError, OverflowError) as error:
        raise ValueError(f"{text[:40]!r} is not a valid time") from error


def utc_time(found: re.Match[str]) -> datetime:
    """The time in a match with groups for year, month, day, hour, minute, second, `Z`, and sign, hours and minutes of the offset."""
    *numbers, _, sign, hours, minutes = found.groups()
    year, month, day, hour, minute, second = (int(number or 0) for number in numbers)
    offset = timedelta(hours=int(hours or 0), minutes=int(minutes or 0))
    return datetime(year, month, day, hour, minute, second, tzinfo=timezone.utc) + (offset if sign == "-" else -offset)


def _about(value: Any) -> tuple[CodeRef, ...]:
    found: list[CodeRef] = []
    for one in value if isinstance(value, list) else [value] if value != "" else []:
        fields = {"code": one} if isinstance(one, str) else one
        if not isinstance(fields, dict) or "code" not in fields or not fields.keys() <= {"code", "hash", "repository"}:
            raise ValueError("must be a list of `code` entries with optional `hash` and `repository`")
        found.append(CodeRef(**{name: _text(part) for name, part in fields.items()}))
    return tuple(found)


_READERS: dict[str, Callable[[Any], Any]] = {
    "project": _text,
    "repository": _text,
    "topic": _text,
    "kind": _kind,
    "tags": _tags,
    "source": _text,
    **dict.fromkeys(TIMES, _time),
    "about": _about,
}

"""A note as the text of its file: front matter that a person can read and edit, then the text as it was given (M1, M2)."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from typing import Any, NamedTuple

from whence.core.errors import UsageError
from whence.memory.note import GENERAL, KINDS, CodeRef, Note

FENCE = "---"
_TIMES = ("created", "updated", "valid_from", "valid_until", "archived")
#: What stands for another key when that one is missing: other programs write these.
_ALSO = {"title": "topic", "date": "created"}
_COMMENT = "#"
#: A person nests two or three levels; YAML's own reader takes a time that grows with the square of the depth.
_DEEPEST = 64
_AT_THE_START = "a key must begin at the start of its line"
_ONE_KEY_A_LINE = "line 2: the front matter must have one `key: value` on each line"

_OPENING = re.compile(r"---[ \t]*\r?\n")
_CLOSING = re.compile(r"^---[ \t]*(\r?)(?:\n|\Z)", re.MULTILINE)
# A text may begin with a rule (`---`) and be no front matter: the first line after it tells, comments aside.
_FIRST_KEY = re.compile(r"(?:[ \t]*(?:#[^\n]*)?\r?\n)*(?:\{|[ \t]*[^\s#:\-](?:[^:\n]|:(?=\S))*:(?:\s|\Z))")

_UNPRINTABLE = "\\x00-\\x1f\\x7f-\\x9f\\u2028\\u2029\\ufeff\\ufffe\\uffff"
_TO_ESCAPE = re.compile(f"[{_UNPRINTABLE}]")
# What YAML reads as it stands, in a line of its own and between brackets.
_FIRST = r"(?:[^\s\-?:,\[\]{}#&*!|>'\"%@`" + _UNPRINTABLE + r"]|-(?=[^\s,\[\]{}]))"
_IN_LINE = re.compile(_FIRST + r"[^:#{0}]*(?:(?::(?=\S)|(?<!\s)#)[^:#{0}]*)*(?<!\s)".replace("{0}", _UNPRINTABLE))
_IN_LIST = re.compile(_FIRST + r"[^:#,?\[\]{}{0}]*(?:(?::(?=[^\s,\[\]{}])|(?<!\s)#)[^:#,?\[\]{}{0}]*)*(?<!\s)".replace("{0}", _UNPRINTABLE))
# What other programs take for something else than text: a number, a date, a truth, nothing.
_NOT_TEXT = re.compile(
    r"(?i:null|true|false|yes|no|on|off|y|n)|~|=|<<|[-+]?\.(?i:inf|nan)|[-+]?0[xob][\da-fA-F_]+"
    r"|[-+]?\.?\d[\d_.,:]*(?:[eE][-+]?\d+)?|\d{4}-\d\d?-\d\d?(?:[Tt\s].*)?"
)
_TIME = re.compile(
    r"(\d{4})-(\d\d?)-(\d\d?)(?:(?:[Tt]|[ \t]+)(\d\d?):(\d\d)(?::(\d\d)(?:[.,]\d+)?)?[ \t]*(?:([Zz])|([-+])(\d\d):?(\d\d)?)?)?", re.ASCII
)


class _Trouble(Exception):
    """Why a front matter cannot be read."""


class _Entry(NamedTuple):
    """A key with its value: a text, a list, a mapping, or None for what cannot be ours."""

    key: str
    value: Any
    line: int  # in the file


def parse(data: bytes, *, folder: str, slug: str) -> Note:
    """The note that a file holds. What cannot be read becomes a note that says so and has the whole file as its text."""
    given: dict[str, Any] = {"slug": slug, "project": "" if folder == GENERAL else folder, "folder": folder}
    try:
        text = data.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        return Note(data.decode("utf-8", "replace"), **given, trouble=f"line {line}: not UTF-8")
    try:
        front, body = _split(text)
        return Note(body, **(given if front is None else given | _fields(front)))
    except _Trouble as trouble:
        return Note(text, **given, trouble=" ".join(str(trouble).split()))


def render(note: Note) -> str:
    """The text of a note's file; the same note gives the same text, and `parse` gives the note again.

    One line end more than the text has stands before and after it, whatever it
    begins and ends with. A note in trouble is what its file was.
    """
    if note.trouble:
        return note.text
    return "\n".join([FENCE, *_lines(settled(note)), FENCE, "", note.text]) + "\n"


def settled(note: Note) -> Note:
    """The note as a file can hold it: times in UTC and to the second, each tag once and without its `#`."""
    tags = tuple(dict.fromkeys(filter(None, (tag.strip().lstrip("#").strip() for tag in note.tags))))
    times: dict[str, Any] = {name: _to_the_second(getattr(note, name)) for name in _TIMES}
    return replace(note, tags=tags, **times)


def _to_the_second(time: datetime | None) -> datetime | None:
    if time is None:
        return None
    try:
        return (time if time.tzinfo else time.replace(tzinfo=timezone.utc)).astimezone(timezone.utc).replace(microsecond=0)
    except OverflowError as error:
        raise UsageError(f"{time} is no time in UTC") from error


def _lines(note: Note) -> Iterator[str]:
    theirs = {_ALSO.get(key) for key, _ in note.other}
    if note.project or note.folder != GENERAL:
        yield f"project: {_scalar(note.project)}"
    if note.topic or "topic" in theirs:
        yield f"topic: {_scalar(note.topic)}"
    yield f"kind: {_scalar(note.kind)}"
    if note.tags:
        yield f"tags: [{', '.join(_scalar(tag, _IN_LIST) for tag in note.tags)}]"
    if note.source:
        yield f"source: {_scalar(note.source)}"
    for name in _TIMES:
        if time := getattr(note, name):
            yield f"{name}: {time.replace(tzinfo=None).isoformat()}Z"
        elif name in theirs:
            yield f'{name}: ""'
    if note.about:
        yield "about:"
        yield from [line for about in note.about for line in _lines_about(about)]
    yield from [raw for _, raw in note.other]


def _lines_about(about: CodeRef) -> Iterator[str]:
    yield f"  - code: {_scalar(about.code)}"
    if about.hash:
        yield f"    hash: {_scalar(about.hash)}"
    if about.repository:
        yield f"    repository: {_scalar(about.repository)}"


def _scalar(text: str, plain: re.Pattern[str] = _IN_LINE) -> str:
    """A text as it stands, or as a JSON string where YAML would read something else."""
    if plain.fullmatch(text) and not _NOT_TEXT.fullmatch(text):
        return text
    return _TO_ESCAPE.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(text, ensure_ascii=False))


def _split(text: str) -> tuple[str | None, str]:
    """The front matter, if there is one, and the text behind it."""
    opening = _OPENING.match(text)
    closing = _CLOSING.search(text, opening.end()) if opening else None
    front = text[opening.end() : closing.start() if closing else None] if opening else ""
    if opening is None or (not _FIRST_KEY.match(front) and (front.strip() or not closing)):
        return None, text.removesuffix("\n").removesuffix("\r")
    if closing is None:
        raise _Trouble(f"line 1: the front matter has no end, a line with nothing but `{FENCE}`")
    line_end = closing[1] + "\n"
    return front.replace("\r\n", "\n"), text[closing.end() :].removeprefix(line_end).removesuffix(line_end)


def _fields(front: str) -> dict[str, Any]:
    """What the front matter says, as the fields of a note."""
    other: list[tuple[str, str]] = []
    if (entries := _plainly(front)) is None:
        entries, other = _as_yaml(front)
    fields: dict[str, Any] = {"other": tuple(other)} if other else {}
    seen: set[str] = set()
    for key, value, line in entries:
        name = key.replace("-", "_")
        if name in seen:
            raise _Trouble(f"line {line}: `{key}` stands here a second time")
        seen.add(name)
        if name in _READERS:
            try:
                fields[name] = _READERS[name](value)
            except ValueError as error:
                raise _Trouble(f"line {line}: {key}: {error}") from error
    for key, value, _ in entries:
        if (name := _ALSO.get(key, "")) and name not in fields and isinstance(value, str):
            try:
                fields[name] = _READERS[name](value)
            except ValueError:  # a date of another program, in a form of its own
                continue
    return fields


def _plainly(front: str) -> list[_Entry] | None:
    """The entries, if they are as `render` writes simple ones: most are, and loading YAML takes longer than all else."""
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


def _as_yaml(front: str) -> tuple[list[_Entry], list[tuple[str, str]]]:
    """All entries, and those that are not ours as they were written.

    Events are read, not trees: the library makes trees by calling itself, and dies of one that is too deep.
    """
    import yaml  # noqa: PLC0415  -- only for what a person or another program wrote

    _check_marks(front)
    try:
        found = list(_top_level(yaml.parse(front, Loader=getattr(yaml, "CBaseLoader", yaml.BaseLoader))))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line if mark else front.count("\n", 0, getattr(error, "position", 0))
        raise _Trouble(f"line {line + 2}: not YAML: {getattr(error, 'problem', '') or getattr(error, 'reason', '')}") from error
    for entry, at in found:
        if at and front[at - 1] != "\n":  # YAML knows other ends of lines, too
            raise _Trouble(f"line {entry.line}: {_AT_THE_START}")
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
    """Refuse marks that the library passes over without counting them, or that would not be written again as they were."""
    if front.startswith("\ufeff"):
        raise _Trouble("line 2: the front matter begins with a byte order mark")
    if (at := front.find("\r")) >= 0:
        line = front.count("\n", 0, at) + 2
        raise _Trouble(f"line {line}: a carriage return that ends no line")


def _comments(text: str) -> list[tuple[str, str]]:
    return [(_COMMENT, line) for line in text.split("\n") if line.startswith(_COMMENT)]


def _top_level(events: Iterator[Any]) -> Iterator[tuple[_Entry, int]]:
    """The entries of the one mapping that there should be, and the offset of each key."""
    values = _values(events)
    for (name, mark), (value, _) in zip(values, values, strict=True):
        if mark.column:
            raise _Trouble(f"line {mark.line + 2}: {_AT_THE_START}")
        yield _Entry(name if isinstance(name, str) else "", value, mark.line + 2), mark.index


def _values(events: Iterator[Any]) -> Iterator[tuple[Any, Any]]:
    """Keys and values of the outermost mapping by turns, each with the place where it begins."""
    import yaml  # noqa: PLC0415  -- loaded by the caller

    open_ones: list[list[Any]] = []  # each collection that has not ended: how it began, and what was found in it
    for event in events:
        if isinstance(event, yaml.CollectionStartEvent):
            if not open_ones and (not isinstance(event, yaml.MappingStartEvent) or event.flow_style):
                raise _Trouble(_ONE_KEY_A_LINE)
            if len(open_ones) >= _DEEPEST:
                raise _Trouble(f"line {event.start_mark.line + 2}: nested too deep")
            open_ones.append([event])
            continue
        if isinstance(event, yaml.CollectionEndEvent):
            began, *items = open_ones.pop()
            value: Any = items if isinstance(began, yaml.SequenceStartEvent) else _mapping(items)
        elif isinstance(event, yaml.ScalarEvent | yaml.AliasEvent):
            began, value = event, getattr(event, "value", None)
            if not open_ones:
                raise _Trouble(_ONE_KEY_A_LINE)
        else:
            continue
        if len(open_ones) == 1:
            yield value, began.start_mark
        elif open_ones:
            open_ones[-1].append(value)


def _mapping(items: list[Any]) -> dict[str, Any]:
    return {key: value for key, value in zip(items[::2], items[1::2], strict=True) if isinstance(key, str)}


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("must be a text")  # noqa: TRY004  -- a value that a person wrote, told with its line
    return value


def _kind(value: Any) -> str:
    if (kind := _text(value) or "durable") not in KINDS:
        raise ValueError(f"{kind!r} is none of {', '.join(KINDS)}")
    return kind


def _tags(value: Any) -> tuple[str, ...]:
    tags = re.split(r"[\s,]+", value) if isinstance(value, str) else value
    if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
        raise ValueError("must be a list of words")
    return tuple(dict.fromkeys(filter(None, (tag.strip().lstrip("#").strip() for tag in tags))))


def _time(value: Any) -> datetime | None:
    """A time, or a day alone: its beginning. Without an offset it is UTC."""
    text = _text(value).strip()
    if not text or text.lower() in ("null", "~"):
        return None
    found = _TIME.fullmatch(text)
    if not found:
        raise ValueError(f"{text[:40]!r} is no time: write it as 2026-01-31 or 2026-01-31T09:30:00Z")
    *numbers, _, sign, hours, minutes = found.groups()
    try:
        year, month, day, hour, minute, second = (int(number or 0) for number in numbers)
        time = datetime(year, month, day, hour, minute, second, tzinfo=timezone.utc)
        offset = timedelta(hours=int(hours or 0), minutes=int(minutes or 0))
        return time + offset if sign == "-" else time - offset
    except (ValueError, OverflowError) as error:
        raise ValueError(f"{text[:40]!r} is no time that there is") from error


def _about(value: Any) -> tuple[CodeRef, ...]:
    found: list[CodeRef] = []
    for one in value if isinstance(value, list) else [value] if value != "" else []:
        fields = {"code": one} if isinstance(one, str) else one
        if not isinstance(fields, dict) or "code" not in fields or not fields.keys() <= {"code", "hash", "repository"}:
            raise ValueError("must be a list of `code`, each with `hash` and `repository` or without")
        found.append(CodeRef(**{name: _text(part) for name, part in fields.items()}))
    return tuple(found)


_READERS: dict[str, Callable[[Any], Any]] = {
    "project": _text,
    "topic": _text,
    "kind": _kind,
    "tags": _tags,
    "source": _text,
    **dict.fromkeys(_TIMES, _time),
    "about": _about,
}

"""How do notes leave? As a folder of Markdown files, or as JSON lines: the same notes give the same bytes."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, fields
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from whence.core.errors import StorageError, UsageError
from whence.memory.front_matter import render
from whence.memory.note import GENERAL, KINDS, CodeRef, Note

#: Lists the files of an export, and makes its folder known as one.
MANIFEST = ".whence-export"
#: What every exported line has; a line without them is something else.
MARKS = frozenset(("folder", "kind", "slug", "text"))

_TIMES = ("created", "updated", "valid_from", "valid_until", "archived")
_TEXTS = ("text", "slug", "project", "topic", "kind", "source", "folder", "trouble")
_HALF_WRITTEN = f"{MANIFEST}.tmp"
#: A folder that holds nothing else is empty: exports are often kept under version control.
_OVERLOOKED = frozenset((".git", _HALF_WRITTEN))


def export_folder(notes: Iterable[Note], destination: Path) -> int:
    """Make a folder hold some notes as `<folder>/<slug>.md` and nothing of an earlier export; how many there are.

    The list of files names what is there and what is coming before anything is written, so an export that is cut
    off is continued by the next, and no file that an export did not write is ever replaced or removed.
    """
    wanted = {_place(note): render(note).encode() for note in sorted(notes, key=_order)}
    try:
        earlier = _prepared(destination)
        changed = {place: data for place, data in wanted.items() if _is_different(destination, place, data, earlier)}
        if changed or earlier != wanted.keys() or not (destination / MANIFEST).exists():
            _write(destination, MANIFEST, _manifest(earlier | wanted.keys()))
            for place, data in changed.items():
                _write(destination, place, data)
            for place in sorted(earlier - wanted.keys()):
                _remove(destination, place)
            _write(destination, MANIFEST, _manifest(wanted.keys()))
    except OSError as trouble:
        raise StorageError(f"{destination}: the export could not be written: {trouble.strerror or trouble}") from trouble
    return len(wanted)


def export_lines(notes: Iterable[Note]) -> Iterator[str]:
    """Every note with all its fields as a line of JSON, without the line's end, in the order of their keys."""
    return map(_line, sorted(notes, key=_order))


def note_from_line(line: str) -> Note:
    """The note that a line of an export stands for."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        raise UsageError("not JSON") from None
    if not isinstance(record, dict) or not record.keys() >= MARKS:
        raise UsageError("not a note", hint=f"a line of an export has {', '.join(sorted(MARKS))}")
    return note_from_record(record)


def note_from_record(record: Mapping[str, Any]) -> Note:
    """The same for a line that is read already. Fields that are not known are left out: a later version may have more."""
    texts = {name: _text(record[name], name) for name in _TEXTS if name in record}
    times = {name: _time(record[name], name) for name in _TIMES if record.get(name) is not None}
    tags = tuple(_text(tag, "tags") for tag in _list(record, "tags"))
    about = tuple(_about(entry) for entry in _list(record, "about"))
    other = tuple(_pair(entry) for entry in _list(record, "other"))
    note = Note(**texts, **times, tags=tags, about=about, other=other)  # type: ignore[arg-type]
    if note.kind not in KINDS:
        raise UsageError(f"unknown kind {_shown(note.kind)}", hint=f"one of {', '.join(KINDS)}")
    _place(note)
    return note


def _order(note: Note) -> tuple[str, str]:
    return note.key, _line(note)


def _line(note: Note) -> str:
    return json.dumps(asdict(note), sort_keys=True, ensure_ascii=True, default=_spelled)


def _spelled(moment: datetime) -> str:
    return f"{moment.astimezone(timezone.utc):%Y-%m-%dT%H:%M:%S}Z".rjust(20, "0")  # a year has four digits


def _shown(value: object) -> str:
    shown = ascii(value)
    return shown if len(shown) <= 80 else f"{shown[:77]}..."


def _text(value: object, name: str) -> str:
    if not isinstance(value, str):
        raise UsageError(f"{name}: {_shown(value)} is no text")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise UsageError(f"{name}: half a character") from None
    return value


def _time(value: object, name: str) -> datetime:
    try:
        return datetime.strptime(_text(value, name), "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=timezone.utc)
    except ValueError:
        raise UsageError(f"{name}: {_shown(value)} is no time", hint="written as 2026-11-16T10:30:00Z") from None


def _list(record: Mapping[str, Any], name: str) -> list[object]:
    value = record.get(name, [])
    if not isinstance(value, list):
        raise UsageError(f"{name}: {_shown(value)} is no list")
    return value


def _about(entry: object) -> CodeRef:
    known = {one.name for one in fields(CodeRef)}
    if not isinstance(entry, dict) or "code" not in entry:
        raise UsageError(f"about: {_shown(entry)} names no code")
    return CodeRef(**{name: _text(value, f"about.{name}") for name, value in entry.items() if name in known})


def _pair(entry: object) -> tuple[str, str]:
    if not isinstance(entry, list) or len(entry) != 2:
        raise UsageError(f"other: {_shown(entry)} is no key with its value")
    return _text(entry[0], "other"), _text(entry[1], "other")


def _place(note: Note) -> str:
    """The path of a note's file in an export. A name that could lead anywhere else is refused."""
    for name in (note.folder or GENERAL, note.slug):
        if not name or name.startswith(".") or not {"/", "\\", "\0"}.isdisjoint(name):
            raise UsageError(f"{_shown(note.key)} cannot be the name of a file")
    return f"{note.folder or GENERAL}/{note.slug}.md"


def _manifest(places: Iterable[str]) -> bytes:
    return (json.dumps({"files": sorted(places)}, indent=0) + "\n").encode()


def _prepared(destination: Path) -> set[str]:
    """What an earlier export left in a folder, which is made when it is not there."""
    if destination.exists() and not destination.is_dir():
        raise UsageError(f"{destination} is not a folder", hint="name a folder that is new or empty")
    destination.mkdir(parents=True, exist_ok=True)
    try:
        files = json.loads((destination / MANIFEST).read_bytes())["files"]
        return {place for place in files if isinstance(place, str) and _is_ours(place)}
    except FileNotFoundError:
        if all(name in _OVERLOOKED for name in os.listdir(destination)):  # noqa: PTH208  -- names are enough
            return set()
        raise UsageError(f"{destination} is not empty and no export", hint="name a folder that is new or empty") from None
    except (ValueError, KeyError, TypeError, RecursionError):
        raise UsageError(f"{destination / MANIFEST} cannot be read", hint="remove the folder, or export to another one") from None


def _is_ours(place: str) -> bool:
    """Whether a path that a manifest lists is one that an export can have written: the list may have been edited."""
    folder, _, name = place.partition("/")
    return bool(folder) and name.endswith(".md") and not folder.startswith(".") and {"/", "\\", "\0"}.isdisjoint(folder + name)


def _is_different(destination: Path, place: str, data: bytes, earlier: set[str]) -> bool:
    """Whether a file has to be written. One that is there and was not exported is not replaced."""
    path = destination / place
    if path.parent.is_symlink():
        raise UsageError(f"{path.parent} leads out of the export", hint="remove the link")
    try:
        found = path.lstat()
    except FileNotFoundError:
        return True
    same = stat.S_ISREG(found.st_mode) and found.st_size == len(data) and path.read_bytes() == data
    if not same and place not in earlier:
        raise UsageError(f"{path} is in the way: it was not exported", hint="move it away, or export to another folder")
    return not same


def _write(destination: Path, place: str, data: bytes) -> None:
    path, half = destination / place, destination / _HALF_WRITTEN
    path.parent.mkdir(exist_ok=True)
    half.unlink(missing_ok=True)  # it may be a link by now
    half.write_bytes(data)
    half.replace(path)


def _remove(destination: Path, place: str) -> None:
    path = destination / place
    if path.parent.is_symlink():
        return
    path.unlink(missing_ok=True)
    if path.parent.is_dir() and not any(path.parent.iterdir()):
        path.parent.rmdir()

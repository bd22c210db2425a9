"""Export: notes as a folder of Markdown files or as JSON lines. The same notes give the same bytes."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, fields, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from whence.core.errors import StorageError, UsageError, WhenceError
from whence.memory.front_matter import render
from whence.memory.memory import Memory
from whence.memory.note import GENERAL, KINDS, TIMES, CodeRef, Note
from whence.storage.files import ABANDONED_SECONDS, part_file, remove_abandoned, storage_errors
from whence.text.secrets import find_secrets, redact_secrets

#: Lists the files of an export, and marks its folder as one.
MANIFEST = ".whence-export"
LINES = ".jsonl"
#: Every exported line has these keys; a line without them is not a note.
MARKS = frozenset(("folder", "kind", "slug", "text"))

_TEXTS = ("text", "slug", "project", "topic", "kind", "source", "folder")
_PARTIAL = f"{MANIFEST}.tmp"
#: A folder with nothing else counts as empty: exports are often kept under version control.
_IGNORED = frozenset((".git", _PARTIAL))


def export_notes(memory: Memory, destination: Path, *, project: str | None = None, archived: bool = True) -> int:
    """Export notes to a folder of Markdown or a `.jsonl` file; returns how many. Without notes nothing is written.

    Secrets are left out. `memory.remarks` says what could not be exported as it is.
    """
    if destination.resolve().is_relative_to(memory.directory.resolve()):
        raise UsageError(f"{destination} is inside the notes folder", hint="export to another place")
    notes = list(exported_notes(memory, project=project, archived=archived))
    if not notes:
        return 0
    if destination.suffix.lower() != LINES:
        return write_folder(notes, destination)
    text = "".join(f"{line}\n" for line in lines_of(notes))
    with storage_errors("write", str(destination)):
        destination.parent.mkdir(parents=True, exist_ok=True)
        with part_file(destination.parent, text.encode()) as part:
            part.replace(destination)
        remove_abandoned(destination.parent, destination.stat().st_mtime - ABANDONED_SECONDS)
    return len(notes)


def exported_notes(memory: Memory, *, project: str | None = None, archived: bool = True) -> Iterator[Note]:
    """The notes to export, without secrets, by key. Files above `memory.max_bytes` are read whole."""
    memory.index.refresh(full=True)
    for one in memory.index.database.notes():
        if project not in (None, one.project) or (one.archived and not archived):
            continue
        try:
            note = memory.store.read(one.key, max_bytes=one.size + memory.store.max_bytes)
        except WhenceError as error:
            memory.remarks.append(f"{one.key} was not exported: {error}")
            continue
        if note is None:
            continue
        if note.problem:
            memory.remarks.append(f"{one.key} was exported as plain text: {note.problem}")
        if find_secrets(render(note)):
            memory.remarks.append(f"{one.key} was exported without its secrets")
            note = redacted_note(note)
        yield note


def redacted_note(note: Note) -> Note:
    """A note without the secrets in its text, topic, source, tags and unknown front matter."""
    return replace(
        note,
        text=redact_secrets(note.text),
        topic=redact_secrets(note.topic),
        source=redact_secrets(note.source),
        tags=tuple(map(redact_secrets, note.tags)),
        other=tuple((name, redact_secrets(value)) for name, value in note.other),
    )


# JSON lines.
def lines_of(notes: Iterable[Note]) -> Iterator[str]:
    """Notes with all their fields as lines of JSON, by key."""
    return (line for _, line in sorted((note.key, _line(note)) for note in notes))


def note_from_line(line: str) -> Note:
    """The note in a line of an export. Unknown fields are ignored: a later version may have more."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        raise UsageError("not JSON") from None
    if not isinstance(record, dict) or not record.keys() >= MARKS:
        raise UsageError("not a note", hint=f"an exported line has {', '.join(sorted(MARKS))}")
    texts = {name: _text(record[name], name) for name in _TEXTS if name in record}
    times = {name: _time(record[name], name) for name in TIMES if record.get(name) is not None}
    tags = tuple(_text(tag, "tags") for tag in _list(record, "tags"))
    about = tuple(_code_ref(entry) for entry in _list(record, "about"))
    other = tuple(_pair(entry) for entry in _list(record, "other"))
    problem = _text(record.get("trouble", ""), "trouble")
    note = Note(**texts, **times, tags=tags, about=about, other=other, problem=problem)  # type: ignore[arg-type]
    if note.kind not in KINDS:
        raise UsageError(f"unknown kind {_quoted(note.kind)}", hint=f"one of {', '.join(KINDS)}")
    _file_name(note)
    return note


def _line(note: Note) -> str:
    record = asdict(note)
    record["trouble"] = record.pop("problem")
    return json.dumps(record, sort_keys=True, ensure_ascii=True, default=_time_json)


def _time_json(moment: datetime) -> str:
    return f"{moment.astimezone(timezone.utc):%Y-%m-%dT%H:%M:%S}Z".rjust(20, "0")  # years have four digits


def _quoted(value: object) -> str:
    quoted = ascii(value)
    return quoted if len(quoted) <= 80 else f"{quoted[:77]}..."


def _text(value: object, name: str) -> str:
    if not isinstance(value, str):
        raise UsageError(f"{name}: {_quoted(value)} is not text")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise UsageError(f"{name}: half of a surrogate pair") from None
    return value


def _time(value: object, name: str) -> datetime:
    try:
        return datetime.strptime(_text(value, name), "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=timezone.utc)
    except ValueError:
        raise UsageError(f"{name}: {_quoted(value)} is not a time", hint="write 2026-11-16T10:30:00Z") from None


def _list(record: Mapping[str, Any], name: str) -> list[object]:
    value = record.get(name, [])
    if not isinstance(value, list):
        raise UsageError(f"{name}: {_quoted(value)} is not a list")
    return value


def _code_ref(entry: object) -> CodeRef:
    known = {one.name for one in fields(CodeRef)}
    if not isinstance(entry, dict) or "code" not in entry:
        raise UsageError(f"about: {_quoted(entry)} names no code")
    return CodeRef(**{name: _text(value, f"about.{name}") for name, value in entry.items() if name in known})


def _pair(entry: object) -> tuple[str, str]:
    if not isinstance(entry, list) or len(entry) != 2:
        raise UsageError(f"other: {_quoted(entry)} is not a key with its value")
    return _text(entry[0], "other"), _text(entry[1], "other")


# A folder of Markdown.
def write_folder(notes: Iterable[Note], destination: Path) -> int:
    """Make a folder hold these notes as `<folder>/<slug>.md` and nothing of an earlier export; returns how many.

    The manifest lists old and new files before anything is written: an interrupted export is completed by the next one,
    and no file that an export did not write is ever replaced or removed.
    """
    files = {_file_name(note): render(note).encode() for note in sorted(notes, key=lambda note: (note.key, _line(note)))}
    try:
        earlier = _earlier_files(destination)
        changed = {name: data for name, data in files.items() if _differs(destination, name, data, earlier)}
        if changed or earlier != files.keys() or not (destination / MANIFEST).exists():
            _write(destination, MANIFEST, _manifest(earlier | files.keys()))
            for name, data in changed.items():
                _write(destination, name, data)
            for name in sorted(earlier - files.keys()):
                _remove(destination, name)
            _write(destination, MANIFEST, _manifest(files.keys()))
    except OSError as error:
        raise StorageError(f"{destination}: the export could not be written: {error.strerror or error}") from error
    return len(files)


def _file_name(note: Note) -> str:
    """The path of a note in an export; a name that could lead elsewhere is refused."""
    for name in (note.folder or GENERAL, note.slug):
        if not name or name.startswith(".") or not {"/", "\\", "\0"}.isdisjoint(name):
            raise UsageError(f"{_quoted(note.key)} cannot be a file name")
    return f"{note.folder or GENERAL}/{note.slug}.md"


def _manifest(names: Iterable[str]) -> bytes:
    return (json.dumps({"files": sorted(names)}, indent=0) + "\n").encode()


def _earlier_files(destination: Path) -> set[str]:
    """The files of an earlier export in a folder, which is created if needed."""
    if destination.exists() and not destination.is_dir():
        raise UsageError(f"{destination} is not a folder", hint="name a new or empty folder")
    destination.mkdir(parents=True, exist_ok=True)
    try:
        files = json.loads((destination / MANIFEST).read_bytes())["files"]
        return {name for name in files if isinstance(name, str) and _may_be_exported(name)}
    except FileNotFoundError:
        if all(name in _IGNORED for name in os.listdir(destination)):  # noqa: PTH208  -- names are enough
            return set()
        raise UsageError(f"{destination} is neither empty nor an export", hint="name a new or empty folder") from None
    except (ValueError, KeyError, TypeError, RecursionError):
        raise UsageError(f"{destination / MANIFEST} cannot be read", hint="remove the folder, or export to another one") from None


def _may_be_exported(name: str) -> bool:
    """Whether an export can have written a path: the manifest may have been edited."""
    folder, _, file = name.partition("/")
    return bool(folder) and file.endswith(".md") and not folder.startswith(".") and {"/", "\\", "\0"}.isdisjoint(folder + file)


def _differs(destination: Path, name: str, data: bytes, earlier: set[str]) -> bool:
    """Whether a file has to be written. A different one that was not exported is never replaced."""
    path = destination / name
    if path.parent.is_symlink():
        raise UsageError(f"{path.parent} leads out of the export", hint="remove the link")
    try:
        state = path.lstat()
    except FileNotFoundError:
        return True
    same = stat.S_ISREG(state.st_mode) and state.st_size == len(data) and path.read_bytes() == data
    if not same and name not in earlier:
        raise UsageError(f"{path} is in the way: it is not part of the export", hint="move it away, or export to another folder")
    return not same


def _write(destination: Path, name: str, data: bytes) -> None:
    path, partial = destination / name, destination / _PARTIAL
    path.parent.mkdir(exist_ok=True)
    partial.unlink(missing_ok=True)  # it may be a link by now
    partial.write_bytes(data)
    partial.replace(path)


def _remove(destination: Path, name: str) -> None:
    path = destination / name
    if path.parent.is_symlink():
        return
    path.unlink(missing_ok=True)
    if path.parent.is_dir() and not any(path.parent.iterdir()):
        path.parent.rmdir()

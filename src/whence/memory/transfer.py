"""Export and import of notes.

An export is a folder of Markdown files or a file of JSON lines; the same notes give the same bytes. An import turns Markdown
files, conversations and exports into notes: a source is first read into drafts, the same each time; each draft then finds
its place among the notes. Repeating an import changes nothing.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields, replace
from datetime import datetime, timezone
from itertools import chain, count, takewhile
from pathlib import Path
from typing import Any, BinaryIO

from whence.core.errors import StorageError, UsageError, WhenceError
from whence.core.request import check_choice
from whence.memory.front_matter import FENCE, normalized, parse, render
from whence.memory.memory import Memory
from whence.memory.note import GENERAL, KINDS, TIMES, CodeRef, Note
from whence.memory.transcripts import TranscriptSession, sessions_in, sessions_of, split_session, text_of
from whence.storage.files import ABANDONED_SECONDS, part_file, remove_abandoned, storage_errors
from whence.text.secrets import find_secrets, redact_secrets
from whence.text.slugs import checksum, first_words, normalize_topic, project_folder, topic_slugs

#: Lists the files of an export, and marks its folder as one.
MANIFEST = ".whence-export"
LINES = ".jsonl"
#: Every exported line has these keys; a line without them is not a note.
MARKS = frozenset(("folder", "kind", "slug", "text"))

_TEXTS = ("text", "slug", "project", "repository", "topic", "kind", "source", "folder")
_PARTIAL = f"{MANIFEST}.tmp"
#: A folder with nothing else counts as empty: exports are often kept under version control.
_IGNORED = frozenset((".git", _PARTIAL))
#: JSON documents up to this size are parsed whole; longer ones are read as JSON lines.
MAX_DOCUMENT = 64 << 20
#: Only the start of a longer line is read, which is not valid JSON.
MAX_LINE = 32 << 20
#: Bytes of a note that are reserved for front matter when a conversation is split.
FRONT_MATTER = 4_000
#: Characters of a heading that make a topic.
MAX_TOPIC = 200

_MARKDOWN = (".md", ".markdown")
_MAX_SECRETS = 5
_HEADING = re.compile(r" {0,3}#{1,6}[ \t]+(\S.*)")
_CODE_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_KEY = re.compile(r"([a-z_]+):")

Progress = Callable[[int, int], None]


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


# Import.
@dataclass(frozen=True, slots=True)
class NoteDraft:
    """A note to be stored, and the file it came from. Its slug is empty unless it was exported."""

    note: Note
    origin: str
    fallback_topic: str = ""  # used when a note from another source has its topic


@dataclass(frozen=True, slots=True)
class ImportSummary:
    """What an import did."""

    new: int
    changed: int
    unchanged: int
    problems: list[str]  # a line for everything that was not imported, or not as it was
    keys: list[str]  # of new and changed notes, in the order of the files


@dataclass(frozen=True, slots=True)
class _ImportOptions:
    project: str
    topic: str
    kind: str | None
    max_bytes: int
    is_file: bool  # a single file is imported
    is_export: bool  # the folder is an export


def import_notes(
    memory: Memory,
    path: Path,
    *,
    project: str = "",
    topic: str = "",
    kind: str | None = None,
    redact: bool = False,
    now: datetime,
    progress: Progress | None = None,
) -> ImportSummary:
    """Import a file or a folder; what cannot be imported is reported, the rest is imported.

    A note from the same source is replaced and keeps what was added here: its tags, its code, and its place in the
    archive while its text is unchanged. A note from another source is never replaced because of its topic.
    """
    if path.resolve().is_relative_to(memory.directory.resolve()):
        raise UsageError(f"{path} is inside the notes folder", hint="notes in it need no import")
    drafts, problems = drafts_of(path, project=project, topic=topic, kind=kind, max_bytes=memory.store.max_bytes)
    memory.index.refresh(full=True)
    keys = []
    new = changed = unchanged = 0
    for number, draft in enumerate(drafts, 1):
        try:
            note, before = _place(memory, _checked(draft, path, now, redact=redact), now, kind)
            if before is not None and replace(note, updated=before.updated) == before:
                unchanged += 1
            else:
                keys.append(memory.write(note, expected=before).key)
                new, changed = new + (before is None), changed + (before is not None)
        except UsageError as error:
            problems.append(f"{draft.origin}: {error}")
        if progress is not None:
            progress(number, len(drafts))
    return ImportSummary(new, changed, unchanged, problems, keys)


# Checking a draft.
def _checked(draft: NoteDraft, path: Path, now: datetime, *, redact: bool) -> NoteDraft:
    """A draft that may be stored: it has text and a date, and no secrets."""
    note = draft.note
    if not note.text.strip():
        raise UsageError("it has no text")
    if not note.slug and note.created is None:
        note = replace(note, created=_mtime(_file_of(path, draft.origin), now))
    if not find_secrets(render(note)):
        return replace(draft, note=normalized(note))
    if not redact:
        raise UsageError(f"contains what looks like a secret ({_secrets_in(draft, path)}); not stored", hint="--redact stores it without")
    clean = redacted_note(note)
    if find_secrets(render(clean)):
        raise UsageError("contains what looks like a secret in a field that cannot be redacted; not stored")
    return replace(draft, note=normalized(clean), fallback_topic=redact_secrets(draft.fallback_topic))


def _secrets_in(draft: NoteDraft, path: Path) -> str:
    """The secrets in a draft and their lines: those of its file, where these are the lines of the note."""
    file, where = _file_of(path, draft.origin), ""
    found = []
    if file.suffix.lower() in _MARKDOWN:
        with storage_errors("read", str(file)):
            found = find_secrets(file.read_text(encoding="utf-8-sig", errors="replace"))
    if not found:
        found, where = find_secrets(draft.note.text) or find_secrets(render(draft.note)), " of its text"
    return ", ".join(f"line {one.line}{where}: {one.kind}" for one in found[:_MAX_SECRETS])


def _file_of(path: Path, origin: str) -> Path:
    """The file of a draft. An origin is its name, which may be followed by a place in the file."""
    name = origin
    while path.is_dir() and name and not (path / name).is_file():
        name = max((name.rpartition(mark)[0] for mark in (": ", ", line ")), key=len)
    return path / name if path.is_dir() else path


def _mtime(file: Path, now: datetime) -> datetime:
    try:
        return min(datetime.fromtimestamp(file.stat().st_mtime, timezone.utc), now)
    except (OSError, ValueError, OverflowError):
        return now


# Placing a draft among the notes.
def _place(memory: Memory, draft: NoteDraft, now: datetime, kind: str | None) -> tuple[Note, Note | None]:
    """The note that a draft becomes, and the note that it replaces, if any."""
    if draft.note.slug:
        return _place_exported(memory, draft.note)
    note = memory.owned(replace(draft.note, folder=_folder_of(draft.note.project)))
    fallback = draft.fallback_topic
    for topic in chain((note.topic, fallback), (f"{fallback} {number}" for number in count(2))):
        before = _note_with_topic(memory, replace(note, topic=topic))
        if before is None:
            return replace(note, topic=topic, updated=note.updated or note.created), None
        if before.source == note.source:
            return _updated(replace(note, topic=topic), before, now, kind), before
    raise AssertionError("there is always another topic")


def _updated(note: Note, before: Note, now: datetime, kind: str | None) -> Note:
    """A note that is imported again, with what was added to it here."""
    return normalized(
        replace(
            note,
            slug=before.slug,
            folder=before.folder,
            kind=note.kind if kind else before.kind,
            tags=tuple(dict.fromkeys((*before.tags, *note.tags))),
            created=before.created or note.created,
            updated=note.updated or now,
            valid_from=note.valid_from or before.valid_from,
            valid_until=note.valid_until or before.valid_until,
            about=note.about or before.about,
            archived=before.archived if before.text == note.text else None,
            other=note.other or before.other,
        )
    )


def _place_exported(memory: Memory, note: Note) -> tuple[Note, Note | None]:
    """The same for an exported note, which keeps its name unless another note has it here."""
    same_name = memory.store.read(note.key)
    before = same_name if same_name and _is_version_of(same_name, note) else _note_with_topic(memory, note)
    if before is None and same_name is not None:
        mark = checksum(f"{note.created or note.text}\n{normalize_topic(note.topic)}")
        note = replace(note, slug=f"{note.slug}-{mark}")
        before = memory.store.read(note.key)
    if before is None:
        return note, None
    note = replace(note, slug=before.slug, folder=before.folder)
    if replace(note, updated=before.updated) != before and _last_change(before) > _last_change(note):
        raise UsageError(f"{before.key} has a newer version here ({_last_change(before)[:10]}); not replaced")
    return note, before


def _is_version_of(one: Note, other: Note) -> bool:
    """Whether two notes with the same name are versions of one note."""
    if one.problem:
        return False
    same_time, same_topic = one.created == other.created, normalize_topic(one.topic) == normalize_topic(other.topic)
    return one.text == other.text or bool(one.created and same_time) or bool(one.topic and same_topic)


def _last_change(note: Note) -> str:
    return max(moment.isoformat() if moment else "" for moment in (note.created, note.updated, note.archived))


def _note_with_topic(memory: Memory, wanted: Note) -> Note | None:
    topic = wanted.topic
    usual = [f"{wanted.folder}/{slug}" for slug in topic_slugs(topic)]
    keys = sorted((key for key, _ in memory.replaceable(wanted)), key=lambda key: (key not in usual, key))
    notes = map(memory.store.read, keys)
    return next((note for note in notes if note and not note.problem and normalize_topic(note.topic) == normalize_topic(topic)), None)


# Reading drafts.
def drafts_of(path: Path, *, project: str, topic: str, kind: str | None, max_bytes: int) -> tuple[list[NoteDraft], list[str]]:
    """The drafts in a file, or in a folder and everything below it, and a line for everything that could not be imported.

    Exported notes keep their project and kind.
    """
    check_choice("kind", kind, KINDS)
    is_file = not os.path.isdir(path)  # noqa: PTH112  -- pathlib raises on odd names
    if is_file and not os.path.isfile(path):  # noqa: PTH113
        raise UsageError(f"{path}: no such file or folder")
    options = _ImportOptions(project, topic, kind, max_bytes, is_file, not is_file and os.path.isfile(path / MANIFEST))  # noqa: PTH113
    if is_file and path.suffix.lower() not in _READERS:
        raise UsageError(f"{path}: this format cannot be imported", hint=f"one of {', '.join(_READERS)}, or a folder with such files")
    drafts, problems = list[NoteDraft](), list[str]()
    for file, name in [(path, path.name)] if is_file else _files(path, problems):
        try:
            drafts.extend(_READERS[file.suffix.lower()](file, name, options, problems))
        except OSError as error:
            problems.append(f"{name}: {error.strerror or error}")
    return _with_distinct_topics(drafts, options), problems


def _files(folder: Path, problems: list[str]) -> Iterator[tuple[Path, str]]:
    """The importable files below a folder, with their relative paths. Hidden files and links are skipped."""

    def unreadable(error: OSError) -> None:
        problems.append(f"{error.filename}: {error.strerror}")

    found = []
    for inside, folders, names in os.walk(folder, onerror=unreadable):
        folders[:] = [name for name in folders if not name.startswith(".")]
        found += [Path(inside, name) for name in names if not name.startswith(".") and Path(name).suffix.lower() in _READERS]
    for file in sorted(found):
        name = file.relative_to(folder).as_posix()
        try:
            name.encode()
            if stat.S_ISREG(file.lstat().st_mode):
                yield file, name
        except UnicodeEncodeError:
            problems.append(f"{name!r}: its name is not UTF-8")
        except OSError:  # removed meanwhile
            continue


def _folder_of(project: str) -> str:
    return project_folder(project) if project else GENERAL


# Markdown.
def _markdown(file: Path, name: str, options: _ImportOptions, problems: list[str]) -> Iterator[NoteDraft]:
    with file.open("rb") as stream:
        data = stream.read(options.max_bytes + 1)
    if problem := _not_text(data, options.max_bytes):
        problems.append(f"{name}: {problem}")
        return
    folder = name.partition("/")[0] if options.is_export and name.count("/") == 1 else GENERAL
    note = parse(data, folder=folder, slug=file.stem)
    if note.problem:
        problems.append(f"{name}: {note.problem}; imported as plain text")
        note = Note(data.decode("utf-8-sig"), slug="")
    elif _is_exported(data, note, options):
        yield NoteDraft(replace(note, folder=folder if options.is_export else _folder_of(note.project)), name)
        return
    project = options.project or note.project
    topic = (note.topic or _heading(note.text) or file.stem)[:MAX_TOPIC]
    kind, source = options.kind or "resource", note.source or name
    note = replace(note, slug="", project=project, folder=_folder_of(project), topic=topic, kind=kind, source=source)
    yield NoteDraft(note, name, fallback_topic=f"{topic} ({name})")


def _not_text(data: bytes, max_bytes: int) -> str:
    """Why some bytes cannot be a note; empty if they can."""
    if len(data) > max_bytes:
        return _too_large(max_bytes)
    if not data.strip():
        return "empty"
    if b"\0" in data:
        return "binary"
    try:
        data.decode()
    except UnicodeDecodeError as error:
        return f"not UTF-8 (byte {error.start})"
    return ""


def _too_large(max_bytes: int) -> str:
    return f"larger than {max_bytes} bytes (memory.max_bytes)"


def _is_exported(data: bytes, note: Note, options: _ImportOptions) -> bool:
    """Whether whence wrote a file: its front matter has a `kind`, and is in an export, dated, or exactly as we write it."""
    lines = iter(data.decode("utf-8-sig").splitlines())
    if next(lines, "").rstrip() != FENCE:
        return False
    keys = {found[1] for line in takewhile(lambda line: line.rstrip() != FENCE, lines) if (found := _KEY.match(line))}
    return "kind" in keys and (options.is_export or "created" in keys or render(note).encode() == data)


def _heading(text: str) -> str:
    """The first heading outside code blocks."""
    fence = ""
    for line in text.splitlines():
        mark = _CODE_FENCE.match(line)
        if mark and (not fence or mark[1].startswith(fence)):
            fence = "" if fence else mark[1]
        elif not fence and (found := _HEADING.fullmatch(line)):
            title, marks, after = found[1].rstrip().rpartition(" #")
            return title.rstrip() if marks and not after.strip("#") else found[1].rstrip()
    return ""


# Conversations, and exports as JSON lines.
def _lines_file(file: Path, name: str, options: _ImportOptions, problems: list[str]) -> Iterator[NoteDraft]:
    with file.open("rb") as stream:
        first = _json(next((line for line in _lines(stream) if line.strip()), b""))
    with file.open("rb") as stream:
        if isinstance(first, dict) and first.keys() >= MARKS:
            yield from _exported_lines(_lines(stream), name, options, problems)
        else:
            yield from _sessions(*sessions_of(_lines(stream), name=_stem(name)), name, options, problems)


def _document(file: Path, name: str, options: _ImportOptions, problems: list[str]) -> Iterator[NoteDraft]:
    """One JSON document, or JSON lines under its name. Documents in a folder that are no conversations are not reported."""
    with file.open("rb") as stream:
        data = stream.read(MAX_DOCUMENT + 1)
    document = _json(data)
    if document is not _NOT_JSON:
        found, skipped = sessions_in(document, name=_stem(name))
        if found or options.is_file:
            yield from _sessions(found, skipped, name, options, problems)
    elif _json(data.lstrip()[:MAX_LINE].split(b"\n", 1)[0]) is not _NOT_JSON:
        yield from _lines_file(file, name, options, problems)
    elif options.is_file:
        problems.append(f"{name}: not JSON")


def _lines(stream: BinaryIO) -> Iterator[bytes]:
    while line := stream.readline(MAX_LINE):
        yield line
        while len(line) == MAX_LINE and not line.endswith(b"\n"):
            line = stream.readline(MAX_LINE)


_NOT_JSON = object()


def _json(data: bytes) -> object:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return _NOT_JSON


def _stem(name: str) -> str:
    return name.rpartition(".")[0]


def _exported_lines(lines: Iterator[bytes], name: str, options: _ImportOptions, problems: list[str]) -> Iterator[NoteDraft]:
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        origin = f"{name}, line {number}"
        try:
            note = note_from_line(line.decode("utf-8-sig"))
        except (UsageError, UnicodeDecodeError) as error:
            problems.append(f"{origin}: {'not UTF-8' if isinstance(error, UnicodeDecodeError) else error}")
            continue
        if len(note.text.encode()) > options.max_bytes:
            problems.append(f"{origin}: {_too_large(options.max_bytes)}")
        else:
            yield NoteDraft(replace(note, problem=""), origin)


def _sessions(
    sessions: list[TranscriptSession], skipped: list[str], name: str, options: _ImportOptions, problems: list[str]
) -> Iterator[NoteDraft]:
    problems += [f"{name}, {line}" for line in skipped]
    if options.is_file and not sessions and not skipped:
        problems.append(f"{name}: no conversation in it")
    room = max(options.max_bytes - FRONT_MATTER, options.max_bytes // 2)
    for session in sessions:
        project, topic = options.project or session.project, _session_topic(session, _stem(name))
        origin = f"{name}: {session.identity}" if session.identity else name
        note = Note("", slug="", project=project, folder=_folder_of(project), kind=options.kind or "session", source=origin)
        for number, part in enumerate(split_session(session, room), 1):
            text, own = text_of(part), topic if number == 1 else f"{topic}, part {number}"
            if len(text.encode()) > options.max_bytes:
                problems.append(f"{origin}: a turn {_too_large(options.max_bytes)}")
                continue
            last = next((turn.at for turn in reversed(part.turns) if turn.at), None)
            made = replace(note, text=text, topic=own, created=part.began, updated=last)
            yield NoteDraft(made, origin, fallback_topic=f"{own} ({name})")


def _session_topic(session: TranscriptSession, name: str) -> str:
    """A topic that stays when turns or a title are added, so that another import replaces the note."""
    identity = session.identity
    if not identity:
        return name
    if len(identity) < 20:  # a name that somebody gave
        return f"{name}: {identity}"
    start = first_words(session.turns[0].text) or name
    return f"{start} ({identity[-8:]})"  # the end: time-based identities start alike


def _with_distinct_topics(drafts: list[NoteDraft], options: _ImportOptions) -> list[NoteDraft]:
    """The same drafts with `--topic` applied; of two with the same topic the first keeps it."""
    several = len(drafts) > 1 or not options.is_file
    taken = {_topic_key(draft.note.folder, draft.note.topic) for draft in drafts if draft.note.slug}
    made = []
    for draft in drafts:
        note, fallback = draft.note, draft.fallback_topic
        if not note.slug:
            prefix = f"{options.topic}: " if options.topic and several else ""
            topic, fallback = prefix + note.topic if prefix or not options.topic else options.topic, prefix + fallback
            tries = 1
            while _topic_key(note.folder, topic) in taken:
                topic, tries = fallback if tries == 1 else f"{fallback} {tries}", tries + 1
            taken.add(_topic_key(note.folder, topic))
            draft = replace(draft, note=replace(note, topic=topic), fallback_topic=fallback)  # noqa: PLW2901
        made.append(draft)
    return made


def _topic_key(folder: str, topic: str) -> tuple[str, str]:
    return folder, " ".join(topic.casefold().split())


_READERS: dict[str, Callable[[Path, str, _ImportOptions, list[str]], Iterator[NoteDraft]]] = {
    ".md": _markdown,
    ".markdown": _markdown,
    ".jsonl": _lines_file,
    ".json": _document,
}

"""What can be taken in? Markdown files, conversations, and what was exported: drafts of notes, the same each time."""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import takewhile
from pathlib import Path
from typing import BinaryIO

from whence.core.errors import UsageError
from whence.memory.exporter import MANIFEST, MARKS, note_from_line
from whence.memory.front_matter import FENCE, parse, render
from whence.memory.note import GENERAL, KINDS, Note
from whence.memory.transcripts import TranscriptSession, parts_of, sessions_in, sessions_of, text_of
from whence.text.slugs import first_words, project_folder

#: A JSON document is read as a whole up to this size. Lines of a longer one are read as JSON lines.
LARGEST_DOCUMENT = 64 << 20
#: What is longer is no line of a conversation; its beginning is read, and is not JSON.
LONGEST_LINE = 32 << 20
#: Front matter has this much of the room that a note has, when a conversation is cut into parts.
FRONT_MATTER = 4_000
#: More of a heading is no topic any more.
LONGEST_TOPIC = 200

_HEADING = re.compile(r" {0,3}#{1,6}[ \t]+(\S.*)")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_KEY = re.compile(r"([a-z_]+):")


@dataclass(frozen=True, slots=True)
class NoteDraft:
    """A note that is to be stored, and the file it came from.

    Its slug is empty when a name is to be found for it; a note that was exported has kept its own.
    """

    note: Note
    origin: str
    apart: str = ""  # the topic to give it when a note from elsewhere has its topic already


@dataclass(frozen=True, slots=True)
class ImportedNotes:
    """Everything that was found, and a line for everything that could not be taken."""

    drafts: list[NoteDraft] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _DraftFields:
    project: str
    topic: str
    kind: str | None
    most_bytes: int
    alone: bool  # one file was asked for
    exported: bool  # the folder is an export


def incoming(path: Path, *, project: str, topic: str, kind: str | None, most_bytes: int) -> ImportedNotes:
    """What a file, or a folder with all that is below it, has for memory. Importing it again gives the same drafts.

    Notes that whence exported keep every field they have, whatever project and kind are asked for.
    """
    if kind is not None and kind not in KINDS:
        raise UsageError(f"unknown kind {kind!r}", hint=f"one of {', '.join(KINDS)}")
    found = ImportedNotes()
    alone = not os.path.isdir(path)  # noqa: PTH112  -- answers, where pathlib would raise
    if alone and not os.path.isfile(path):  # noqa: PTH113
        raise UsageError(f"{path}: no such file or folder")
    if alone and path.suffix.lower() not in _READERS:
        raise UsageError(f"{path}: cannot be imported", hint=f"one of {', '.join(_READERS)}, or a folder with such files")
    wish = _DraftFields(project, topic, kind, most_bytes, alone, not alone and os.path.isfile(path / MANIFEST))  # noqa: PTH113
    for file, name in [(path, path.name)] if alone else _files(path, found.problems):
        try:
            found.drafts.extend(_READERS[file.suffix.lower()](file, name, wish, found.problems))
        except OSError as trouble:
            found.problems.append(f"{name}: {trouble.strerror or trouble}")
    return ImportedNotes(_distinct(found.drafts, wish), found.problems)


def _files(folder: Path, problems: list[str]) -> Iterator[tuple[Path, str]]:
    """The files below a folder that can be read, with their paths in it. What is hidden and what is a link is passed over."""

    def unreadable(trouble: OSError) -> None:
        problems.append(f"{trouble.filename}: {trouble.strerror}")

    found = []
    for inside, folders, names in os.walk(folder, onerror=unreadable):
        folders[:] = [name for name in folders if not name.startswith(".")]
        found += [Path(inside, name) for name in names if not name.startswith(".") and Path(name).suffix.lower() in _READERS]
    for file in sorted(found):
        name = file.relative_to(folder).as_posix()
        if not _is_text(name):
            problems.append(f"{name!r}: a name that is not UTF-8")
        elif _is_regular(file):
            yield file, name


def _is_regular(file: Path) -> bool:
    try:
        return stat.S_ISREG(file.lstat().st_mode)
    except OSError:  # gone since
        return False


def _is_text(name: str) -> bool:
    try:
        return bool(name.encode())
    except UnicodeEncodeError:
        return False


# Markdown


def _markdown(file: Path, name: str, wish: _DraftFields, problems: list[str]) -> Iterator[NoteDraft]:
    with file.open("rb") as stream:
        data = stream.read(wish.most_bytes + 1)
    trouble = _unfit(data, wish)
    if trouble:
        problems.append(f"{name}: {trouble}")
        return
    folder = name.partition("/")[0] if wish.exported and name.count("/") == 1 else GENERAL
    note = parse(data, folder=folder, slug=file.stem)
    if note.trouble:
        problems.append(f"{name}: {note.trouble}; kept whole as text")
        note = Note(data.decode("utf-8-sig"), slug="")
    elif _is_ours(data, note, wish):
        yield NoteDraft(replace(note, folder=folder if wish.exported else _folder_of(note.project)), name)
        return
    project = wish.project or note.project
    topic = (note.topic or _heading(note.text) or file.stem)[:LONGEST_TOPIC]
    kind, source = wish.kind or "resource", note.source or name
    note = replace(note, slug="", project=project, folder=_folder_of(project), topic=topic, kind=kind, source=source)
    yield NoteDraft(note, name, apart=f"{topic} ({name})")


def _unfit(data: bytes, wish: _DraftFields) -> str:
    """Why some bytes are no note; empty when they are one."""
    if len(data) > wish.most_bytes:
        return f"larger than {wish.most_bytes} bytes (memory.max_bytes)"
    if not data.strip():
        return "empty"
    if b"\0" in data:
        return "binary"
    try:
        data.decode()
    except UnicodeDecodeError as trouble:
        return f"not UTF-8 (byte {trouble.start})"
    return ""


def _is_ours(data: bytes, note: Note, wish: _DraftFields) -> bool:
    """Whether whence wrote a file: its front matter has one of our kinds, and is in an export, dated, or just as we write it."""
    lines = iter(data.decode("utf-8-sig").splitlines())
    if next(lines, "").rstrip() != FENCE:
        return False
    keys = {found[1] for line in takewhile(lambda line: line.rstrip() != FENCE, lines) if (found := _KEY.match(line))}
    return "kind" in keys and (wish.exported or "created" in keys or render(note).encode() == data)


def _heading(text: str) -> str:
    """The first heading that is not inside a block of code."""
    fence = ""
    for line in text.splitlines():
        mark = _FENCE.match(line)
        if mark and (not fence or mark[1].startswith(fence)):
            fence = "" if fence else mark[1]
        elif not fence and (found := _HEADING.fullmatch(line)):
            title, marks, after = found[1].rstrip().rpartition(" #")
            return title.rstrip() if marks and not after.strip("#") else found[1].rstrip()
    return ""


def _folder_of(project: str) -> str:
    return project_folder(project) if project else GENERAL


# Conversations, and notes as lines


def _lines_file(file: Path, name: str, wish: _DraftFields, problems: list[str]) -> Iterator[NoteDraft]:
    with file.open("rb") as stream:
        exported = _is_note(next((line for line in _lines(stream) if line.strip()), b""))
    with file.open("rb") as stream:
        if exported:
            yield from _exported_lines(_lines(stream), name, wish, problems)
        else:
            yield from _sessions(*sessions_of(_lines(stream), name=_bare(name)), name, wish, problems)


def _document(file: Path, name: str, wish: _DraftFields, problems: list[str]) -> Iterator[NoteDraft]:
    """One JSON document, or JSON lines under its name. A folder may hold many that are no conversations: these are not named."""
    with file.open("rb") as stream:
        data = stream.read(LARGEST_DOCUMENT + 1)
    try:
        read = sessions_in(json.loads(data), name=_bare(name))
    except (ValueError, RecursionError):
        first = data.lstrip()[:LONGEST_LINE].split(b"\n", 1)[0]
        if _is_json(first):
            yield from _lines_file(file, name, wish, problems)
        elif wish.alone:
            problems.append(f"{name}: not JSON")
        return
    if read[0] or wish.alone:
        yield from _sessions(*read, name, wish, problems)


def _lines(stream: BinaryIO) -> Iterator[bytes]:
    while line := stream.readline(LONGEST_LINE):
        yield line
        while len(line) == LONGEST_LINE and not line.endswith(b"\n"):
            line = stream.readline(LONGEST_LINE)


def _bare(name: str) -> str:
    return name.rpartition(".")[0]


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def _is_note(line: bytes) -> bool:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(record, dict) and record.keys() >= MARKS


def _exported_lines(lines: Iterator[bytes], name: str, wish: _DraftFields, problems: list[str]) -> Iterator[NoteDraft]:
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            note = note_from_line(line.decode("utf-8-sig"))
        except (UsageError, UnicodeDecodeError) as trouble:
            problems.append(f"{name}, line {number}: {'not UTF-8' if isinstance(trouble, UnicodeDecodeError) else trouble}")
            continue
        if len(note.text.encode()) > wish.most_bytes:
            problems.append(f"{name}, line {number}: larger than {wish.most_bytes} bytes (memory.max_bytes)")
        else:
            yield NoteDraft(replace(note, trouble=""), f"{name}, line {number}")


def _sessions(
    sessions: list[TranscriptSession], trouble: list[str], name: str, wish: _DraftFields, problems: list[str]
) -> Iterator[NoteDraft]:
    problems += [f"{name}, {line}" for line in trouble]
    if wish.alone and not sessions and not trouble:
        problems.append(f"{name}: no conversation in it")
    room = max(wish.most_bytes - FRONT_MATTER, wish.most_bytes // 2)
    for session in sessions:
        project, topic = wish.project or session.project, _topic_of(session, _bare(name))
        origin = f"{name}: {session.identity}" if session.identity else name
        note = Note("", slug="", project=project, folder=_folder_of(project), kind=wish.kind or "session", source=origin)
        for number, part in enumerate(parts_of(session, room), 1):
            text, own = text_of(part), topic if number == 1 else f"{topic}, part {number}"
            if len(text.encode()) > wish.most_bytes:
                problems.append(f"{origin}: a turn larger than {wish.most_bytes} bytes (memory.max_bytes)")
                continue
            last = next((turn.at for turn in reversed(part.turns) if turn.at), None)
            made = replace(note, text=text, topic=own, created=part.began, updated=last)
            yield NoteDraft(made, origin, apart=f"{own} ({name})")


def _topic_of(session: TranscriptSession, name: str) -> str:
    """A topic that stays when turns are added or a title is given, so that importing again replaces the note."""
    identity = session.identity
    if not identity:
        return name
    if len(identity) < 20:  # a name that somebody gave
        return f"{name}: {identity}"
    beginning = first_words(session.turns[0].text) or name
    return f"{beginning} ({identity[-8:]})"  # the end: identities made of the time begin alike


def _distinct(drafts: list[NoteDraft], wish: _DraftFields) -> list[NoteDraft]:
    """The same drafts, no two of them with one topic: the first of two keeps it."""
    several = len(drafts) > 1 or not wish.alone
    taken = {_same(draft.note.folder, draft.note.topic) for draft in drafts if draft.note.slug}
    made = []
    for draft in drafts:
        note, apart = draft.note, draft.apart
        if not note.slug:
            prefix = f"{wish.topic}: " if wish.topic and several else ""
            topic, apart = prefix + note.topic if prefix or not wish.topic else wish.topic, prefix + apart
            count = 1
            while _same(note.folder, topic) in taken:
                topic, count = apart if count == 1 else f"{apart} {count}", count + 1
            taken.add(_same(note.folder, topic))
            draft = replace(draft, note=replace(note, topic=topic), apart=apart)  # noqa: PLW2901
        made.append(draft)
    return made


def _same(folder: str, topic: str) -> tuple[str, str]:
    return folder, " ".join(topic.casefold().split())


_READERS: dict[str, Callable[[Path, str, _DraftFields, list[str]], Iterator[NoteDraft]]] = {
    ".md": _markdown,
    ".markdown": _markdown,
    ".jsonl": _lines_file,
    ".json": _document,
}

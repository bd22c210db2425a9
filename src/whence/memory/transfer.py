"""What is done with many notes at once: they are taken in, given out, and tidied up (see `tidying`)."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from itertools import chain, count
from pathlib import Path

from whence.core.errors import UsageError, WhenceError
from whence.memory.compaction import CompactionStep, apply, plan
from whence.memory.database import told
from whence.memory.exporter import export_folder, export_lines
from whence.memory.front_matter import render, settled
from whence.memory.importer import NoteDraft, incoming
from whence.memory.memory import Memory
from whence.memory.note import GENERAL, Note
from whence.storage.files import ABANDONED_SECONDS, part_file, remove_abandoned, storage_errors
from whence.text.secrets import find_secrets, redact_secrets
from whence.text.slugs import checksum, normalize_topic, project_folder, topic_slugs

__all__ = ["CompactionStep", "ImportSummary", "apply", "bring_in", "give_out", "lines", "plan"]

Progress = Callable[[int, int], None]
LINES = ".jsonl"
#: Files whose lines are those of their notes.
_MARKDOWN = (".md", ".markdown")
_NAMED_SECRETS = 5


@dataclass(frozen=True, slots=True)
class ImportSummary:
    """What came of an import."""

    new: int
    changed: int
    unchanged: int
    problems: list[str]  # a line for everything that was not taken, or not as it was
    keys: list[str]  # of what is new or changed, in the order of the files


@dataclass(frozen=True, slots=True)
class _Wish:
    path: Path
    kind: str | None
    redact: bool
    now: datetime


# Taking in.


def bring_in(
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
    """Take in what a file or a folder has; doing it again changes nothing. What cannot be taken is said, the rest is taken.

    A note that came from the same source is replaced, and keeps what was added to it here: its tags, its code, its
    place in the archive as long as it says the same. A note from elsewhere is never replaced by one of its topic.
    """
    if path.resolve().is_relative_to(memory.directory.resolve()):
        raise UsageError(f"{path} is in the folder of notes itself", hint="what lies there is found without an import")
    found = incoming(path, project=project, topic=topic, kind=kind, most_bytes=memory.settings.memory.max_bytes)
    memory.catalog.refresh(full=True)
    wish = _Wish(path, kind, redact, now)
    problems, keys = list(found.problems), []
    new = changed = unchanged = 0
    for number, draft in enumerate(found.drafts, 1):
        try:
            note, before = _placed(memory, _checked(draft, wish), wish)
            if before is not None and replace(note, updated=before.updated) == before:
                unchanged += 1
            else:
                keys.append(memory.catalog.write(note, expected=before).key)
                new, changed = new + (before is None), changed + (before is not None)
        except UsageError as trouble:
            problems.append(f"{draft.origin}: {trouble}")
        if progress is not None:
            progress(number, len(found.drafts))
    return ImportSummary(new, changed, unchanged, problems, keys)


def _checked(draft: NoteDraft, wish: _Wish) -> NoteDraft:
    """A draft that may be stored: it says something, has a date, and holds no secret (Z10)."""
    note = draft.note
    if not note.text.strip():
        raise UsageError("there is no text in it")
    if not note.slug and note.created is None:
        note = replace(note, created=_time_of(_file_of(wish.path, draft.origin), wish.now))
    if not find_secrets(render(note)):
        return replace(draft, note=settled(note))
    if not wish.redact:
        raise UsageError(f"holds what looks like a secret ({_secrets_of(draft, wish.path)}); not stored", hint="--redact stores it without")
    clean = _without_secrets(note)
    if find_secrets(render(clean)):
        raise UsageError("holds what looks like a secret, in parts that cannot be left out; not stored")
    return replace(draft, note=settled(clean), apart=_without(draft.apart))


def _without_secrets(note: Note) -> Note:
    return replace(
        note,
        text=_without(note.text),
        topic=_without(note.topic),
        source=_without(note.source),
        tags=tuple(map(_without, note.tags)),
        other=tuple((name, _without(value)) for name, value in note.other),
    )


def _without(text: str) -> str:
    return redact_secrets(text, find_secrets(text))


def _secrets_of(draft: NoteDraft, path: Path) -> str:
    """The secrets of a draft and where they are: by the lines of its file, where these are the lines of the note."""
    file, where = _file_of(path, draft.origin), ""
    found = []
    if file.suffix.lower() in _MARKDOWN:
        with storage_errors("read", str(file)):
            found = find_secrets(file.read_text(encoding="utf-8-sig", errors="replace"))
    if not found:
        found, where = find_secrets(draft.note.text) or find_secrets(render(draft.note)), " of its text"
    return ", ".join(f"line {one.line}{where}: {one.kind}" for one in found[:_NAMED_SECRETS])


def _file_of(path: Path, origin: str) -> Path:
    """The file that a draft came from. An origin is its name, and may say after it where in the file."""
    name = origin
    while path.is_dir() and name and not (path / name).is_file():
        name = max((name.rpartition(mark)[0] for mark in (": ", ", line ")), key=len)
    return path / name if path.is_dir() else path


def _time_of(file: Path, now: datetime) -> datetime:
    """When a file was last written; not later than now."""
    try:
        return min(datetime.fromtimestamp(file.stat().st_mtime, timezone.utc), now)
    except (OSError, ValueError, OverflowError):
        return now


def _placed(memory: Memory, draft: NoteDraft, wish: _Wish) -> tuple[Note, Note | None]:
    """A draft as the note that it is to be, and the one whose place it takes, if there is one."""
    if draft.note.slug:
        return _placed_by_name(memory, draft.note)
    note = replace(draft.note, folder=project_folder(draft.note.project) if draft.note.project else GENERAL)
    for topic in chain((note.topic, draft.apart), (f"{draft.apart} {number}" for number in count(2))):
        before = _of_topic(memory, note.folder, topic)
        if before is None:
            return replace(note, topic=topic, updated=note.updated or note.created), None
        if before.source == note.source:
            return _continued(replace(note, topic=topic), before, wish), before
    raise AssertionError("there is always another topic")


def _continued(note: Note, before: Note, wish: _Wish) -> Note:
    """What comes in once more, with what was added to it here."""
    return settled(
        replace(
            note,
            slug=before.slug,
            kind=note.kind if wish.kind else before.kind,
            tags=tuple(dict.fromkeys((*before.tags, *note.tags))),
            created=before.created or note.created,
            updated=note.updated or wish.now,
            valid_from=note.valid_from or before.valid_from,
            valid_until=note.valid_until or before.valid_until,
            about=note.about or before.about,
            archived=before.archived if before.text == note.text else None,
            other=note.other or before.other,
        )
    )


def _placed_by_name(memory: Memory, note: Note) -> tuple[Note, Note | None]:
    """The same for a note that was exported. It keeps its name, unless another note has that here."""
    there = _read(memory, note.key)
    before = there if there and _is_same(there, note) else _of_topic(memory, note.folder, note.topic)
    if before is None and there is not None:
        mark = checksum(f"{note.created or note.text}\n{normalize_topic(note.topic)}")
        note = replace(note, slug=f"{note.slug}-{mark}")
        before = _read(memory, note.key)
    if before is None:
        return note, None
    note = replace(note, slug=before.slug)
    if replace(note, updated=before.updated) != before and _last(before) > _last(note):
        raise UsageError(f"{before.key} was changed here since ({_last(before)[:10]}); left as it is")
    return note, before


def _is_same(one: Note, other: Note) -> bool:
    """Whether two notes of one name are versions of one note."""
    if one.trouble:
        return False
    told_apart = (one.created, one.created == other.created), (one.topic, normalize_topic(one.topic) == normalize_topic(other.topic))
    return one.text == other.text or any(known and same for known, same in told_apart)


def _last(note: Note) -> str:
    """When a note was last changed, as far as it says so."""
    return max(moment.isoformat() if moment else "" for moment in (note.created, note.updated, note.archived))


def _of_topic(memory: Memory, folder: str, topic: str) -> Note | None:
    """The note of a topic in a folder."""
    if not normalize_topic(topic):
        return None
    usual = [f"{folder}/{slug}" for slug in topic_slugs(topic)]
    keys = sorted(memory.catalog.keys_of(folder, topic), key=lambda key: (key not in usual, key))
    notes = (_read(memory, key) for key in keys)
    return next((note for note in notes if note and not note.trouble and normalize_topic(note.topic) == normalize_topic(topic)), None)


def _read(memory: Memory, key: str) -> Note | None:
    return memory.catalog.folder.read(key, most_bytes=memory.settings.memory.max_bytes)


# Giving out.


def give_out(memory: Memory, destination: Path | None, *, project: str | None = None, archived: bool = True) -> int:
    """Export notes to a folder of Markdown, to a file of JSON lines, or for None to standard output; how many there are.

    The same notes give the same bytes. Where there are none, nothing is written. Secrets stay behind (Z10), and what
    could not leave as it is is said in `memory.notes`.
    """
    if destination is not None and destination.resolve().is_relative_to(memory.directory.resolve()):
        raise UsageError(f"{destination} is in the folder of notes itself", hint="export to another place")
    notes = list(_leaving(memory, project, archived=archived))
    if not notes:
        return 0
    if destination is not None and destination.suffix.lower() != LINES:
        return export_folder(notes, destination)
    text = "".join(f"{line}\n" for line in export_lines(notes))
    if destination is None:
        sys.stdout.write(text)
        return len(notes)
    with storage_errors("write", str(destination)):
        destination.parent.mkdir(parents=True, exist_ok=True)
        with part_file(destination.parent, text.encode()) as part:
            part.replace(destination)
        remove_abandoned(destination.parent, destination.stat().st_mtime - ABANDONED_SECONDS)
    return len(notes)


def lines(memory: Memory, *, project: str | None = None, archived: bool = True) -> Iterator[str]:
    """Notes as lines of JSON, without their ends, in the order of their keys."""
    return export_lines(_leaving(memory, project, archived=archived))


def _leaving(memory: Memory, project: str | None, *, archived: bool) -> Iterator[Note]:
    """The notes that are asked for, whole, however large a person has made their files."""
    memory.catalog.refresh(full=True)
    rows = memory.catalog.store.rows("SELECT key, size, project, archived FROM notes ORDER BY key")
    keys = [(told(key), size) for key, size, whose, away in rows if project in (None, whose) and (archived or not away)]
    for key, size in keys:
        try:
            note = memory.catalog.folder.read(key, most_bytes=size + memory.settings.memory.max_bytes)
        except WhenceError as trouble:
            memory.notes.append(f"{key} was not exported: {trouble}")
            continue
        if note is None:
            continue
        if note.trouble:
            memory.notes.append(f"{key} was exported as a text without its fields: {note.trouble}")
        if find_secrets(render(note)):
            memory.notes.append(f"{key} was exported without the secrets in it")
            note = _without_secrets(note)
        yield note

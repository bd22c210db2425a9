"""Planning and writing the change of one file: our parts put in or removed. Planning writes nothing."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from whence.app.agents import json_edits
from whence.app.agents import record as records
from whence.app.agents.json_edits import Scaffold
from whence.app.agents.parts import NOT_OURS, ConfigPart, PartState
from whence.app.agents.record import InstallRecord, digest
from whence.app.agents.text_edits import EditError, Splice, TextEdit, apply_splices, invert
from whence.core.errors import StorageError, UsageError, WhenceError
from whence.storage.files import part_file, remove_if_empty

#: No configuration is longer.
MAX_BYTES = 20_000_000
NOTHING_CHANGED = "; nothing was changed"


@dataclass(frozen=True, slots=True)
class DesiredFile:
    """A file of an agent, with the parts it should hold and those it should not."""

    path: Path
    parts: tuple[ConfigPart, ...] = ()
    unwanted: tuple[ConfigPart, ...] = ()
    template: str = ""  # the content of a new file


@dataclass(frozen=True, slots=True)
class FileChange:
    """A file before and after; None is a file that does not exist."""

    path: Path  # as the agent names it
    real: Path  # with links resolved
    before: bytes | None
    after: bytes | None
    undo: tuple[Splice, ...] = ()
    scaffolds: Mapping[str, Scaffold] = field(default_factory=dict)
    created: bool = False
    folders: tuple[Path, ...] = ()
    notes: tuple[str, ...] = ()  # for the user

    @property
    def has_effect(self) -> bool:
        """Whether anything is to be done."""
        return self.before != self.after


# Reading.
def real_path(path: Path) -> Path:
    """A path with links resolved: two names of one file are one file."""
    try:
        return Path(os.path.realpath(path, strict=False))
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: cannot resolve the link: {error}") from error


def read_bytes(path: Path, *, to_write: bool = True) -> bytes | None:
    """The content of a file; None if it does not exist. Refuses anything that is not a regular (writable) file."""
    try:
        facts = path.stat()
        if not stat.S_ISREG(facts.st_mode):
            raise UsageError(f"{path} is {'a folder' if stat.S_ISDIR(facts.st_mode) else 'not a regular file'}{NOTHING_CHANGED}")
        if facts.st_size > MAX_BYTES:
            raise UsageError(f"{path} is larger than {MAX_BYTES} bytes{NOTHING_CHANGED}")
        if to_write and not os.access(path, os.W_OK):
            raise StorageError(f"{path} is not writable{NOTHING_CHANGED}", hint="check who owns it")
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise StorageError(f"{path}: {error.strerror or error}{NOTHING_CHANGED}") from error


def decode(path: Path, data: bytes) -> str:
    """The text of a file; encoding it gives the same bytes."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: line {data.count(10, 0, error.start) + 1} is not UTF-8{NOTHING_CHANGED}") from error


def refusal(path: Path, error: EditError) -> WhenceError:
    """The error that tells the user why a file cannot be edited."""
    return UsageError(f"{path}: {error.prefix}{error}{NOTHING_CHANGED}", hint="fix it by hand, then run this again")


# Planning.
def plan_parts(desired: DesiredFile, record: InstallRecord | None, *, replace_foreign: bool = False) -> FileChange:
    """The change that puts our parts into a file, with what undoes it."""
    real = real_path(desired.path)
    before = read_bytes(real)
    if before is None and desired.path.is_symlink():
        raise UsageError(f"{desired.path} is a broken link{NOTHING_CHANGED}", hint="remove it, or create its target")
    start = TextEdit(decode(desired.path, before) if before is not None else desired.template)
    try:
        return _plan_parts(desired, record, FileChange(desired.path, real, before, before), start, replace_foreign=replace_foreign)
    except EditError as error:
        raise refusal(desired.path, error) from error


def _plan_parts(
    desired: DesiredFile, record: InstallRecord | None, change: FileChange, start: TextEdit, *, replace_foreign: bool
) -> FileChange:
    edit, notes, scaffolds = start, [], dict(record.scaffolds) if record is not None else {}
    had_ours = any(part.state(start.text) not in NOT_OURS for part in (*desired.parts, *desired.unwanted))
    for part in desired.parts:
        state = part.state(edit.text)
        if state is PartState.FOREIGN:
            notes.append(f"{desired.path}: {part.name} was written by hand and is {_foreign_outcome(replace_foreign)}")
            edit = edit.then(part.put(edit.text)) if replace_foreign else edit
            continue
        if state is PartState.ABSENT:
            scaffolds[part.name] = part.scaffold(edit.text)
        # `put` refuses a blocked part: instructions must not mention a server that the agent does not have.
        edit = edit if state is PartState.SAME else edit.then(part.put(edit.text))
    for part in desired.unwanted:
        edit = edit.then(part.remove(edit.text, scaffolds.pop(part.name, None) if record is not None else None))
    undo = edit.undo
    if record is not None and change.before is not None and digest(change.before) == record.after:
        undo = (*edit.undo, *record.undo)
    elif had_ours:
        undo = invert(_without_parts(desired.parts, edit.text, scaffolds if record is not None else {}).undo)
    return replace(
        change,
        after=edit.text.encode() if change.before is not None or edit.text != desired.template else None,
        undo=undo,
        scaffolds=scaffolds,
        created=change.before is None or (record is not None and record.created),
        folders=record.folders if record is not None else (),
        notes=tuple(notes),
    )


def _foreign_outcome(replaced: bool) -> str:
    return "replaced" if replaced else "left as it is (--replace writes ours)"


def plan_removal(desired: DesiredFile, record: InstallRecord | None) -> FileChange:
    """The change that removes our parts: the file as it was before, or, if it was edited since, as it is but for our parts."""
    real = real_path(desired.path)
    before = read_bytes(real)
    change = FileChange(desired.path, real, before, before, folders=record.folders if record is not None else ())
    if before is None:
        return change
    text = decode(desired.path, before)
    if record is not None and digest(before) == record.after:
        if record.created:
            return replace(change, after=None)
        if (original := apply_splices(text, record.undo)) is not None:
            return replace(change, after=original.encode())
    try:
        edit = _without_parts(desired.parts, text, record.scaffolds if record is not None else None)
        if edit.text == text:
            return change
        gone = (record is None or record.created) and _is_blank(edit.text, desired.template)
    except EditError as error:
        raise refusal(desired.path, error) from error
    return replace(change, after=None if gone else edit.text.encode())


def _without_parts(parts: Sequence[ConfigPart], text: str, scaffolds: Mapping[str, Scaffold] | None) -> TextEdit:
    """Remove our parts. A foreign value under our name stays, unless we wrote it first and somebody extended it."""
    edit = TextEdit(text)
    for part in reversed(parts):
        state = part.state(edit.text)
        is_foreign = state is PartState.FOREIGN and not (scaffolds is not None and part.name in scaffolds)
        if state in (PartState.ABSENT, PartState.BLOCKED) or is_foreign:
            continue
        edit = edit.then(part.remove(edit.text, scaffolds.get(part.name) if scaffolds is not None else None))
    return edit


def _is_blank(text: str, template: str) -> bool:
    """Whether a file holds nothing but what we gave it when we created it."""
    rest = text.strip("\ufeff \t\r\n")
    if not rest or rest.split() == template.split():
        return True
    if not rest.startswith("{") or "//" in rest.replace("https://", "") or "/*" in rest:
        return False
    return json_edits.value_at(rest, ()) in ({}, json_edits.value_at(template, ()) if template.startswith("{") else {})


# Writing.
def apply_changes(changes: Sequence[FileChange], folder: Path) -> None:
    """Write changes and their records; if one fails, those before it are undone."""
    done: list[FileChange] = []
    try:
        for change in changes:
            if read_bytes(change.real) != change.before:
                raise StorageError(f"{change.path} was changed meanwhile; nothing was written", hint="run it again")
            created = _missing_folders(change.real.parent)
            done.append(change)
            _write(change.real, change.after)
            _remember(replace(change, folders=tuple(dict.fromkeys((*change.folders, *created)))), folder)
        emptied = {one for change in done if change.after is None for one in change.folders}
        remove_if_empty(*sorted(emptied, key=lambda one: len(one.parts), reverse=True))
    except (OSError, WhenceError) as error:
        for change in reversed(done):
            with suppress(OSError, WhenceError):
                _write(change.real, change.before)
                records.forget(folder, change.real)
        if isinstance(error, WhenceError):
            raise
        raise StorageError(f"cannot write {error.filename or ''}: {error.strerror or error}{NOTHING_CHANGED}") from error


def _remember(change: FileChange, folder: Path) -> None:
    if change.after is not None and (change.undo or change.created):
        kept = InstallRecord(change.real, digest(change.after), change.created, change.undo, change.scaffolds, change.folders)
        records.save(folder, kept)
    else:
        records.forget(folder, change.real)


def _write(path: Path, data: bytes | None) -> None:
    """Replace a file atomically, keeping its mode and owner; None removes it."""
    if data is None:
        path.unlink(missing_ok=True)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with part_file(path.parent, data) as part:
        try:
            facts = path.stat()
        except FileNotFoundError:
            part.chmod(0o666 & ~_umask())
        else:
            part.chmod(stat.S_IMODE(facts.st_mode))
            if (facts.st_uid, facts.st_gid) != (os.geteuid(), os.getegid()):
                with suppress(OSError):  # only root may give a file away
                    os.chown(part, facts.st_uid, facts.st_gid)
        part.replace(path)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _missing_folders(place: Path) -> list[Path]:
    """The folders that must be created for a file, outermost first."""
    missing: list[Path] = []
    while not place.exists() and place.parent != place:
        missing.append(place)
        place = place.parent
    return missing[::-1]

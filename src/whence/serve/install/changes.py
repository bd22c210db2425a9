"""What would become of one file: with our parts in it, or without them. Nothing is written here."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from whence.errors import StorageError, UsageError, WhenceError
from whence.serve.install import json_text, marked_text, toml_text
from whence.serve.install.json_text import Made
from whence.serve.install.parts import NOT_OURS, Part, State
from whence.serve.install.record import Record, digest
from whence.serve.install.splices import Edited, Splice, taken_back, turned_round

#: No configuration is longer; a file that is was not meant.
MOST_BYTES = 20_000_000
NOTHING_CHANGED = "; nothing was changed"


@dataclass(frozen=True, slots=True)
class Wanted:
    """A file of an agent, what should be in it and what should not."""

    path: Path
    parts: tuple[Part, ...] = ()
    unwanted: tuple[Part, ...] = ()
    head: str = ""  # what the file has when it is new


@dataclass(frozen=True, slots=True)
class Change:
    """A file before and after; None is a file that is not there."""

    path: Path  # as the agent names it
    real: Path  # where links lead to
    before: bytes | None
    after: bytes | None
    undo: tuple[Splice, ...] = ()
    made: Mapping[str, Made] = field(default_factory=dict)
    created: bool = False
    folders: tuple[Path, ...] = ()
    said: tuple[str, ...] = ()  # what a user should know
    parts: tuple[str, ...] = ()  # the names of what is ours in it

    @property
    def changes(self) -> bool:
        """Whether anything is to be done."""
        return self.before != self.after

    @property
    def record(self) -> Record | None:
        """What is to be remembered of it."""
        if self.after is None:
            return None
        return Record(self.real, digest(self.after), self.created, self.undo, self.made, self.folders)


# Reading.
def real_path(path: Path) -> Path:
    """Where links lead to; two names of one file are one file."""
    try:
        return Path(os.path.realpath(path, strict=False))
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: cannot be followed: {error}") from error


def current(path: Path, *, to_write: bool = True) -> bytes | None:
    """The bytes of a file, or None where there is none; what is no file that can be written is refused."""
    try:
        facts = path.stat()
        if not stat.S_ISREG(facts.st_mode):
            raise UsageError(f"{path} is {'a folder' if stat.S_ISDIR(facts.st_mode) else 'no plain file'}{NOTHING_CHANGED}")
        if facts.st_size > MOST_BYTES:
            raise UsageError(f"{path} has more than {MOST_BYTES} bytes{NOTHING_CHANGED}")
        if to_write and not os.access(path, os.W_OK):
            raise StorageError(f"{path} may not be written{NOTHING_CHANGED}", hint="check who owns it")
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise StorageError(f"{path}: {error.strerror or error}{NOTHING_CHANGED}") from error


def text_of(path: Path, data: bytes) -> str:
    """The text of a file, every character of which becomes the same bytes again."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: line {data.count(10, 0, error.start) + 1} is not UTF-8{NOTHING_CHANGED}") from error


def told(path: Path, error: Exception) -> WhenceError:
    """Why a file cannot be changed, in one line."""
    kind = {json_text.NotJson: "not valid JSON", toml_text.NotToml: "not changed"}.get(type(error), "not changed")
    return UsageError(f"{path}: {kind}: {error}{NOTHING_CHANGED}", hint="mend it by hand, then run this again")


# Putting in.
def with_parts(wanted: Wanted, record: Record | None, *, over_others: bool = False) -> Change:
    """The change that has our parts in a file, and what takes it back."""
    real = real_path(wanted.path)
    before = current(real)
    if before is None and wanted.path.is_symlink():
        raise UsageError(f"{wanted.path} is a link that leads nowhere{NOTHING_CHANGED}", hint="remove it, or make what it leads to")
    text = text_of(wanted.path, before) if before is not None else ""
    start = Edited(text) if before is not None else Edited(wanted.head, ())
    try:
        return _with_parts(wanted, record, Change(wanted.path, real, before, before), start, over_others=over_others)
    except (json_text.NotJson, toml_text.NotToml, marked_text.NotMarked) as error:
        raise told(wanted.path, error) from error


def _with_parts(wanted: Wanted, record: Record | None, change: Change, start: Edited, *, over_others: bool) -> Change:
    known = record is not None and change.before is not None and digest(change.before) == record.after
    done, said, made = start, [], dict(record.made) if record is not None else {}
    fresh = all(part.state(start.text) in NOT_OURS for part in (*wanted.parts, *wanted.unwanted))
    for part in wanted.parts:
        state = part.state(done.text)
        if state is State.FOREIGN:
            done, note = _over(part, done, over_others=over_others)
            said.append(f"{wanted.path}: {part.name} {note}")
            continue
        if state is State.ABSENT:
            made[part.name] = part.made_for(done.text)
        # One that is blocked is refused there: an agent must not be told of a server that it does not have.
        done = done if state is State.SAME else done.then(part.put(done.text))
    for part in wanted.unwanted:
        done = done.then(part.take(done.text, made.pop(part.name, None) if record is not None else None))
    undo = done.undo
    if known and record is not None:
        undo = (*done.undo, *record.undo)
    elif not fresh:
        undo = turned_round(_without(wanted.parts, done.text, made if record is not None else {}).undo)
    created = change.before is None or (record is not None and record.created)
    return replace(
        change,
        after=done.text.encode() if change.before is not None or done.text != wanted.head else None,
        undo=undo,
        made=made,
        created=created,
        folders=record.folders if record is not None else (),
        said=tuple(said),
        parts=tuple(part.name for part in wanted.parts),
    )


def _over(part: Part, done: Edited, *, over_others: bool) -> tuple[Edited, str]:
    """What is done where somebody else's value has our name."""
    if not over_others:
        return done, "was written by hand and is left as it is (--replace writes ours)"
    return done.then(part.put(done.text)), "was written by hand and is replaced"


# Taking out.
def without_parts(wanted: Wanted, record: Record | None) -> Change:
    """The change that has nothing of ours in a file any more: as it was before, or, if it was edited since, as it is but for us."""
    real = real_path(wanted.path)
    before = current(real)
    change = Change(wanted.path, real, before, before, folders=record.folders if record is not None else ())
    if before is None:
        return change
    text = text_of(wanted.path, before)
    if record is not None and digest(before) == record.after:
        if record.created:
            return replace(change, after=None)
        if (former := taken_back(text, record.undo)) is not None:
            return replace(change, after=former.encode())
    try:
        done = _without(wanted.parts, text, record.made if record is not None else None)
        if done.text == text:
            return change
        gone = (record is None or record.created) and _says_nothing(done.text, wanted.head)
    except (json_text.NotJson, toml_text.NotToml, marked_text.NotMarked) as error:
        raise told(wanted.path, error) from error
    return replace(change, after=None if gone else done.text.encode(), parts=tuple(part.name for part in wanted.parts))


def _without(parts: Sequence[Part], text: str, made: Mapping[str, Made] | None) -> Edited:
    """A text without our parts; somebody else's value under our name stays, unless we put it there first."""
    done = Edited(text)
    for part in reversed(parts):
        state = part.state(done.text)
        if state in (State.ABSENT, State.BLOCKED) or (state is State.FOREIGN and not (made is not None and part.name in made)):
            continue
        done = done.then(part.take(done.text, made.get(part.name) if made is not None else None))
    return done


def _says_nothing(text: str, head: str) -> bool:
    """Whether nothing is left of a file but what we gave it when it was new."""
    rest = text.strip("\ufeff \t\r\n")
    if not rest or rest.split() == head.split():
        return True
    if not rest.startswith("{") or "//" in rest.replace("https://", "") or "/*" in rest:
        return False
    return json_text.value_at(rest, ()) in ({}, json_text.value_at(head, ()) if head.startswith("{") else {})

"""Changing one file of an agent: planning (which writes nothing), writing, and recording what was written.

Records lie in the user's data folder, so that a change can be undone exactly. They hold what we inserted, and of the
user's text only what we replaced.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import os
import re
import stat
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from whence.app.agents import json_edits
from whence.app.agents.json_edits import Scaffold
from whence.app.agents.parts import NOT_OURS, ConfigPart, PartState
from whence.app.agents.text_edits import EditError, Splice, TextEdit, apply_splices, invert
from whence.core.errors import StorageError, UsageError, WhenceError
from whence.storage.files import make_private_folder, part_file, remove_if_empty, storage_errors
from whence.text.secrets import find_secrets, redact_secrets

#: No configuration is longer.
MAX_BYTES = 20_000_000
NOTHING_CHANGED = "; nothing was changed"
RECORD_FORMAT = 1


@dataclass(frozen=True, slots=True)
class DesiredFile:
    """A file of an agent, with the parts it should hold and those it should not."""

    path: Path
    parts: tuple[ConfigPart, ...] = ()
    unwanted: tuple[ConfigPart, ...] = ()
    template: str = ""  # the content of a new file


@dataclass(frozen=True, slots=True)
class InstallRecord:
    """What was done to a file."""

    path: Path
    after: str  # hash of the file as we left it
    created: bool = False
    undo: tuple[Splice, ...] = ()
    scaffolds: Mapping[str, Scaffold] = field(default_factory=dict)  # by the names of parts
    folders: tuple[Path, ...] = ()  # created for it, outermost first


@dataclass(frozen=True, slots=True)
class FileChange:
    """A file before and after; None is a file that does not exist."""

    path: Path  # as the agent names it
    real: Path  # with links resolved
    before: bytes | None
    after: bytes | None
    record: InstallRecord | None = None  # of the file before the change; None if there is none
    new_record: InstallRecord | None = None
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
        return _plan_parts(desired, FileChange(desired.path, real, before, before, record), start, replace_foreign=replace_foreign)
    except EditError as error:
        raise refusal(desired.path, error) from error


def _plan_parts(desired: DesiredFile, change: FileChange, start: TextEdit, *, replace_foreign: bool) -> FileChange:
    record = change.record or InstallRecord(change.real, "")
    edit, notes, scaffolds = start, [], dict(record.scaffolds)
    had_ours = any(part.state(start.text) not in NOT_OURS for part in (*desired.parts, *desired.unwanted))
    for part in desired.parts:
        state = part.state(edit.text)
        if state is PartState.FOREIGN:
            outcome = "replaced" if replace_foreign else "left as it is (--replace writes ours)"
            notes.append(f"{desired.path}: {part.name} was written by hand and is {outcome}")
            edit = edit.then(part.put(edit.text)) if replace_foreign else edit
            continue
        if state is PartState.ABSENT:
            scaffolds[part.name] = part.scaffold(edit.text)
        # `put` refuses a blocked part: instructions must not mention a server that the agent does not have.
        edit = edit if state is PartState.SAME else edit.then(part.put(edit.text))
    for part in desired.unwanted:
        edit = edit.then(part.remove(edit.text, scaffolds.pop(part.name, None)))
    undo = edit.undo
    if change.before is not None and _digest(change.before) == record.after:
        undo = (*edit.undo, *record.undo)
    elif had_ours:
        undo = invert(_without_parts(desired.parts, edit.text, scaffolds if change.record is not None else {}).undo)
    created = change.before is None or record.created
    after = edit.text.encode() if change.before is not None or edit.text != desired.template else None
    if after is None or not (undo or created):
        return replace(change, after=after, notes=tuple(notes))
    new_record = InstallRecord(change.real, _digest(after), created, undo, scaffolds, record.folders)
    return replace(change, after=after, new_record=new_record, notes=tuple(notes))


def plan_removal(desired: DesiredFile, record: InstallRecord | None) -> FileChange:
    """The change that removes our parts: the file as it was before, or, if it was edited since, as it is but for our parts."""
    real = real_path(desired.path)
    before = read_bytes(real)
    change = FileChange(desired.path, real, before, before, record)
    if before is None:
        return change
    text = decode(desired.path, before)
    if record is not None and _digest(before) == record.after:
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
            new = change.new_record
            _put_record(folder, change.real, new and replace(new, folders=tuple(dict.fromkeys((*new.folders, *created)))))
        emptied = {one for change in done if change.after is None and change.record for one in change.record.folders}
        remove_if_empty(*sorted(emptied, key=lambda one: len(one.parts), reverse=True))
    except (OSError, WhenceError) as error:
        for change in reversed(done):
            with suppress(OSError, WhenceError):
                _write(change.real, change.before)
                _put_record(folder, change.real, change.record)
        if isinstance(error, WhenceError):
            raise
        raise StorageError(f"cannot write {error.filename or ''}: {error.strerror or error}{NOTHING_CHANGED}") from error


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
            os.umask(mask := os.umask(0))  # it can only be read by setting it
            part.chmod(0o666 & ~mask)
        else:
            part.chmod(stat.S_IMODE(facts.st_mode))
            if (facts.st_uid, facts.st_gid) != (os.geteuid(), os.getegid()):
                with suppress(OSError):  # only root may give a file away
                    os.chown(part, facts.st_uid, facts.st_gid)
        part.replace(path)


def _missing_folders(place: Path) -> list[Path]:
    """The folders that must be created for a file, outermost first."""
    missing: list[Path] = []
    while not place.exists() and place.parent != place:
        missing.append(place)
        place = place.parent
    return missing[::-1]


# Records.
def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def records_folder(environment: Mapping[str, str], home: Path) -> Path:
    """The folder of records: beside the user's notes, not in the cache."""
    if own := environment.get("WHENCE_DATA_DIR"):
        return Path(own).expanduser().absolute() / "installed"
    return Path(environment.get("XDG_DATA_HOME") or home / ".local" / "share") / "whence" / "installed"


def load_record(folder: Path, path: Path) -> InstallRecord | None:
    """The record of a file; None if there is none or it cannot be read."""
    try:
        stored = json.loads(_record_file(folder, path).read_bytes())
        return _decode(stored) if stored["format"] == RECORD_FORMAT and stored["path"] == os.fspath(path) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _put_record(folder: Path, path: Path, record: InstallRecord | None) -> None:
    """Write the record of a file; None deletes it, and the folder if it was the last."""
    place = _record_file(folder, path)
    if record is None:
        with suppress(OSError):
            place.unlink()
        with suppress(OSError):
            folder.rmdir()
        return
    with storage_errors("write", str(place)):
        make_private_folder(folder)
        with part_file(folder, json.dumps(_encode(record), indent=1).encode()) as part:
            part.replace(place)


def _record_file(folder: Path, path: Path) -> Path:
    return folder / f"{_digest(os.fsencode(path))[:32]}.json"


def _encode(record: InstallRecord) -> dict[str, Any]:
    return {
        "format": RECORD_FORMAT,
        "path": os.fspath(record.path),
        "after": record.after,
        "created": record.created,
        "undo": [[one.at, one.removed, one.inserted] for one in record.undo],
        "made": {name: {"containers": one.containers, "inside": one.blank} for name, one in record.scaffolds.items()},
        "folders": [os.fspath(one) for one in record.folders],
    }


def _decode(stored: dict[str, Any]) -> InstallRecord:
    return InstallRecord(
        path=Path(stored["path"]),
        after=stored["after"],
        created=stored["created"],
        undo=tuple(Splice(at, removed, inserted) for at, removed, inserted in stored["undo"]),
        scaffolds={name: Scaffold(tuple(map(tuple, one["containers"])), one["inside"]) for name, one in stored["made"].items()},
        folders=tuple(map(Path, stored["folders"])),
    )


# Showing a change without the secrets that may be beside our entry.
HIDDEN = "[redacted]"
_CONFIGURATIONS = frozenset((".json", ".jsonc", ".toml"))
#: Our own variables are no secret.
_OWN = "WHENCE_"
#: Names of secrets. Hiding too much costs nothing here: only our own entry is news.
_SECRET = r"(?:token|secret|passw|pwd|passphrase|credential|key|auth(?!or)|bearer|cookie|dsn|private)"  # noqa: S105  -- names, no secret
_SECRET_NAME = re.compile(_SECRET, re.IGNORECASE)
#: Containers whose values are all hidden.
_VARIABLES = re.compile(r"(?:env|environment|\w*headers)", re.IGNORECASE)
#: An argument followed by its value; and a value after its name within one string: `--token=x`, `KEY=x`, `Authorization: x`.
_FLAG = re.compile(rf"--?[\w-]{{0,60}}(?:{_SECRET}|header)[\w-]{{0,60}}|-H", re.IGNORECASE)
_NAMED_INSIDE = re.compile(
    rf"({_SECRET}[\w-]{{0,60}}\s{{0,4}}[=:]|(?<![\w-])-[\w-]{{0,60}}{_SECRET}[\w-]{{0,60}}\s).+", re.IGNORECASE | re.DOTALL
)
#: Lexemes of JSON and TOML alike. Comments are split too: an entry that is commented out may hold a secret.
_LEXEME = re.compile(
    r'"""(?:[^\\]|\\.)*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'|[\w.+-]+|[{}\[\]]|[^\w.+\-{}\[\]"\']+|.', re.DOTALL
)
_AFTER_KEY = re.compile(r"\s{0,40}[:=]")
_HEADER = re.compile(r"""\[{1,2}((?:"[^"\n]*"|'[^'\n]*'|[^\]\n"'])*)\]""")
_QUOTES = "\"'"


def unified_diff(change: FileChange) -> list[str]:
    """The lines of a diff without secrets; empty for a file that is removed."""
    if change.after is None:
        return []
    before, after = ((data or b"").decode("utf-8", "replace") for data in (change.before, change.after))
    if change.path.suffix in _CONFIGURATIONS:
        before, after = (hide_secrets(text, toml=change.path.suffix == ".toml") for text in (before, after))
    lines = list(difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=2))[2:]
    text = "\n".join(lines)
    return redact_secrets(text, find_secrets(text)).split("\n") if text else []


def hide_secrets(text: str, *, toml: bool = False) -> str:
    """A configuration with the values of variables, headers and everything named like a secret redacted."""
    shown: list[str] = []
    hidden = [False]  # for each container around the lexeme: whether all its values are hidden
    name, previous, at = "", "", 0
    while match := _LEXEME.match(text, at):
        lexeme, at = match.group(), match.end()
        if toml and lexeme == "[" and len(hidden) == 1 and (header := _table_header(text, match.start())):
            lexeme, at = header.group(), header.end()
            hidden[0] = _is_secret_name(header[1])
        elif lexeme in ("{", "["):
            hidden.append(hidden[-1] or _is_secret_name(name))
        elif lexeme in ("}", "]"):
            hidden[1:] = hidden[1:-1]
        elif lexeme[0] in _QUOTES or lexeme[0].isalnum() or lexeme[0] in "_.+-":
            if _AFTER_KEY.match(text, at):
                name, previous = lexeme.strip(_QUOTES), ""
            else:
                secret = hidden[-1] or _is_secret_name(name) or _FLAG.fullmatch(previous) is not None
                previous = lexeme.strip(_QUOTES) if lexeme[0] in _QUOTES else previous
                lexeme = _redact(lexeme, secret=secret and not name.startswith(_OWN))
        shown.append(lexeme)
    return "".join(shown)


def _table_header(text: str, at: int) -> re.Match[str] | None:
    return _HEADER.match(text, at) if not text[text.rfind("\n", 0, at) + 1 : at].strip(" \t\ufeff") else None


def _is_secret_name(name: str) -> bool:
    parts = [part.strip(" \t\"'") for part in name.split(".")]
    return bool(_SECRET_NAME.search(parts[-1])) or any(_VARIABLES.fullmatch(part) for part in parts)


def _redact(value: str, *, secret: bool) -> str:
    quote = value[0] if value[0] in _QUOTES else ""
    if not quote:
        return HIDDEN if secret and any(character.isdigit() for character in value) else value
    bare = value.strip(quote)
    return value.replace(bare, HIDDEN if secret else _NAMED_INSIDE.sub(rf"\1{HIDDEN}", bare), 1) if bare else value

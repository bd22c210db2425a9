"""What would become of one file: with our parts in it, or without them. Nothing is written here."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from whence.app.agents import json_text, marked_text, toml_text
from whence.app.agents import record as records
from whence.app.agents.json_text import Made
from whence.app.agents.parts import NOT_OURS, ConfigPart, PartState
from whence.app.agents.record import InstallRecord, digest
from whence.app.agents.splices import Edited, Splice, taken_back, turned_round
from whence.core.errors import StorageError, UsageError, WhenceError
from whence.storage.files import part_file, remove_empty
from whence.text.secrets import find_secrets, redacted

#: No configuration is longer; a file that is was not meant.
MOST_BYTES = 20_000_000
NOTHING_CHANGED = "; nothing was changed"


@dataclass(frozen=True, slots=True)
class DesiredFile:
    """A file of an agent, what should be in it and what should not."""

    path: Path
    parts: tuple[ConfigPart, ...] = ()
    unwanted: tuple[ConfigPart, ...] = ()
    head: str = ""  # what the file has when it is new


@dataclass(frozen=True, slots=True)
class FileChange:
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
    def record(self) -> InstallRecord | None:
        """What is to be remembered of it."""
        if self.after is None:
            return None
        return InstallRecord(self.real, digest(self.after), self.created, self.undo, self.made, self.folders)


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
def with_parts(wanted: DesiredFile, record: InstallRecord | None, *, over_others: bool = False) -> FileChange:
    """The change that has our parts in a file, and what takes it back."""
    real = real_path(wanted.path)
    before = current(real)
    if before is None and wanted.path.is_symlink():
        raise UsageError(f"{wanted.path} is a link that leads nowhere{NOTHING_CHANGED}", hint="remove it, or make what it leads to")
    text = text_of(wanted.path, before) if before is not None else ""
    start = Edited(text) if before is not None else Edited(wanted.head, ())
    try:
        return _with_parts(wanted, record, FileChange(wanted.path, real, before, before), start, over_others=over_others)
    except (json_text.NotJson, toml_text.NotToml, marked_text.NotMarked) as error:
        raise told(wanted.path, error) from error


def _with_parts(wanted: DesiredFile, record: InstallRecord | None, change: FileChange, start: Edited, *, over_others: bool) -> FileChange:
    known = record is not None and change.before is not None and digest(change.before) == record.after
    done, said, made = start, [], dict(record.made) if record is not None else {}
    fresh = all(part.state(start.text) in NOT_OURS for part in (*wanted.parts, *wanted.unwanted))
    for part in wanted.parts:
        state = part.state(done.text)
        if state is PartState.FOREIGN:
            done, note = _over(part, done, over_others=over_others)
            said.append(f"{wanted.path}: {part.name} {note}")
            continue
        if state is PartState.ABSENT:
            made[part.name] = part.made_for(done.text)
        # One that is blocked is refused there: an agent must not be told of a server that it does not have.
        done = done if state is PartState.SAME else done.then(part.put(done.text))
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


def _over(part: ConfigPart, done: Edited, *, over_others: bool) -> tuple[Edited, str]:
    """What is done where somebody else's value has our name."""
    if not over_others:
        return done, "was written by hand and is left as it is (--replace writes ours)"
    return done.then(part.put(done.text)), "was written by hand and is replaced"


# Taking out.
def without_parts(wanted: DesiredFile, record: InstallRecord | None) -> FileChange:
    """The change that has nothing of ours in a file any more: as it was before, or, if it was edited since, as it is but for us."""
    real = real_path(wanted.path)
    before = current(real)
    change = FileChange(wanted.path, real, before, before, folders=record.folders if record is not None else ())
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


def _without(parts: Sequence[ConfigPart], text: str, made: Mapping[str, Made] | None) -> Edited:
    """A text without our parts; somebody else's value under our name stays, unless we put it there first."""
    done = Edited(text)
    for part in reversed(parts):
        state = part.state(done.text)
        if state in (PartState.ABSENT, PartState.BLOCKED) or (state is PartState.FOREIGN and not (made is not None and part.name in made)):
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


def write(changes: Sequence[FileChange], folder: Path) -> None:
    """Make changes, and remember them in a folder of records; when one cannot be made, those before it are taken back."""
    done: list[FileChange] = []
    try:
        for change in changes:
            if current(change.real) != change.before:
                raise StorageError(f"{change.path} was changed meanwhile; nothing was written", hint="run it again")
            made = _missing_folders(change.real.parent)
            done.append(change)
            _put(change.real, change.after)
            _remember(replace(change, folders=tuple(dict.fromkeys((*change.folders, *made)))), folder)
        emptied = {one for change in done if change.after is None for one in change.folders}
        remove_empty(*sorted(emptied, key=lambda one: len(one.parts), reverse=True))
    except (OSError, WhenceError) as error:
        for change in reversed(done):
            with suppress(OSError, WhenceError):
                _put(change.real, change.before)
                records.forget(folder, change.real)
        if isinstance(error, WhenceError):
            raise
        raise StorageError(f"cannot write {error.filename or ''}: {error.strerror or error}; nothing was changed") from error


def _remember(change: FileChange, folder: Path) -> None:
    kept = change.record if change.undo or change.created else None
    if kept is not None:
        records.save(folder, kept)
    else:
        records.forget(folder, change.real)


def _put(path: Path, data: bytes | None) -> None:
    """Have bytes in a file, or no file."""
    if data is None:
        with suppress(FileNotFoundError):
            path.unlink()
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
                with suppress(OSError):  # who may not give it away keeps it
                    os.chown(part, facts.st_uid, facts.st_gid)
        part.replace(path)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _missing_folders(place: Path) -> list[Path]:
    """The folders that have to be made for a file, outermost first."""
    missing: list[Path] = []
    while not place.exists() and place.parent != place:
        missing.append(place)
        place = place.parent
    return missing[::-1]


HIDDEN = "[redacted]"
_CONFIGURATIONS = frozenset((".json", ".jsonc", ".toml"))
#: What is ours and no secret.
_OWN = "WHENCE_"
#: What says that a value is a secret. Hiding too much costs nothing here: only our own entry is news.
_SECRET = r"(?:token|secret|passw|pwd|passphrase|credential|key|auth(?!or)|bearer|cookie|dsn|private)"  # noqa: S105  -- names, no secret
_SECRET_NAME = re.compile(_SECRET, re.IGNORECASE)
#: Containers all of whose values are hidden.
_VARIABLES = re.compile(r"(?:env|environment|\w*headers)", re.IGNORECASE)
#: An argument whose value is the next one, and a value behind its name within one text: `--token=x`, `KEY=x`, `Authorization: x`.
_FLAG = re.compile(rf"--?[\w-]{{0,60}}(?:{_SECRET}|header)[\w-]{{0,60}}|-H", re.IGNORECASE)
_NAMED_INSIDE = re.compile(
    rf"({_SECRET}[\w-]{{0,60}}\s{{0,4}}[=:]|(?<![\w-])-[\w-]{{0,60}}{_SECRET}[\w-]{{0,60}}\s).+", re.IGNORECASE | re.DOTALL
)
#: JSON and TOML alike. Comments are read as everything else: an entry in one may have a secret too.
_PIECE = re.compile(
    r'"""(?:[^\\]|\\.)*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'|[\w.+-]+|[{}\[\]]|[^\w.+\-{}\[\]"\']+|.', re.DOTALL
)
_GIVES_NAME = re.compile(r"\s{0,40}[:=]")
_HEADING = re.compile(r"""\[{1,2}((?:"[^"\n]*"|'[^'\n]*'|[^\]\n"'])*)\]""")
_QUOTES = "\"'"


def difference(change: FileChange) -> list[str]:
    """The change as a unified diff, without secrets that may stand beside it; nothing for a file that goes."""
    import difflib  # noqa: PLC0415  -- only where there is something to show

    if change.after is None:
        return []
    before, after = ((data or b"").decode("utf-8", "replace") for data in (change.before, change.after))
    if change.path.suffix in _CONFIGURATIONS:
        before, after = (concealed(text, toml=change.path.suffix == ".toml") for text in (before, after))
    lines = list(difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=2))[2:]
    text = "\n".join(lines)
    return redacted(text, find_secrets(text)).split("\n") if text else []


def concealed(text: str, *, toml: bool = False) -> str:
    """A configuration without the values of variables and headers, and of all that is named as a secret is."""
    parts: list[str] = []
    inside = [False]  # whether all is hidden in the containers around
    name, before, at = "", "", 0
    while found := _PIECE.match(text, at):
        piece, at = found.group(), found.end()
        if toml and piece == "[" and len(inside) == 1 and (heading := _heading(text, found.start())):
            piece, at = heading.group(), heading.end()
            inside[0] = _is_hidden(heading[1])
        elif piece in ("{", "["):
            inside.append(inside[-1] or _is_hidden(name))
        elif piece in ("}", "]"):
            inside[1:] = inside[1:-1]
        elif piece[0] in _QUOTES or piece[0].isalnum() or piece[0] in "_.+-":
            if _GIVES_NAME.match(text, at):
                name, before = piece.strip(_QUOTES), ""
            else:
                secret = inside[-1] or _is_hidden(name) or _FLAG.fullmatch(before) is not None
                before = piece.strip(_QUOTES) if piece[0] in _QUOTES else before
                piece = _without_secret(piece, secret=secret and not name.startswith(_OWN))
        parts.append(piece)
    return "".join(parts)


def _heading(text: str, at: int) -> re.Match[str] | None:
    """The name of a table, if a line begins with it."""
    return _HEADING.match(text, at) if not text[text.rfind("\n", 0, at) + 1 : at].strip(" \t\ufeff") else None


def _is_hidden(name: str) -> bool:
    parts = [part.strip(" \t\"'") for part in name.split(".")]
    return bool(_SECRET_NAME.search(parts[-1])) or any(_VARIABLES.fullmatch(part) for part in parts)


def _without_secret(value: str, *, secret: bool) -> str:
    quote = value[0] if value[0] in _QUOTES else ""
    if not quote:
        return HIDDEN if secret and any(character.isdigit() for character in value) else value
    bare = value.strip(quote)
    return value.replace(bare, HIDDEN if secret else _NAMED_INSIDE.sub(_only_name, bare), 1) if bare else value


def _only_name(found: re.Match[str]) -> str:
    return f"{found[1]}{HIDDEN}"

"""Hints at notes about the code in an answer. Costs next to nothing if there are none.

The note index is used as it is: notes written by hand since the last memory command are missing, but edits and deletions
are seen, because the notes themselves are read.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whence.app.presenters.text import safe
from whence.core.errors import StorageError, WhenceError

if TYPE_CHECKING:
    from whence.app.index import Index
    from whence.memory.note import CodeRef, Note

#: Notes that are named after an answer; the rest are counted.
MOST_NAMED = 3

#: Files in an answer, each with its symbols that are in it; None for the file as a whole.
Shown = Mapping[str, set[str] | None]


@dataclass(frozen=True, slots=True)
class NoteHint:
    """A note, the code in an answer that it is about, and how that code changed."""

    key: str
    codes: tuple[str, ...]
    changed: Mapping[str, str]

    def __str__(self) -> str:
        said = [f"{code} ({self.changed[code]})" if code in self.changed else code for code in self.codes]
        return safe(f"note: {self.key} speaks of {', '.join(said)}")


def hints_of(index: Index, shown: Shown) -> list[NoteHint]:
    """The notes about the code shown, in its order, from the folder in the settings."""
    directory = _directory(index) if shown else None
    database = _database(index, directory) if directory else None
    if directory is None or database is None:
        return []
    from whence.index.layout import is_team_folder  # noqa: PLC0415  -- only where there are notes
    from whence.memory.database import NoteDatabase  # noqa: PLC0415  -- as above
    from whence.memory.repository import identify  # noqa: PLC0415  -- as above

    roots = [""] if is_team_folder(directory, index.root) else identify(index.root, index.layout.data_dir).refs
    try:
        with closing(NoteDatabase(database)) as store:
            keys = list(dict.fromkeys(key for key, _ in store.notes_about(roots, shown)))
    except StorageError:  # the next memory command repairs it or reports what is wrong
        return []
    return _read(index, directory, keys, roots, shown) if keys else []


def by_file(keys: Sequence[str]) -> Shown:
    """Symbols by their keys, `path#name`, as what is shown of each file."""
    shown: dict[str, set[str]] = {}
    for key in keys:
        path, _, name = key.partition("#")
        shown.setdefault(path, set()).add(name)
    return shown


def hint_lines(hints: Sequence[NoteHint]) -> list[str]:
    """A line for each of the first notes, and how many there are beside them."""
    more = len(hints) - MOST_NAMED
    return [*map(str, hints[:MOST_NAMED]), *([f"note: and {more} more"] if more > 0 else [])]


def notes_json(hints: Sequence[NoteHint]) -> dict[str, Any]:
    """The same as a part of a JSON document; nothing where there are none."""
    listed = [
        {"key": one.key, "codes": list(one.codes), "changed": [{"code": code, "said": said} for code, said in one.changed.items()]}
        for one in hints
    ]
    return {"notes": listed} if listed else {}


# Where notes are.
def _directory(index: Index) -> Path | None:
    """The folder of notes in the settings; None if that setting is refused, which commands of memory report."""
    from whence.index.layout import notes_directory  # noqa: PLC0415  -- only where something is found

    try:
        return notes_directory(index.settings, index.provenance, index.root, os.environ, Path.home())
    except WhenceError:
        return None


def _database(index: Index, directory: Path) -> Path | None:
    """The latest note index of a folder: there is one for each language and model."""
    place = type(index.layout)(index.layout.data_dir, directory).note_index
    try:
        with os.scandir(place) as entries:
            found = [(entry.stat().st_mtime, entry.path) for entry in entries if entry.name.endswith((".db", ".db-wal"))]
    except OSError:
        return None
    return Path(max(found)[1].removesuffix("-wal")) if found else None


# What they speak of.
def _read(index: Index, directory: Path, keys: Sequence[str], roots: Sequence[str], shown: Shown) -> list[NoteHint]:
    """The hints, from the notes as they are now."""
    from whence.memory.staleness import CHANGES, CodeStates  # noqa: PLC0415  -- only where notes speak of the code
    from whence.memory.store import NoteStore  # noqa: PLC0415  -- as above

    store, states, now = NoteStore(directory, index.settings.memory.max_bytes), CodeStates(index.layout.grammars), time.time()
    hints: list[NoteHint] = []
    for key in keys:
        try:
            note = store.read(key)
        except WhenceError:  # reported when it is recalled
            continue
        if note is None or not is_current(note, now):
            continue
        about = [one for one in note.about if one.repository in roots and _is_shown(one, shown)]
        found = {one.code: states.state(one, index.root, time.time_ns()) for one in about}
        if found:
            hints.append(NoteHint(key, tuple(found), {code: CHANGES[state] for code, state in found.items() if state in CHANGES}))
    return hints


def is_current(note: Note, now: float) -> bool:
    """Whether recall would find a note."""
    from whence.memory.note import GENERATED  # noqa: PLC0415  -- loaded by the caller

    begun = note.valid_from is None or note.valid_from.timestamp() <= now
    ended = note.valid_until is not None and note.valid_until.timestamp() <= now
    return note.archived is None and note.kind not in GENERATED and begun and not ended


def _is_shown(about: CodeRef, shown: Shown) -> bool:
    """Whether code is in an answer: itself, its parent, or a part of it."""
    if about.path not in shown:
        return False
    own, symbols = about.symbol, shown[about.path]
    return not own or symbols is None or any(f"{own}.".startswith(f"{one}.") or f"{one}.".startswith(f"{own}.") for one in symbols)

"""Notes that speak of the code in an answer. Costs next to nothing where there are none.

The index over notes is asked as it is, and only for the notes to read: what was written by
hand since the last command of memory is not known yet, what was edited or deleted is.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from whence.serve.cli.shared import safe

if TYPE_CHECKING:
    from whence.engine import Index
    from whence.memory.note import About, Note
    from whence.memory.store import NoteStore

#: Notes that are named after an answer; the rest is counted.
MOST_NAMED = 3

#: Files in an answer, each with its symbols that are in it; None for the file as a whole.
Shown = Mapping[str, set[str] | None]

_TEAM_FOLDER = Path(".whence", "notes")
_SPEAKING = "SELECT DISTINCT notes.key FROM about JOIN notes ON notes.id = about.note WHERE about.repository = ? AND about.path = ?"


@dataclass(frozen=True, slots=True)
class Hint:
    """A note, the code in an answer that it speaks of, and what has become of that code where it is not as it was."""

    key: str
    codes: tuple[str, ...]
    changed: Mapping[str, str]

    def __str__(self) -> str:
        said = [f"{code} ({self.changed[code]})" if code in self.changed else code for code in self.codes]
        return safe(f"note: {self.key} speaks of {', '.join(said)}")


def hints_of(index: Index, shown: Shown) -> list[Hint]:
    """The notes that speak of what is shown of an index, in its order: of the folder that settings name, as recall would find them."""
    directory = _directory(index) if shown else None
    database = _database(index, directory) if directory else None
    if directory is None or database is None:
        return []
    from whence.errors import StorageError  # noqa: PLC0415  -- only where there are notes
    from whence.memory.store import NoteStore  # noqa: PLC0415  -- as above

    roots = [str(index.root), ""] if directory.resolve() == (index.root / _TEAM_FOLDER).resolve() else [str(index.root)]
    try:
        with closing(NoteStore(database)) as store:
            keys = _speaking(store, roots, shown)
    except StorageError:  # the index is derived, and the next command of memory mends it or says what is wrong
        return []
    return _read(index, directory, keys, roots, shown) if keys else []


def hint_lines(hints: Sequence[Hint]) -> list[str]:
    """A line for each of the first notes, and how many there are beside them."""
    more = len(hints) - MOST_NAMED
    return [*map(str, hints[:MOST_NAMED]), *([f"note: and {more} more"] if more > 0 else [])]


def print_hints(hints: Sequence[Hint], style: Callable[..., str], *, err: bool = False) -> None:
    """The same after an answer."""
    for line in hint_lines(hints):
        click.echo(style(line, fg="cyan"), err=err, color=True)


def notes_json(hints: Sequence[Hint]) -> dict[str, Any]:
    """The same as a part of a JSON document; nothing where there are none."""
    listed = [
        {"key": one.key, "codes": list(one.codes), "changed": [{"code": code, "said": said} for code, said in one.changed.items()]}
        for one in hints
    ]
    return {"notes": listed} if listed else {}


# Where notes are.
def _directory(index: Index) -> Path | None:
    """The folder of notes that settings name, as `whence.remembered` has it; that module takes longer to load than a search may wait."""
    chosen, environment = index.settings.memory, os.environ
    if chosen.directory:
        from whence.settings import PROJECT_FILE  # noqa: PLC0415  -- loaded with the index

        named = next(one for one in index.provenance if one.name == "memory.directory")
        return None if named.source.endswith(PROJECT_FILE) else Path(chosen.directory).expanduser().absolute()
    if chosen.place == "repository":
        return index.root / _TEAM_FOLDER
    if own := environment.get("WHENCE_DATA_DIR"):
        return Path(own).expanduser().absolute() / "notes"
    data = environment.get("XDG_DATA_HOME")
    return (Path(data) if data else Path.home() / ".local" / "share") / "whence" / "notes"


def _database(index: Index, directory: Path) -> Path | None:
    """The index over a folder of notes that was used last: there is one for each language and model."""
    place = type(index.layout)(index.layout.data_dir, directory).notes
    try:
        with os.scandir(place) as entries:
            found = [(entry.stat().st_mtime, entry.path) for entry in entries if entry.name.endswith((".db", ".db-wal"))]
    except OSError:
        return None
    return Path(max(found)[1].removesuffix("-wal")) if found else None


# What they speak of.
def _speaking(store: NoteStore, roots: Sequence[str], shown: Shown) -> list[str]:
    """The keys of notes that speak of some files."""
    from whence.memory.store import kept, told  # noqa: PLC0415  -- loaded by the caller

    rows = [sorted(store.rows(_SPEAKING, (kept(root), kept(path)))) for path in shown for root in roots]
    return list(dict.fromkeys(told(key) for some in rows for (key,) in some))


def _read(index: Index, directory: Path, keys: Sequence[str], roots: Sequence[str], shown: Shown) -> list[Hint]:
    """Hints from the files of notes, as they are now."""
    from whence.errors import WhenceError  # noqa: PLC0415  -- only where notes speak of the code
    from whence.memory.code import CodeStates, State  # noqa: PLC0415  -- as above
    from whence.memory.folder import NoteFolder  # noqa: PLC0415  -- as above

    words = {State.CHANGED: "the code has changed since", State.GONE: "the code is gone"}
    folder, states, now = NoteFolder(directory), CodeStates(index.layout.grammars), time.time()
    hints: list[Hint] = []
    for key in keys:
        try:
            note = folder.read(key, most_bytes=index.settings.memory.max_bytes)
        except WhenceError:  # it says what is wrong with it when it is asked for
            continue
        if note is None or not _holds(note, now):
            continue
        about = [one for one in note.about if one.repository in roots and _is_shown(one, shown)]
        found = {one.code: states.state(one, index.root, time.time_ns()) for one in about}
        if found:
            hints.append(Hint(key, tuple(found), {code: words[state] for code, state in found.items() if state in words}))
    return hints


def _holds(note: Note, now: float) -> bool:
    """Whether recall would find a note."""
    from whence.memory.note import GENERATED  # noqa: PLC0415  -- loaded by the caller

    begun = note.valid_from is None or note.valid_from.timestamp() <= now
    ended = note.valid_until is not None and note.valid_until.timestamp() <= now
    return note.archived is None and note.kind not in GENERATED and begun and not ended


def _is_shown(about: About, shown: Shown) -> bool:
    """Whether some code is in an answer: itself, what it is part of, or a part of it."""
    if about.path not in shown:
        return False
    own, symbols = about.symbol, shown[about.path]
    return not own or symbols is None or any(f"{own}.".startswith(f"{one}.") or f"{one}.".startswith(f"{own}.") for one in symbols)

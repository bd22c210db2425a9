"""A folder of notes, opened: what is in it, and whether the code that its notes speak of is as it was. Asks no questions."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple

from whence.core.errors import IndexDamaged, ModelUnavailable, UsageError, WhenceError
from whence.core.settings import load_settings
from whence.core.settings_schema import Settings
from whence.core.trace import Trace
from whence.embed.prose import ProseEncoder
from whence.embed.registry import open_note_encoder
from whence.index.layout import Layout, default_data_dir
from whence.memory.analyzer import NoteAnalyzer
from whence.memory.database import kept, told
from whence.memory.index import NoteIndex, Progress
from whence.memory.location import TEAM_FOLDER, is_team_folder, notes_directory
from whence.memory.note import CodeRef, Note
from whence.memory.staleness import CHANGED, CodeState, CodeStates, named
from whence.source.git import repository_root
from whence.storage.files import ABANDONED_SECONDS
from whence.text.analyzer import prose_language

if TYPE_CHECKING:
    from typing_extensions import Self

    from whence.memory.code_history import CodeHistory


class NoteSummary(NamedTuple):
    """What the index knows of a note."""

    key: str
    changed: str  # what became of the code it speaks of; empty when that is as it was
    tags: tuple[str, ...]  # without what does not make them others
    project: str
    kind: str
    archived: bool
    day: int  # as an ordinal; 0 when that is not known


class OpenMemory:
    """The notes of a folder, kept true to its files."""

    def __init__(self, directory: Path, data_dir: Path, settings: Settings, repository: Path | None, trace: Trace | None = None) -> None:
        self.directory, self.settings, self.repository, self.trace = directory, settings, repository, trace
        self.notes: list[str] = []  # what a user should know
        chosen = settings.memory
        try:
            encoder = open_note_encoder(chosen.model)
        except ModelUnavailable as trouble:
            self.notes.append(f"{trouble}; recalling by words alone")
            encoder = None
        reader = NoteAnalyzer(prose_language(chosen.language), encoder)
        self._prose = encoder if isinstance(encoder, ProseEncoder) else None
        self.layout = Layout(data_dir, directory)
        self.catalog = NoteIndex(directory, self.layout.note_index, reader, chosen.max_bytes, time.time, settings.index.verify_after)
        self._states = CodeStates(self.layout.grammars)
        if self.catalog.store.was_damaged:
            self.notes.append("the index over notes was damaged; made again from the notes")

    @classmethod
    def open(
        cls,
        directory: str | os.PathLike[str] | None = None,
        *,
        data_dir: str | os.PathLike[str] | None = None,
        settings: Mapping[str, Any] | None = None,
        command_line: Mapping[str, Any] | None = None,
        progress: Progress | None = None,
        trace: Trace | None = None,
        repository: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Open the notes of a folder: the one given, else the one that settings say, else the user's own.

        `repository` is a folder in the one that notes speak of (default: the current folder).
        """
        root = repository_root(Path(repository) if repository is not None else Path.cwd())
        merged, provenance = load_settings(root, call=settings, command_line=command_line)
        where = Path(data_dir).absolute() if data_dir is not None else default_data_dir(dict(os.environ), Path.home())
        if directory is not None:
            place = Path(directory).expanduser().absolute()
        else:
            place = notes_directory(merged, provenance, root, dict(os.environ), Path.home())
        if place.exists() and not place.is_dir():
            raise UsageError(f"{place} is a file", hint="give the folder of notes")
        memory = cls(place, where, merged, root, trace)
        try:
            memory.catalog.refresh(full=True, progress=progress)
            _ = memory.catalog.corpus
        except IndexDamaged as damage:
            memory.notes.append(f"{damage.message}; made again from the notes")
            memory.catalog.begin_again()
        if memory.catalog.folder.unfinished:
            memory.catalog.folder.sweep(ABANDONED_SECONDS, time.time())
        return memory

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Let go of all files."""
        self.catalog.close()

    def get(self, key: str, *, gone: bool = False) -> Note:
        """The note of a key: `folder/slug`, or its slug alone where only one note has it.

        With `gone`, of a note whose file was deleted by hand the last that it was.
        """
        self.catalog.refresh()
        wanted = key.removesuffix(".md").strip("/")
        note = self._read(wanted) if wanted.count("/") == 1 else None
        if note is not None:
            return note
        keys = [told(row[0]) for row in self.catalog.store.rows("SELECT key FROM notes")]
        same = [one for one in keys if one.partition("/")[2] == wanted]
        if len(same) == 1:
            note = self._read(same[0])
            if note is not None:
                return note
        if len(same) > 1:
            raise UsageError(f"{len(same)} notes are called {wanted!r}", hint="; ".join(sorted(same)[:5]))
        past = self.catalog.folder.history(wanted, most_bytes=self.settings.memory.max_bytes) if gone and wanted.count("/") == 1 else []
        if past:
            return past[-1]
        raise UsageError(f"there is no note {key[:80]!r}", hint=_nearest(wanted, keys))

    def several(self, keys: Iterable[str]) -> list[Note]:
        """The notes of some keys as they are shown beside others; what is gone is left out."""
        return [note for note in map(self._shown, keys) if note is not None]

    def history(self, key: str) -> list[Note]:
        """What a note was before, oldest first."""
        return self.catalog.folder.history(self.get(key, gone=True).key, most_bytes=self.settings.memory.max_bytes)

    def changed(self, note: Note) -> str:
        """What has become of the code that a note speaks of; empty when it is as it was, or cannot be judged."""
        said = [self._became(about) for about in note.about]
        return "; ".join(dict.fromkeys(one for one in said if one))

    def code_past(self, note: Note) -> list[CodeHistory]:
        """What became of each piece of code that a note speaks of, with what it was as far as git knows that."""
        from whence.memory.code_history import past_of  # noqa: PLC0415  -- asks git, which few questions need

        return [past_of(about, self.root_of(about), note.updated or note.created, self.layout.grammars) for about in note.about]

    def code_state(self, about: CodeRef) -> CodeState:
        """What became of a piece of code that a note speaks of."""
        return self._states.state(about, self.root_of(about), time.time_ns())

    def root_of(self, about: CodeRef) -> Path | None:
        """The repository that a piece of code is in; None when that is not known."""
        return Path(about.repository) if about.repository else self._team_root()

    def speaking_of(self, root: Path, paths: Sequence[str]) -> list[tuple[str, str]]:
        """Notes that speak of code in some files of a root: (key, code)."""
        return self.catalog.store.speaking_of([str(root), ""] if is_team_folder(self.directory, root) else [str(root)], paths)

    def code(self, name: str, repository: str | os.PathLike[str] | None) -> CodeRef:
        """A piece of code that a note is to speak of, as it is now."""
        root = Path(repository).absolute() if repository is not None else self.repository
        if root is None:
            raise UsageError(f"{name!r} names code, and there is no repository here", hint="run it in the repository")
        found = named(name, root, self.layout.grammars)
        return replace(found, repository="") if is_team_folder(self.directory, root) else found

    def as_now(self, about: Iterable[CodeRef]) -> list[CodeRef]:
        """Code that a note speaks of, taken as it is now; an error where some of it is gone."""
        try:
            return [self.code(one.code, self.root_of(one)) for one in about]
        except UsageError as error:
            raise UsageError(error.message, hint="edit the note: say which code it speaks of now, or leave it out") from None

    def _became(self, about: CodeRef) -> str:
        state = self.code_state(about)
        return f"{about.code}: {CHANGED[state]}" if state in CHANGED else ""

    def _team_root(self) -> Path | None:
        inside = self.directory.parts[-2:] == TEAM_FOLDER.parts
        return self.directory.parent.parent if inside else self.repository

    def _changed_of(self, numbers: Sequence[int]) -> dict[int, str]:
        """Of notes by number, what became of the code they speak of."""
        found: dict[int, str] = {}
        sql = "SELECT note, repository, code, hash FROM about WHERE note IN ({})"
        for number, root, code, hashed in self.catalog.store.rows_in(sql, numbers) if self._any_about() else []:
            said = self._became(CodeRef(told(code), hashed, told(root)))
            if said:
                found[number] = f"{found[number]}; {said}" if number in found else said
        return found

    def _any_about(self) -> bool:
        return bool(self.catalog.store.rows("SELECT 1 FROM about LIMIT 1"))

    def glances(self) -> list[NoteSummary]:
        """All notes as the index knows them, by their keys; no file of theirs is read."""
        self.catalog.refresh()
        rows = self.catalog.store.rows("SELECT id, key, project, kind, archived, day FROM notes ORDER BY key")
        tags: dict[int, list[str]] = {}
        for number, tag in self.catalog.store.rows("SELECT note, tag FROM tags"):
            tags.setdefault(number, []).append(tag)
        changed = self._changed_of([row[0] for row in rows])
        return [NoteSummary(told(key), changed.get(number, ""), tuple(tags.get(number, ())), *row) for number, key, *row in rows]

    def _number(self, key: str) -> int:
        rows = self.catalog.store.rows("SELECT id FROM notes WHERE key = ?", (kept(key),))
        return int(rows[0][0]) if rows else -1

    def _shown(self, key: str) -> Note | None:
        """A note as it is shown beside others: one that cannot be read says so."""
        try:
            return self._read(key)
        except WhenceError as error:
            folder, _, slug = key.partition("/")
            return Note("", slug, folder=folder, trouble=error.message)

    def _read(self, key: str) -> Note | None:
        return self.catalog.folder.read(key, most_bytes=self.settings.memory.max_bytes)


def _nearest(wanted: str, keys: Sequence[str]) -> str:
    from difflib import get_close_matches  # noqa: PLC0415  -- only where something is wrong

    slugs = {key.partition("/")[2]: key for key in keys}
    near = get_close_matches(wanted, keys, 1, 0.6) or [slugs[one] for one in get_close_matches(wanted, list(slugs), 1, 0.6)]
    return f"nearest: {near[0]}" if near else "whence list shows all"

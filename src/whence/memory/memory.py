"""Memory: notes that are remembered, recalled, edited and forgotten. It joins the store of files, the index and ranking."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from whence.core.errors import IndexDamaged, ModelUnavailable, QueryError, UsageError
from whence.core.request import check_choice
from whence.core.settings import Settings, default_data_dir, load_settings
from whence.core.trace import Trace
from whence.embed.encoder import NONE, open_note_encoder
from whence.index.layout import TEAM_FOLDER, Layout, is_team_folder, notes_directory
from whence.memory.database import NoteFacts
from whence.memory.index import NoteAnalyzer, NoteIndex, Progress
from whence.memory.note import FOLDER, GENERATED, HANDOFF, KINDS, UNREADABLE, USER, CodeRef, Note
from whence.memory.recall import DATED, RankedNotes, RecalledNote, RecallResponse, RecallRun, rank, recall, scope_of
from whence.memory.repository import Repository, folder_of, identify
from whence.memory.request import MAX_NOTES, NoteFilters, RecallRequest, parse_time, strings
from whence.memory.staleness import CHANGES, CodeState, CodeStates, code_ref
from whence.memory.store import NoteStore
from whence.query.filters import check_distance
from whence.query.parser import ParsedQuery, note_matches, parse_operators
from whence.source.git import current_branch, read_head, repository_root
from whence.source.read import strip_secrets
from whence.storage.files import ABANDONED_SECONDS
from whence.text.analyzer import prose_language
from whence.text.secrets import find_secrets, redact_secrets
from whence.text.slugs import normalize_topic

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

    from whence.memory.database import NoteFacts
    from whence.memory.reader import NoteReader
    from whence.memory.request import RecallOptions
    from whence.memory.staleness import CodeHistory
    from whence.ranking.rerank import Reranker
    from whence.storage.arrayfile import Array

#: When a note is forgotten, an incomplete file of this age has no writer any more.
PARTIAL_SECONDS = 60.0
#: Aliases, because the class has a method `list`.
Notes = list[Note]
StaleNotes = list[tuple[Note, str]]


class NoteSummary(NamedTuple):
    """A note as the index knows it."""

    key: str
    changed: str  # what has become of the code it is about; empty where that is unchanged
    tags: tuple[str, ...]  # in lower case
    project: str
    kind: str
    archived: bool
    day: int  # its date as an ordinal; 0 when unknown


class Memory:
    """The notes of one folder. Open it with `Memory.open`; it is a context manager."""

    def __init__(
        self, directory: Path, data_dir: Path, settings: Settings, folder: Path, *, scoped: bool = True, trace: Trace | None = None
    ) -> None:
        """`folder` is where the questions come from; `scoped` confines them to its repository and the user's own notes."""
        self.directory, self.settings, self.trace = directory, settings, trace
        self.folder, self.repository = folder, repository_root(folder)
        self.is_team = self.repository is not None and is_team_folder(directory, self.repository)
        self.scoped = scoped and not self.is_team
        self.remarks: list[str] = []  # what a user should know
        try:
            encoder = open_note_encoder(settings.memory.model)
        except ModelUnavailable as error:
            self.remarks.append(f"{error}; recalling by words alone")
            encoder = None
        self.layout = Layout(data_dir, directory)
        self.store = NoteStore(directory, settings.memory.max_bytes)
        analyzer = NoteAnalyzer(prose_language(settings.memory.language), encoder)
        self.index = NoteIndex(self.store, self.layout.note_index, analyzer, time.time, settings.index.verify_after)
        self._code_states = CodeStates(self.layout.grammars)
        if self.index.database.was_damaged:
            self.remarks.append("the note index was damaged; rebuilt from the notes")

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
        everywhere: bool = False,
    ) -> Self:
        """Open a notes folder: the given one, else the one in the settings, else the user's own.

        `repository` is a folder in the repository that asks (default: the current folder): its notes and the user's own
        are recalled, with `everywhere` all. A folder of notes that is given without a repository is recalled whole.
        """
        folder = Path(repository).absolute() if repository is not None else Path.cwd()
        root = repository_root(folder)
        merged, provenance = load_settings(root, call=settings, command_line=command_line)
        data = Path(data_dir).absolute() if data_dir is not None else default_data_dir(dict(os.environ), Path.home())
        if directory is not None:
            place = Path(directory).expanduser().absolute()
        else:
            place = notes_directory(merged, provenance, root, dict(os.environ), Path.home())
        if place.exists() and not place.is_dir():
            raise UsageError(f"{place} is a file", hint="name a folder of notes")
        scoped = not everywhere and (directory is None or repository is not None)
        memory = cls(place, data, merged, folder, scoped=scoped, trace=trace)
        try:
            memory.index.refresh(full=True, progress=progress)
            memory.index.open_reader()
        except IndexDamaged as damage:
            memory.remarks.append(f"{damage.message}; rebuilt from the notes")
            memory.index.rebuild()
        if memory.store.has_partial_files:
            memory.store.sweep(ABANDONED_SECONDS, time.time())
        return memory

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close all files."""
        self.index.close()

    # Whose notes.
    @cached_property
    def whose(self) -> Repository:
        """The repository that asks."""
        return identify(self.repository or self.folder, self.layout.data_dir)

    def is_ours(self, note: Note | NoteFacts) -> bool:
        """Whether a note is of the repository that asks, a team's or the user's."""
        return self.is_team or note.owner == USER or self._owns(note.owner)

    def _owns(self, owner: str) -> bool:
        """The same for an owner. One that is only a name or a folder is compared with all others."""
        if owner in self.whose.own or not (owner.startswith(UNREADABLE) or self.whose.owns(owner)):
            return owner in self.whose.own
        pairs = self.index.open_reader().projects
        return any(ours for pair, ours in zip(pairs, self.whose.owners_in(pairs), strict=True) if pair.partition("\n")[0] == owner)

    def owned(self, note: Note) -> Note:
        """A new note as its repository's, if its project is this repository."""
        is_here = not (self.is_team or note.repository) and self.whose.named(note.project)
        return replace(note, repository=self.whose.id) if is_here else note

    def replaceable(self, note: Note) -> Sequence[tuple[str, str]]:
        """The notes that a note with its topic replaces, each with its owner: never another repository's."""
        is_ours = bool(note.repository) and note.repository in self.whose.own
        found = self.index.database.keys_with_topic(note.topic) if normalize_topic(note.topic) else []
        return [(key, owner) for key, owner in found if owner == note.owner or (is_ours and owner != USER and self._owns(owner))]

    # Writing.
    def remember(
        self,
        text: str,
        *,
        kind: str = "durable",
        project: str | None = None,
        topic: str | None = None,
        tags: Sequence[str] = (),
        source: str = "",
        about: Sequence[str] = (),
        repository: str | os.PathLike[str] | None = None,
        valid_from: str | datetime | None = None,
        valid_until: str | datetime | None = None,
        created: str | datetime | None = None,
        redact: bool = False,
    ) -> Note:
        """Save a note verbatim. It replaces the note of the same project and topic, which goes to the history.

        `about` names code in `repository` (default: the current one): `src/app.py#Flask.run`. Text with a secret is
        refused, or saved without it if `redact` is set.
        """
        check_choice("kind", kind, KINDS)
        now = _now()
        note = Note(
            text=self._checked_text(text, redact=redact),
            slug="",
            project=(project or "").strip(),
            topic=(topic or "").strip(),
            kind=kind,
            tags=strings(tags),
            source=source,
            created=parse_time(created, "created") or now,
            updated=now,
            valid_from=parse_time(valid_from, "valid_from"),
            valid_until=parse_time(valid_until, "valid_until"),
            about=tuple(self.code_ref(one, repository) for one in about),
        )
        _check_validity(note)
        return self.write(self.owned(_checked_fields(note, redact=redact)))

    def handoff(self, text: str, *, repository: str | os.PathLike[str] | None = None, branch: str | None = None, **fields: Any) -> Note:
        """Save the state of work on a branch (default: the current one); it replaces the branch's earlier handoff."""
        root = Path(repository).absolute() if repository is not None else self.repository
        at = read_head(root) if root is not None else None
        name = branch or (current_branch(root) if root is not None else "") or (at.commit[:10] if at else "")
        if not name:
            raise UsageError("a handoff needs a branch, and there is none here", hint="name it with --branch, or run it in a repository")
        project = fields.pop("project", None) or (self.whose.name if root is not None else None)
        topic = fields.pop("topic", None) or HANDOFF + name
        return self.remember(text, kind="handoff", project=project, topic=topic, repository=repository, **fields)

    def edit(self, key: str, *, text: str | None = None, redact: bool = False, expected: Note | None = None, **fields: Any) -> Note:
        """Change the text of a note, or its topic, kind, tags, source, created, valid_from, valid_until, about or repository.

        The earlier version goes to the history. If the note is not `expected` any more, nothing is written. In `about`,
        a string is hashed as the code is now; a `CodeRef` keeps its hash.
        """
        note = expected or self.get(key)
        changes: dict[str, Any] = {name: value for name, value in fields.items() if value is not None}
        for name in changes.keys() & {"valid_from", "valid_until"}:
            changes[name] = parse_time(changes[name], name)
        check_choice("kind", changes.get("kind"), KINDS)
        if "about" in changes:
            changes["about"] = tuple(one if isinstance(one, CodeRef) else self.code_ref(one, None) for one in changes["about"])
        if "repository" in changes:  # a folder: whose note it is from now on
            whose = identify(repository_root(found := Path(changes["repository"]).absolute()) or found, self.layout.data_dir)
            changes |= {"repository": whose.id, "project": whose.name}
        if "tags" in changes:
            changes["tags"] = strings(changes["tags"])
        if text is not None:
            changes |= {"text": self._checked_text(text, redact=redact), "problem": ""}
        after = replace(note, **changes, updated=_now(note.created))
        if note.problem and not after.problem:  # its file no longer says whose it is
            after = self.owned(after)
        _check_validity(after)
        same = [one for one, _ in self.replaceable(after) if one != after.key]
        if same:
            raise UsageError(f"{same[0]} already has the topic {after.topic!r}", hint="choose another topic, or edit that note")
        return self.write(_checked_fields(after, redact=redact), expected=note)

    def supersede(self, key: str, text: str, *, source: str = "") -> tuple[Note, Note]:
        """Store what holds from now on beside a note that expires now: (the old note, the new one). It keeps tags and code."""
        old = self.get(key)
        now = _now(old.created)
        about = tuple(self.current_refs(ref for ref in old.about if self.code_state(ref) is not CodeState.GONE))
        new = replace(old, text=self._checked_text(text, redact=False), slug="", topic="", source=source, about=about, other=())
        new = self.write(replace(new, created=now, updated=now, valid_from=now, valid_until=None, archived=None))
        return self.edit(old.key, expected=old, valid_until=now), new

    def affirm(self, key: str, *, expected: Note | None = None) -> Note:
        """Confirm that a note still holds: the code it is about is hashed as it is now."""
        note = expected or self.get(key)
        return self.edit(note.key, expected=note, about=self.current_refs(note.about))

    def archive(self, key: str) -> Note:
        """Exclude a note from recall; its file stays and can be restored."""
        note = self.get(key)
        return note if note.archived else self.write(replace(note, archived=_now(note.created)), expected=note)

    def restore(self, key: str) -> Note:
        """Undo `archive`."""
        note = self.get(key)
        return self.write(replace(note, archived=None), expected=note) if note.archived else note

    def forget(self, key: str) -> Note:
        """Delete a note with its history, even if its file was deleted by hand and only the history is left."""
        return self.forget_all([key])[0]

    def forget_all(self, keys: Iterable[str]) -> Notes:
        """Delete notes with their histories, also under names they had before, and every byte the index has of them."""
        notes = [self.get(key, gone=True) for key in keys]
        for note in notes:
            for name in (note.key, *self.store.former_names(note)):
                folders = self.store.folders()
                if self.store.remove(name):
                    self.index.record_removal(name, folders)
        self.store.sweep(PARTIAL_SECONDS, time.time())
        self.index.purge()
        return notes

    def put(self, note: Note, *, redact: bool = False) -> Note:
        """Check and store a complete note."""
        return self.write(_checked_fields(replace(note, text=self._checked_text(note.text, redact=redact)), redact=redact))

    def write(self, note: Note, *, expected: Note | None = None) -> Note:
        """Store a note that has been checked; it is on disk and in the index when this returns."""
        folders = self.store.folders()
        stored = self.store.write(note, expected=expected, lookup=self.replaceable)
        self.index.record_write(stored, folders)
        return stored

    def _checked_text(self, text: str, *, redact: bool) -> str:
        if not text.strip():
            raise UsageError("the note is empty", hint="say what to remember")
        limit = self.settings.memory.max_bytes
        if len(text) > limit:
            raise UsageError(f"the note has {len(text)} characters, more than the {limit} allowed", hint="memory.max_bytes sets the limit")
        found = find_secrets(text)
        if found and not redact:
            named = ", ".join(f"line {one.line}: {one.kind}" for one in found[:5])
            raise UsageError(f"the note contains what looks like a secret ({named}); nothing was stored", hint="--redact stores it without")
        return redact_secrets(text, found)

    # Recall.
    def recall(self, query: str | RecallRequest, **options: Unpack[RecallOptions]) -> RecallResponse:
        """The notes that answer a query, best first; without a query but with a date, what is of that time, latest first."""
        request = RecallRequest.of(query, **options).with_operators()
        return self._search(parse_operators(request.query), request)

    def search(self, query: ParsedQuery, **options: Unpack[RecallOptions]) -> RecallResponse:
        """The best notes that meet the conditions of a parsed query."""
        return self._search(query, RecallRequest.of("", **options))

    def _search(self, query: ParsedQuery, request: RecallRequest) -> RecallResponse:
        """The best notes for a query; recalls more until `k` meet its conditions."""
        k = request.k or self.settings.memory.k
        if not query.text.strip():
            if query.conditions or not (request.since or request.until):
                raise QueryError("the question is empty", hint="say what to recall, give --since, or use list")
            latest = [one.key for one in self._latest(request) if one.kind not in GENERATED]
            shown = self.get_all(latest[:k])
            return RecallResponse((RecalledNote(note, 0.0, DATED, 0.0, None) for note in shown), searched=len(latest))
        limit = min(k, MAX_NOTES)
        while True:
            found = recall(self._run(replace(request, query=query.text, k=limit)))
            if not query.conditions:
                return found
            passing = found.filtered(lambda one: note_matches(query, one.note.text, [one.note.key, *(ref.path for ref in one.note.about)]))
            if len(passing) >= k or len(found) < limit or limit == MAX_NOTES:
                del passing[k:]
                return passing
            limit = min(limit * 4, MAX_NOTES)

    def rank(self, query: str, *, include: str = "", **options: Unpack[RecallOptions]) -> RankedNotes:
        """Every candidate with its ledger; `include` is the key of a note that is ranked even if nothing finds it."""
        run = self._run(RecallRequest.of(query, **options))
        self.index.refresh()
        return rank(replace(run, include=self.get(include).key if include else ""))

    def _run(self, request: RecallRequest) -> RecallRun:
        now, chosen = request.time(time.time()), self.settings.memory
        strategy, profile = request.strategy or chosen.strategy, request.profile or chosen.profile
        check_distance(request.max_distance, strategy)
        return RecallRun(
            strip_secrets(request.query),
            self._filters(request, now),
            request.k or chosen.k,
            self.index,
            chosen,
            self.settings.profiles["notes" if profile == "default" else f"notes_{profile}"],
            datetime.fromtimestamp(now, timezone.utc).toordinal(),
            strategy,
            request.max_distance,
            chosen.everywhere if profile != "classic" else 2.0,
            self.whose.name if self.scoped else self.repository.name if self.repository else "",
            self._code_changes_by_id,
            self.trace,
            reranker=self._reranker,
        )

    @cached_property
    def _reranker(self) -> Reranker | None:
        """The second look at notes, where a model is set."""
        if self.settings.rerank.model == NONE:
            return None
        from whence.ranking.rerank import Reranker  # noqa: PLC0415  -- only where there is a model

        return Reranker(self.settings.rerank, self.layout.data_dir)

    # Listing.
    def list(self, **options: Unpack[RecallOptions]) -> Notes:
        """Notes by date, latest first, generated ones included; all of them unless `k` is given."""
        options.setdefault("any_time", True)
        request = RecallRequest.of(**options)
        return self.get_all(one.key for one in self._latest(request)[: request.k])

    def _latest(self, request: RecallRequest) -> Sequence[NoteFacts]:
        rows, reader = self._allowed(request)
        ids = reader.column("ids")[rows].tolist()
        known = self.index.database.notes_by_id(ids)
        return sorted((known[one] for one in ids if one in known), key=lambda one: (-one.day, one.key))

    def _filters(self, request: RecallRequest, now: float) -> NoteFilters:
        return request.filters(now, self.whose if self.scoped else None)

    def _allowed(self, request: RecallRequest) -> tuple[Array, NoteReader]:
        """The rows that a request allows, and the reader that they are in."""
        self.index.refresh()
        reader = self.index.open_reader()
        return np.flatnonzero(scope_of(reader, self.index.database, self._filters(request, time.time()), generated=True).allowed), reader

    def count(self, *, generated: bool = False, **options: Unpack[RecallOptions]) -> int:
        """How many notes a recall with these options searches; listings include `generated` notes."""
        filters = self._filters(RecallRequest.of(**options), time.time())
        return int(scope_of(self.index.open_reader(), self.index.database, filters, generated=generated).allowed.sum())

    def stale(self, **options: Unpack[RecallOptions]) -> StaleNotes:
        """The notes whose code has changed or is gone, each with what has become of it."""
        return [(note, changes) for note in self.list(**options) if note.about and (changes := self.code_changes(note))]

    def summaries(self, request: RecallRequest | None = None) -> Sequence[NoteSummary]:
        """The notes that a request allows, by default all, by key; without reading their files."""
        rows, reader = self._allowed(request or RecallRequest(any_time=True, archived=True))
        allowed = set(reader.column("ids")[rows].tolist())
        notes, tags = [one for one in self.index.database.notes() if one.id in allowed], self.index.database.tags()
        changed = self._code_changes_by_id([one.id for one in notes])
        return [
            NoteSummary(one.key, changed.get(one.id, ""), tuple(tags.get(one.id, ())), one.project, one.kind, one.archived, one.day)
            for one in notes
        ]

    def get(self, key: str, *, gone: bool = False) -> Note:
        """The note with a key: `folder/slug`, or the slug alone if it is unique.

        With `gone`, the last version of a note whose file was deleted by hand.
        """
        self.index.refresh()
        name = key.removesuffix(".md").strip("/")
        note = self.store.read(name) if name.count("/") == 1 else None
        if note is not None:
            return self._checked_owner(note)
        keys = [one.key for one in self.index.database.notes() if not self.scoped or self.is_ours(one)]
        same = [one for one in keys if one.partition("/")[2] == name]
        if len(same) > 1:
            raise UsageError(f"{len(same)} notes are called {name!r}", hint="; ".join(sorted(same)[:5]))
        if same and (note := self.store.read(same[0])) is not None:
            return self._checked_owner(note)
        if gone and name.count("/") == 1 and (versions := self.store.history(name)):
            return self._checked_owner(versions[-1])
        raise UsageError(f"there is no note {key[:80]!r}", hint=_nearest_key(name, keys))

    def _checked_owner(self, note: Note) -> Note:
        if self.scoped and not self.is_ours(note):
            raise UsageError(f"{note.key} is a note of another repository", hint="--everywhere reaches it, or ask in that repository")
        return note

    def get_all(self, keys: Iterable[str]) -> Notes:
        """Notes for a listing: missing ones are left out, one that cannot be read says why in its `problem`."""
        return [note for note in map(self.store.read_or_explain, keys) if note is not None]

    def history(self, key: str) -> Notes:
        """The earlier versions of a note, oldest first."""
        return self.store.history(self.get(key, gone=True).key)

    # The code that notes are about.
    def changed_code(self, note: Note) -> Sequence[tuple[str, str]]:
        """The code a note is about that has changed or is gone, each with what has become of it."""
        return [(ref.code, CHANGES[state]) for ref in note.about if (state := self.code_state(ref)) in CHANGES]

    def code_changes(self, note: Note) -> str:
        """The same as one line; empty where nothing has changed."""
        return "; ".join(dict.fromkeys(f"{code}: {change}" for code, change in self.changed_code(note)))

    def code_history(self, note: Note) -> Sequence[CodeHistory]:
        """The code a note is about, compared with what it was when the note was written, as far as git knows."""
        from whence.memory.staleness import history_of  # noqa: PLC0415  -- asks git, which few calls need

        return [history_of(ref, self.root_of(ref), note.updated or note.created, self.layout.grammars) for ref in note.about]

    def code_state(self, ref: CodeRef) -> CodeState:
        """Whether some code has changed since it was hashed."""
        return self._code_states.state(ref, self.root_of(ref), time.time_ns())

    def root_of(self, ref: CodeRef) -> Path | None:
        """Where some code is to be looked at: in the checkout that asks, if it is of the same repository."""
        if not ref.repository:
            return self.directory.parent.parent if self.directory.parts[-2:] == TEAM_FOLDER.parts else self.repository
        folder = ref.repository.removeprefix(FOLDER)
        if ref.repository in self.whose.own or FOLDER + folder in self.whose.own:
            return self.repository or self.folder
        return Path(folder) if folder.startswith("/") else folder_of(ref.repository, self.layout.data_dir)

    def notes_about(self, root: Path, paths: Sequence[str]) -> Sequence[tuple[str, str]]:
        """The notes about code in some files of a repository: (key, code)."""
        return self.index.database.notes_about([""] if is_team_folder(self.directory, root) else self.identified(root).refs, paths)

    def identified(self, root: Path) -> Repository:
        """The repository of a folder."""
        return self.whose if root in (self.repository, self.folder) else identify(root, self.layout.data_dir)

    def code_ref(self, code: str, repository: str | os.PathLike[str] | None) -> CodeRef:
        """A reference to some code, hashed as it is now."""
        root = Path(repository).absolute() if repository is not None else self.repository
        if root is None:
            raise UsageError(f"{code!r} names code, and there is no repository here", hint="run it in the repository")
        found = code_ref(code, root, self.layout.grammars)
        return replace(found, repository="" if is_team_folder(self.directory, root) else self.identified(root).id)

    def current_refs(self, refs: Iterable[CodeRef]) -> Sequence[CodeRef]:
        """The same references, hashed as the code is now; an error if some of it is gone."""
        try:
            return [self.code_ref(one.code, self.root_of(one)) for one in refs]
        except UsageError as error:
            raise UsageError(error.message, hint="edit the note: name the code it is about now, or none") from None

    def _code_changes_by_id(self, ids: Sequence[int]) -> dict[int, str]:
        found: dict[int, str] = {}
        for note, ref in self.index.database.code_of(ids):
            if (state := self.code_state(ref)) in CHANGES:
                change = f"{ref.code}: {CHANGES[state]}"
                found[note] = f"{found[note]}; {change}" if note in found else change
        return found


def _now(not_before: datetime | None = None) -> datetime:
    """The time to the second; a clock that went backwards does not predate a note."""
    now = datetime.now(timezone.utc).replace(microsecond=0)
    return max(now, not_before) if not_before else now


def _checked_fields(note: Note, *, redact: bool) -> Note:
    """A note whose topic, project, tags and source hold no secret: one that does is refused, or redacted."""
    fields = {"topic": note.topic, "project": note.project, "source": note.source, "tags": " ".join(note.tags)}
    for name, value in fields.items():
        found = find_secrets(value)
        if found and not redact:
            raise UsageError(f"the {name} of the note contains what looks like a secret ({found[0].kind}); nothing was stored")
        if found:
            changes: dict[str, Any] = {name: tuple(map(redact_secrets, note.tags)) if name == "tags" else redact_secrets(value)}
            note = replace(note, **changes)
    return note


def _check_validity(note: Note) -> None:
    if note.valid_from and note.valid_until and note.valid_until <= note.valid_from:
        raise UsageError("the note would expire before it becomes valid", hint="valid_until must be later than valid_from")


def _nearest_key(name: str, keys: Sequence[str]) -> str:
    from difflib import get_close_matches  # noqa: PLC0415  -- only for errors

    slugs = {key.partition("/")[2]: key for key in keys}
    near = get_close_matches(name, keys, 1, 0.6) or [slugs[one] for one in get_close_matches(name, list(slugs), 1, 0.6)]
    return f"nearest: {near[0]}" if near else "whence list shows all"

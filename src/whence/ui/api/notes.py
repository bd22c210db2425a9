"""Notes: listed, recalled, shown with the history of their code; written, edited, merged and deleted.

A note that somebody else changed meanwhile is never overwritten.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

from fastapi import APIRouter, Query
from fastapi.responses import JSONResponse
from pydantic import Field

from whence.app.presenters.memory import day_of, excerpt, flags_in, headline, time_json, without_secrets
from whence.app.workspace import IndexSession, Workspace
from whence.core.errors import UsageError
from whence.core.request import pick_fields
from whence.memory.note import TIMES, CodeRef, Note
from whence.memory.request import RecallRequest
from whence.source.read import strip_secrets
from whence.text.injection import escape_invisible, warning_of
from whence.text.line_diff import LineChange, diff_lines, number_lines
from whence.ui.highlight import runs_of
from whence.ui.models import ApiModel, CodeLine, CurrentWorkspace, ErrorReply, LedgerLineView, Text, takes

if TYPE_CHECKING:
    from whence.memory.memory import Memory, NoteSummary
    from whence.memory.recall import RecalledNote

_T = TypeVar("_T")
router = APIRouter()
MAX_NOTES, MAX_MERGED = 500, 50
#: Instead of a project: notes that belong to none.
NO_PROJECT = "-"
DAY = r"^(\d{4}-\d{2}-\d{2})?$"
FRESH, STALE, ARCHIVED = STATES = ("fresh", "stale", "archived")
#: Versions of a note that are shown, the newest.
MAX_VERSIONS = 50
#: The fields other than the text that may differ between versions.
_FIELDS = ("topic", "kind", "tags", "source", "valid_from", "valid_until", "about", "archived")


# Notes as the page shows them.
class DiffLine(ApiModel):
    """A line of a diff."""

    sign: str  # blank: unchanged; -: removed; +: added; @: unchanged lines left out here
    then: int | None  # its line number before
    now: int | None  # its line number after
    text: Text

    @classmethod
    def all_of(cls, lines: Iterable[LineChange]) -> list[DiffLine]:
        """The lines of a diff, with invisible characters made visible."""
        return [cls(sign=one.sign, then=one.old_number, now=one.new_number, text=escape_invisible(one.text)) for one in lines]


class CodeStateView(ApiModel):
    """Code that a note is about."""

    code: Text  # path#qualified.name, or a path
    repository: Text  # empty for notes in the repository itself
    root: Text  # the served root that contains it; empty if none does
    state: str  # fresh, changed, gone or unknown


class CodeHistoryView(CodeStateView):
    """Code that a note is about, with what changed."""

    said: Text  # where the earlier version was found, or why it was not
    commit: str
    time: int  # of the commit, in seconds since 1970
    lines: list[DiffLine]


class NoteFieldsView(ApiModel):
    """A note without its text; times are UTC, such as 2026-11-16T10:30:00Z."""

    key: Text
    root: Text  # the root whose settings name its folder
    state: str  # fresh, stale (its code has changed or is gone) or archived
    headline: Text  # its topic, or its first words
    topic: Text
    project: Text
    kind: str
    tags: list[Text]
    source: Text
    created: str | None
    updated: str | None
    valid_from: str | None
    valid_until: str | None
    archived: str | None  # when it was archived
    day: str  # its date; empty if unknown
    trouble: Text  # what is wrong with its file; it cannot be edited then


class NoteSummaryView(NoteFieldsView):
    """A note in a list."""

    lines: list[CodeLine]  # its beginning, or an excerpt that matches the question
    more_lines: int
    changed: Text  # how its code changed; empty if it did not
    score: float | None = None  # set by a recall, like the fields below
    label: str = ""  # exact, semantic, keyword-only, dated or faint
    why: list[LedgerLineView] = Field(default_factory=list)
    alike: list[Text] = Field(default_factory=list)  # keys of near-duplicates that are not listed


class NoteVersionView(ApiModel):
    """A version of a note, and what changed since the one before."""

    number: int
    updated: str | None
    text: Text
    changed: list[str]  # fields other than the text that changed
    lines: list[DiffLine]  # the diff of its text


class NoteView(NoteFieldsView):
    """A note with all its versions."""

    text: Text  # without secrets
    seen: str  # send it back as `expected`, so that changes made meanwhile are not overwritten
    about: list[CodeStateView]
    hidden: list[Text]  # kinds of secrets in its file, which are not shown
    warning: str  # set if it reads like an instruction
    versions: list[NoteVersionView]  # newest first, with the current one


def seen_of(note: Note) -> str:
    """A fingerprint that changes with the note."""
    return hashlib.blake2b(repr(note).encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def state_of(*, archived: bool, changed: bool) -> str:
    """The state of a note."""
    return ARCHIVED if archived else STALE if changed else FRESH


class NotePresenter:
    """Presents the notes of one memory under the name of a root; `roots` are the paths of all roots by name."""

    def __init__(self, memory: Memory, root: str, roots: dict[str, str]) -> None:
        self.memory, self._root = memory, root
        self._names = {path: name for name, path in roots.items()}

    def brief(self, note: Note, changed: str, words: Sequence[str] = (), **found: Any) -> NoteSummaryView:
        """A note in a list, with the lines that match some words."""
        clean, _ = without_secrets(note)
        lines, more = excerpt(clean.text, words)
        shown = [CodeLine(number=line.number, runs=runs_of(line.text, (), line.marks)) for line in lines]
        return NoteSummaryView(**self._facts(clean, changed=bool(changed)), lines=shown, more_lines=more, changed=changed, **found)

    def recalled(self, found: RecalledNote, words: Sequence[str]) -> NoteSummaryView:
        """A recalled note, with its score."""
        why = [LedgerLineView.of(line) for line in found.why]
        return self.brief(found.note, found.changed, words, score=found.score, label=found.label, why=why, alike=list(found.alike))

    def whole(self, note: Note) -> NoteView:
        """A note with all its versions."""
        clean, hidden = without_secrets(note)
        about = [CodeStateView(**self._code(one), state=self.memory.code_state(one).value) for one in note.about]
        return NoteView(
            **self._facts(clean, changed=bool(self.memory.code_changes(note))),
            text=clean.text,
            seen=seen_of(note),
            about=about,
            hidden=hidden,
            warning=warning_of(flags_in(clean), "this note"),
            versions=_versions([*self.memory.history(note.key), note]),
        )

    def past(self, note: Note) -> list[CodeHistoryView]:
        """The history of a note's code."""
        return [
            CodeHistoryView.of(one, **self._code(one.ref), state=one.state.value, said=one.message, lines=DiffLine.all_of(one.lines))
            for one in self.memory.code_history(note)
        ]

    def _code(self, about: CodeRef) -> dict[str, str]:
        place = self.memory.root_of(about)
        root = self._names.get(str(place.resolve() if place else Path()), "")
        return {"code": about.code, "repository": about.repository, "root": root}

    def _facts(self, note: Note, *, changed: bool) -> dict[str, Any]:
        times = {name: time_json(getattr(note, name)) for name in TIMES}
        texts = {name: getattr(note, name) for name in ("key", "topic", "project", "kind", "source")} | {"trouble": note.problem}
        state = state_of(archived=note.archived is not None, changed=changed)
        own = {"root": self._root, "state": state, "headline": headline(note), "tags": list(note.tags), "day": day_of(note)}
        return {**times, **texts, **own}


def _versions(notes: Sequence[Note]) -> list[NoteVersionView]:
    """Versions of a note (oldest first) as shown: newest first, each with its changes."""
    first = max(len(notes) - MAX_VERSIONS, 0)
    earlier = without_secrets(notes[first - 1])[0] if first else None
    clean = [without_secrets(note)[0] for note in notes[first:]]
    made = []
    for number, (before, note) in enumerate(zip([earlier, *clean[:-1]], clean, strict=True), first + 1):
        fields = [name for name in _FIELDS if before is not None and getattr(before, name) != getattr(note, name)]
        lines = diff_lines(number_lines(before.text), number_lines(note.text)) if before is not None else []
        when = time_json(note.updated or note.created)
        made.append(NoteVersionView(number=number, updated=when, text=note.text, changed=fields, lines=DiffLine.all_of(lines or ())))
    return made[::-1]


async def ask_notes(workspace: Workspace, session: IndexSession, question: Callable[[Memory, NotePresenter], _T]) -> _T:
    """Ask the notes of a root, with a presenter that knows its name."""
    name, roots = workspace.name_of(session), workspace.names()
    return await session.ask_notes(lambda memory: question(memory, NotePresenter(memory, name, roots)))


async def ask_root(workspace: Workspace, root: str, question: Callable[[Memory, NotePresenter], _T]) -> _T:
    """Ask the notes of the root with a name."""
    return await ask_notes(workspace, workspace.session(workspace.roots.select(root)), question)


# Listing.
@takes(RecallRequest, but=("query", "kinds", "tags", "any_time", "archived"))  # which are `q`, `kind`, `tag` and `state` here
class NotesQuery(ApiModel):
    """Which notes to list or recall."""

    q: str = ""  # a question to recall notes for, best first; without it notes are listed, latest first
    project: str = ""  # `-`: notes without one
    kind: str = ""
    tag: str = ""
    state: Literal["", "fresh", "stale", "archived", "all"] = ""  # empty: all but archived
    since: str = Field("", pattern=DAY)  # the first day, such as 2026-11-16
    until: str = Field("", pattern=DAY)  # the last day
    root: str = ""
    k: int = Field(100, ge=1, le=MAX_NOTES)

    @property
    def request(self) -> RecallRequest:
        """The recall with these filters; of all states, because all are counted."""
        given = pick_fields(RecallRequest, dict(self))
        own = {"query": self.q, "k": MAX_NOTES, "project": "" if self.project == NO_PROJECT else self.project or None}
        own |= {"kinds": tuple(filter(None, [self.kind])), "tags": tuple(filter(None, [self.tag]))}
        return RecallRequest(**given | own, any_time=not given["as_of"], archived=True)


class DayCount(ApiModel):
    """How many notes a project has on a day."""

    day: str
    project: Text
    fresh: int  # how many are fresh
    stale: int  # how many are stale
    archived: int  # how many are archived


class NoteCounts(ApiModel):
    """How many notes each value of a filter would give, with the other filters as they are; most first."""

    projects: dict[Text, int]  # how many there are in each project
    kinds: dict[str, int]
    tags: dict[Text, int]  # how many there are with each tag
    states: dict[str, int]  # how many there are in each state


class NotesReply(ApiModel):
    """Notes, and counts for each filter."""

    notes: list[NoteSummaryView]
    total: int  # how many match the filters, listed or not
    every: int  # how many there are in all
    counts: NoteCounts
    days: list[DayCount]  # of all that match the filters other than the days
    said: list[Text]  # remarks for the reader
    directories: list[Text]  # the folders of the notes


@dataclass(frozen=True, slots=True)
class _NotesFound:
    """The notes of one folder."""

    directory: str
    notes: list[NoteSummaryView]
    glances: Sequence[NoteSummary]
    said: list[str]


@router.get("/notes")
async def notes(workspace: CurrentWorkspace, asked: Annotated[NotesQuery, Query()]) -> NotesReply:
    """Notes of one root or all, listed or recalled, with counts for each filter."""
    told = await asyncio.gather(*(ask_notes(workspace, session, partial(_listed, asked)) for session in workspace.sessions(asked.root)))
    folders = {one.directory: one for one in reversed(told)}  # roots may share one: the first counts
    glances = list(chain.from_iterable(one.glances for one in folders.values()))
    found = sorted(chain.from_iterable(one.notes for one in folders.values()), key=lambda one: -(one.score or 0))
    if not asked.q.strip():
        found.sort(key=lambda one: (one.day, one.updated or ""), reverse=True)
    return NotesReply(
        notes=found[: asked.k],
        total=sum(_fits(one, asked) for one in glances),
        every=len(glances),
        counts=_counts(glances, asked),
        days=_days(one for one in glances if _fits(one, asked, but="days")),
        said=list(dict.fromkeys(chain.from_iterable(one.said for one in folders.values()))),
        directories=sorted(folders),
    )


def _listed(asked: NotesQuery, memory: Memory, present: NotePresenter) -> _NotesFound:
    counted: dict[str, Any] = {"project": None, "kinds": (), "tags": (), "since": None, "until": None}  # those of `_fits`
    glances = memory.summaries(replace(asked.request, **counted))
    fitting = {one.key: one for one in glances if _fits(one, asked)}
    said = list(memory.remarks)
    if asked.q.strip():
        found = _recalled(memory, asked, fitting.keys(), present, said)
    else:
        latest = sorted(fitting.values(), key=lambda one: (-one.day, one.key))[: asked.k]
        found = [present.brief(note, fitting[note.key].changed) for note in memory.get_all(one.key for one in latest)]
    return _NotesFound(str(memory.directory), found, glances, said)


def _recalled(memory: Memory, asked: NotesQuery, allowed: Container[str], present: NotePresenter, said: list[str]) -> list[NoteSummaryView]:
    from whence.memory.recall import FAINT, LOW_CONFIDENCE  # noqa: PLC0415  -- loaded with the memory

    found = memory.recall(asked.request)
    found.sort(key=lambda one: -one.score)
    found = found.filtered(lambda one: one.note.key in allowed)
    usual = memory.settings.memory.k  # faint notes only fill a short answer
    found = found.filtered(lambda one: one.label != FAINT or one in found[:usual])
    if found.is_low_confidence:
        said.append(LOW_CONFIDENCE)
    return [present.recalled(one, found.words) for one in found[: asked.k]]


def _fits(note: NoteSummary, asked: NotesQuery, *, but: str = "") -> bool:
    """Whether a note matches the filters, except one."""
    state = state_of(archived=note.archived, changed=bool(note.changed))
    day = date.fromordinal(note.day).isoformat() if note.day else ""
    return (
        (but == "projects" or not asked.project or note.project == ("" if asked.project == NO_PROJECT else asked.project))
        and (but == "kinds" or asked.kind in ("", note.kind))
        and (but == "tags" or not asked.tag or asked.tag.casefold().lstrip("#") in note.tags)
        and (but == "states" or asked.state in ("all", state) or (not asked.state and not note.archived))
        and (but == "days" or ((not asked.since or day >= asked.since) and (not asked.until or "" < day <= asked.until)))
    )


def _counts(glances: Sequence[NoteSummary], asked: NotesQuery) -> NoteCounts:
    def of(name: str, values: Callable[[NoteSummary], Iterable[str]]) -> dict[str, int]:
        found = Counter(chain.from_iterable(values(one) for one in glances if _fits(one, asked, but=name)))
        return dict(sorted(found.items(), key=lambda pair: (-pair[1], pair[0])))

    return NoteCounts(
        projects=of("projects", lambda one: [one.project]),
        kinds=of("kinds", lambda one: [one.kind]),
        tags=of("tags", lambda one: one.tags),
        states=of("states", lambda one: [state_of(archived=one.archived, changed=bool(one.changed))]),
    )


def _days(glances: Iterable[NoteSummary]) -> list[DayCount]:
    counted: dict[tuple[int, str], Counter[str]] = {}
    for one in glances:
        if one.day:
            counted.setdefault((one.day, one.project), Counter())[state_of(archived=one.archived, changed=bool(one.changed))] += 1
    return [
        DayCount(day=date.fromordinal(day).isoformat(), project=project, **{state: count[state] for state in STATES})
        for (day, project), count in sorted(counted.items())
    ]


# One note.
class CodeHistoryReply(ApiModel):
    """What became of the code that a note is about."""

    key: Text
    code: list[CodeHistoryView]


@router.get("/notes/{folder}/{slug}")
async def note(workspace: CurrentWorkspace, folder: str, slug: str, root: str = "") -> NoteView:
    """A note with all its versions."""
    return await ask_root(workspace, root, lambda memory, present: present.whole(memory.get(f"{folder}/{slug}")))


@router.get("/notes/{folder}/{slug}/code")
async def code(workspace: CurrentWorkspace, folder: str, slug: str, root: str = "") -> CodeHistoryReply:
    """The code that a note is about, compared with what it was when the note was written, as far as git knows."""

    def past(memory: Memory, present: NotePresenter) -> CodeHistoryReply:
        found = memory.get(f"{folder}/{slug}")
        return CodeHistoryReply(key=found.key, code=present.past(found))

    return await ask_root(workspace, root, past)


# Changing.
class NoteFields(ApiModel):
    """The fields of a note; those not given stay as they are, or are empty in a new note."""

    root: str = ""
    text: str | None = None
    topic: str | None = None
    kind: str | None = None
    tags: list[str] | None = None
    source: str | None = None
    about: list[str] | None = None  # path#qualified.name, or a path; references that the note has already are kept as they are
    valid_from: str | None = None  # a date, or empty
    valid_until: str | None = None
    redact: bool = False


class RememberBody(NoteFields):
    """A new note."""

    text: str
    project: str | None = None  # by default the repository's name
    replace: bool = False  # replace the note with the same topic, if there is one


class EditBody(NoteFields):
    """A change of a note."""

    expected: str = Field(min_length=1)  # `seen` of the note that was edited


class NoteActionBody(ApiModel):
    """Which version of a note to act on."""

    root: str = ""
    expected: str = ""


class ConflictReply(ErrorReply):
    """The note was changed meanwhile, and nothing was stored: its current version, and how that differs from what was sent."""

    now: NoteView
    lines: list[DiffLine]


class ForgetReply(ApiModel):
    """A deleted note."""

    key: Text


class NoteVersionRef(ApiModel):
    """A version of a note."""

    key: str
    expected: str = ""


class DraftBody(ApiModel):
    """Notes to merge; the first one takes up the others."""

    root: str = ""
    notes: list[NoteVersionRef] = Field(min_length=2, max_length=MAX_MERGED)


class MergeBody(DraftBody):
    """Notes to merge, with fields that differ from the draft."""

    text: str | None = None
    topic: str | None = None
    kind: str | None = None
    tags: list[str] | None = None
    affirm: bool = False  # also confirm that they still describe the current code
    forget: bool = False  # delete the others instead of archiving them
    redact: bool = False


class DraftReply(ApiModel):
    """Several notes as one."""

    notes: list[NoteVersionRef]
    text: Text
    topic: Text
    kind: str
    tags: list[Text]
    about: list[Text]  # the code that they are about


class MergeReply(ApiModel):
    """The result of a merge."""

    note: NoteView
    put_away: list[Text]  # keys of the others, now archived or deleted
    left: list[Text]  # keys of notes that were changed meanwhile and left alone


_CONFLICT: dict[int | str, dict[str, Any]] = {
    409: {"model": ConflictReply, "description": "The note was changed meanwhile; nothing was stored."}
}


@router.post("/notes", response_model=NoteView, responses=_CONFLICT)
async def remember(workspace: CurrentWorkspace, given: RememberBody) -> NoteView | JSONResponse:
    """Save a note. An existing one with the same project and topic is kept, unless `replace` is set."""
    return _sent(await ask_root(workspace, given.root, partial(_save_note, given)))


def _save_note(given: RememberBody, memory: Memory, present: NotePresenter) -> NoteView | ConflictReply:
    from whence.memory.note import Note  # noqa: PLC0415  -- loaded with the memory

    project = given.project if given.project is not None else memory.whose.name if memory.repository else ""
    memory.index.refresh()  # somebody may have just saved one with this topic
    new = memory.owned(Note(given.text, "", project=project, topic=given.topic or ""))
    if not given.replace and (same := memory.replaceable(new)):
        key, _ = same[0]
        return _conflict(present, memory.get(key), given.text, f"{key} has this topic already", "edit it, or choose another topic")
    fields = given.model_dump(exclude={"root", "text", "project", "replace"}, exclude_none=True)
    return present.whole(memory.remember(given.text, project=project, **fields))


@router.post("/notes/merge-draft")
async def draft(workspace: CurrentWorkspace, given: DraftBody) -> DraftReply:
    """Several notes as one: all texts under headings, with all tags and code. Nothing is stored."""

    def drafted(memory: Memory, _: NotePresenter) -> DraftReply:
        from whence.memory.compaction import combined  # noqa: PLC0415  -- loaded with the memory

        found = [memory.get(one.key) for one in given.notes]
        whole, _hidden = without_secrets(combined(found))
        seen = [NoteVersionRef(key=note.key, expected=seen_of(note)) for note in found]
        code = [one.code for one in whole.about]
        return DraftReply(notes=seen, text=whole.text, topic=whole.topic, kind=whole.kind, tags=list(whole.tags), about=code)

    return await ask_root(workspace, given.root, drafted)


@router.post("/notes/merge", response_model=MergeReply, responses=_CONFLICT)
async def merge(workspace: CurrentWorkspace, given: MergeBody) -> MergeReply | JSONResponse:
    """Merge notes into the first of them, which is stored before the others are archived or deleted."""
    return _sent(await ask_root(workspace, given.root, partial(_merged, given)))


def _merged(given: MergeBody, memory: Memory, present: NotePresenter) -> MergeReply | ConflictReply:
    from whence.memory.compaction import merge as put_together  # noqa: PLC0415  -- loaded with the memory

    found = [memory.get(one.key) for one in given.notes]
    for note, one in zip(found, given.notes, strict=True):
        if one.expected and seen_of(note) != one.expected:
            return _conflict(present, note, note.text, f"{note.key} was changed meanwhile", "look at it again; nothing was merged")
    fields = given.model_dump(exclude={"root", "notes"}, exclude_none=True)
    done = put_together(memory, found, **fields)
    return MergeReply(note=present.whole(done.note), put_away=list(done.put_away), left=list(done.left))


@router.post("/notes/{folder}/{slug}", response_model=NoteView, responses=_CONFLICT)
async def edit(workspace: CurrentWorkspace, folder: str, slug: str, given: EditBody) -> NoteView | JSONResponse:
    """Edit a note; earlier versions stay in its history."""

    def edited(memory: Memory, before: Note) -> Note:
        if before.problem:  # the caller may not have seen all of it
            raise UsageError(f"{before.key} cannot be edited: {before.problem}", hint="fix its file by hand")
        fields = given.model_dump(exclude={"root", "expected", "about"}, exclude_none=True)
        about = None if given.about is None else _known(before, given.about)
        return memory.edit(before.key, expected=before, about=about, **fields)

    return await _change(workspace, f"{folder}/{slug}", NoteActionBody(root=given.root, expected=given.expected), edited, given.text)


def _known(before: Note, code: Sequence[str]) -> list[CodeRef | str]:
    """References that a note has already, and new names; two repositories may have code with the same name."""
    left = list(before.about)
    found: list[CodeRef | str] = []
    for name in code:
        about = next((one for one in left if one.code == name), None)
        if about is not None:
            left.remove(about)
            found.append(about)
        elif all(name != (one if isinstance(one, str) else one.code) for one in found):
            found.append(name)
    return found


@router.post("/notes/{folder}/{slug}/archive", response_model=NoteView, responses=_CONFLICT)
async def archive(workspace: CurrentWorkspace, folder: str, slug: str, given: NoteActionBody) -> NoteView | JSONResponse:
    """Archive a note: it is no longer recalled, and can be restored."""
    return await _change(workspace, f"{folder}/{slug}", given, lambda memory, before: memory.archive(before.key))


@router.post("/notes/{folder}/{slug}/restore", response_model=NoteView, responses=_CONFLICT)
async def restore(workspace: CurrentWorkspace, folder: str, slug: str, given: NoteActionBody) -> NoteView | JSONResponse:
    """Restore an archived note."""
    return await _change(workspace, f"{folder}/{slug}", given, lambda memory, before: memory.restore(before.key))


@router.post("/notes/{folder}/{slug}/affirm", response_model=NoteView, responses=_CONFLICT)
async def affirm(workspace: CurrentWorkspace, folder: str, slug: str, given: NoteActionBody) -> NoteView | JSONResponse:
    """Confirm that a note still describes the current code."""
    return await _change(workspace, f"{folder}/{slug}", given, lambda memory, before: memory.affirm(before.key, expected=before))


@router.post("/notes/{folder}/{slug}/forget", response_model=ForgetReply, responses=_CONFLICT)
async def forget(workspace: CurrentWorkspace, folder: str, slug: str, given: NoteActionBody) -> ForgetReply | JSONResponse:
    """Delete a note and all its versions."""

    def forgotten(memory: Memory, present: NotePresenter) -> ForgetReply | ConflictReply:
        before = memory.get(f"{folder}/{slug}")
        if given.expected and seen_of(before) != given.expected:
            return _meanwhile(present, before)
        return ForgetReply(key=memory.forget(before.key).key)

    return _sent(await ask_root(workspace, given.root, forgotten))


async def _change(
    workspace: Workspace, key: str, given: NoteActionBody, change: Callable[[Memory, Note], Note], text: str | None = None
) -> NoteView | JSONResponse:
    """Change a note, unless somebody else did meanwhile."""

    def changed(memory: Memory, present: NotePresenter) -> NoteView | ConflictReply:
        before = memory.get(key)
        if given.expected and seen_of(before) != given.expected:
            return _meanwhile(present, before, text)
        return present.whole(change(memory, before))

    return _sent(await ask_root(workspace, given.root, changed))


def _meanwhile(present: NotePresenter, now: Note, text: str | None = None) -> ConflictReply:
    return _conflict(present, now, text, f"{now.key} was changed meanwhile", "nothing was stored; the current version is shown")


def _conflict(present: NotePresenter, now: Note, text: str | None, error: str, hint: str) -> ConflictReply:
    whole = present.whole(now)
    lines = diff_lines(number_lines(strip_secrets(text)), number_lines(whole.text)) if text is not None else None
    return ConflictReply(error=error, hint=hint, now=whole, lines=DiffLine.all_of(lines or ()))


def _sent(answer: _T | ConflictReply) -> _T | JSONResponse:
    return JSONResponse(answer.model_dump(), 409) if isinstance(answer, ConflictReply) else answer

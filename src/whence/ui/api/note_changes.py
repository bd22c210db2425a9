"""Notes that are written, mended, merged and let go. What another has written meanwhile is never overwritten."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from fastapi import APIRouter
from fastapi.responses import JSONResponse
from pydantic import Field

from whence.app.session import IndexSession
from whence.app.workspace import Workspace
from whence.core.errors import UsageError
from whence.source.read import strip_secrets
from whence.text.line_diff import diff_lines, number_lines
from whence.ui.models import ApiModel, CurrentWorkspace, ErrorReply, Text
from whence.ui.notes import DiffLine, NotePresenter, NoteView, seen_of

if TYPE_CHECKING:
    from whence.memory.memory import Memory
    from whence.memory.note import CodeRef, Note

_T = TypeVar("_T")
router = APIRouter()
MOST_MERGED = 50


async def ask_notes(workspace: Workspace, session: IndexSession, question: Callable[[Memory, NotePresenter], _T]) -> _T:
    """Put a question to the notes of a root, with what shows them under its name."""
    name, roots = workspace.name_of(session), workspace.names()
    return await session.ask_notes(lambda memory: question(memory, NotePresenter(memory, name, roots)))


class NoteFields(ApiModel):
    """What a note is to be; what is not given stays, or is empty for a new one."""

    root: str = ""
    text: str | None = None
    topic: str | None = None
    kind: str | None = None
    tags: list[str] | None = None
    source: str | None = None
    about: list[str] | None = None  # path#qualified.name, or a path; code that a note speaks of already stays as it was known
    valid_from: str | None = None  # a date, or empty
    valid_until: str | None = None
    redact: bool = False  # store it without the secrets in it, rather than refuse it


class RememberBody(NoteFields):
    """A new note."""

    text: str
    project: str | None = None  # the repository's name if none is given
    replace: bool = False  # take the place of the note of this topic, if there is one


class EditBody(NoteFields):
    """A change of a note."""

    expected: str = Field(min_length=1)  # `seen` of the note that was changed


class NoteActionBody(ApiModel):
    """Which note is meant, where that is not said by the address."""

    root: str = ""
    expected: str = ""  # `seen` of the note; empty: whatever it is now


class ConflictReply(ErrorReply):
    """Another has written meanwhile: nothing was stored. What is there now, and how it differs from what was sent."""

    now: NoteView
    lines: list[DiffLine]


class ForgetReply(ApiModel):
    """A note that is no more."""

    key: Text


class NoteVersionRef(ApiModel):
    """A note that was seen."""

    key: str
    expected: str = ""  # its `seen`; empty: whatever it is now


class DraftBody(ApiModel):
    """Notes to put together, the one that is to hold all first."""

    root: str = ""
    notes: list[NoteVersionRef] = Field(min_length=2, max_length=MOST_MERGED)


class MergeBody(DraftBody):
    """The same, with what the note is to be where it is not simply all of them."""

    text: str | None = None
    topic: str | None = None
    kind: str | None = None
    tags: list[str] | None = None
    affirm: bool = False  # take the code that they speak of as it is now
    forget: bool = False  # forget the others; else they are archived
    redact: bool = False


class DraftReply(ApiModel):
    """What several notes would be as one."""

    notes: list[NoteVersionRef]
    text: Text
    topic: Text
    kind: str
    tags: list[Text]
    about: list[Text]  # the code that they speak of


class MergeReply(ApiModel):
    """What came of a merge."""

    note: NoteView
    put_away: list[Text]  # keys of the others, which are archived or forgotten now
    left: list[Text]  # keys of those that were changed meanwhile: they are as they were


_CONFLICT: dict[int | str, dict[str, Any]] = {
    409: {"model": ConflictReply, "description": "Another has written meanwhile; nothing was stored."}
}


@router.post("/notes", response_model=NoteView, responses=_CONFLICT)
async def remember(workspace: CurrentWorkspace, given: RememberBody) -> NoteView | JSONResponse:
    """Store a note. One of the same project and topic is not replaced unless that is asked for."""
    return _sent(await _ask(workspace, given.root, partial(_remembered, given)))


def _remembered(given: RememberBody, memory: Memory, showing: NotePresenter) -> NoteView | ConflictReply:
    from whence.memory.note import GENERAL  # noqa: PLC0415  -- loaded with the memory
    from whence.text.slugs import project_folder  # noqa: PLC0415  -- as above

    project = given.project if given.project is not None else memory.repository.name if memory.repository else ""
    folder = project_folder(project) if project else GENERAL
    memory.index.refresh()  # another may have written one of this topic a moment ago
    same = memory.index.database.keys_with_topic(folder, given.topic) if given.topic and not given.replace else []
    if same:
        return _conflict(showing, memory.get(same[0]), given.text, f"{same[0]} has this topic already", "edit it, or choose another topic")
    fields = given.model_dump(exclude={"root", "text", "project", "replace"}, exclude_none=True)
    return showing.whole(memory.remember(given.text, project=project, **fields))


@router.post("/notes/merge-draft")
async def draft(workspace: CurrentWorkspace, given: DraftBody) -> DraftReply:
    """What several notes would be as one: all texts under headings, tags and code together. Nothing is stored."""

    def drafted(memory: Memory, _: NotePresenter) -> DraftReply:
        from whence.app.presenters.memory import without_secrets  # noqa: PLC0415  -- loaded with the memory
        from whence.memory.compaction import combined  # noqa: PLC0415  -- as above

        found = [memory.get(one.key) for one in given.notes]
        whole, _hidden = without_secrets(combined(found))
        seen = [NoteVersionRef(key=note.key, expected=seen_of(note)) for note in found]
        code = [one.code for one in whole.about]
        return DraftReply(notes=seen, text=whole.text, topic=whole.topic, kind=whole.kind, tags=list(whole.tags), about=code)

    return await _ask(workspace, given.root, drafted)


@router.post("/notes/merge", response_model=MergeReply, responses=_CONFLICT)
async def merge(workspace: CurrentWorkspace, given: MergeBody) -> MergeReply | JSONResponse:
    """Put notes together in the first of them. It is stored before the others are archived or forgotten: nothing is lost on the way."""
    return _sent(await _ask(workspace, given.root, partial(_merged, given)))


def _merged(given: MergeBody, memory: Memory, showing: NotePresenter) -> MergeReply | ConflictReply:
    from whence.memory.compaction import merge as put_together  # noqa: PLC0415  -- loaded with the memory

    found = [memory.get(one.key) for one in given.notes]
    for note, one in zip(found, given.notes, strict=True):
        if one.expected and seen_of(note) != one.expected:
            return _conflict(showing, note, note.text, f"{note.key} was changed meanwhile", "look at it again; nothing was merged")
    fields = given.model_dump(exclude={"root", "notes"}, exclude_none=True)
    done = put_together(memory, found, **fields)
    return MergeReply(note=showing.whole(done.note), put_away=list(done.put_away), left=list(done.left))


@router.post("/notes/{folder}/{slug}", response_model=NoteView, responses=_CONFLICT)
async def edit(workspace: CurrentWorkspace, folder: str, slug: str, given: EditBody) -> NoteView | JSONResponse:
    """Change a note; what it was stays in its history."""

    def edited(memory: Memory, before: Note) -> Note:
        if before.problem:  # what of it was shown may not be all of it
            raise UsageError(f"{before.key} cannot be edited: {before.problem}", hint="mend its file by hand")
        fields = given.model_dump(exclude={"root", "expected", "about"}, exclude_none=True)
        about = None if given.about is None else _known(before, given.about)
        return memory.edit(before.key, expected=before, about=about, **fields)

    return await _change(workspace, f"{folder}/{slug}", NoteActionBody(root=given.root, expected=given.expected), edited, given.text)


def _known(before: Note, code: Sequence[str]) -> list[CodeRef | str]:
    """Code as a note knows it, and names of what it does not know yet; two repositories may have code of one name."""
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
    """Take a note out of recall; it can be restored."""
    return await _change(workspace, f"{folder}/{slug}", given, lambda memory, before: memory.archive(before.key))


@router.post("/notes/{folder}/{slug}/restore", response_model=NoteView, responses=_CONFLICT)
async def restore(workspace: CurrentWorkspace, folder: str, slug: str, given: NoteActionBody) -> NoteView | JSONResponse:
    """Take an archived note back."""
    return await _change(workspace, f"{folder}/{slug}", given, lambda memory, before: memory.restore(before.key))


@router.post("/notes/{folder}/{slug}/affirm", response_model=NoteView, responses=_CONFLICT)
async def affirm(workspace: CurrentWorkspace, folder: str, slug: str, given: NoteActionBody) -> NoteView | JSONResponse:
    """Say that a note still holds: the code that it speaks of is taken as it is now."""
    return await _change(workspace, f"{folder}/{slug}", given, lambda memory, before: memory.affirm(before.key, expected=before))


@router.post("/notes/{folder}/{slug}/forget", response_model=ForgetReply, responses=_CONFLICT)
async def forget(workspace: CurrentWorkspace, folder: str, slug: str, given: NoteActionBody) -> ForgetReply | JSONResponse:
    """Delete a note and everything it was before."""

    def forgotten(memory: Memory, showing: NotePresenter) -> ForgetReply | ConflictReply:
        before = memory.get(f"{folder}/{slug}")
        if given.expected and seen_of(before) != given.expected:
            return _meanwhile(showing, before)
        return ForgetReply(key=memory.forget(before.key).key)

    return _sent(await _ask(workspace, given.root, forgotten))


# How a change is made.
async def _ask(workspace: Workspace, root: str, question: Callable[[Memory, NotePresenter], _T]) -> _T:
    return await ask_notes(workspace, workspace.session(workspace.roots.select(root)), question)


async def _change(
    workspace: Workspace, key: str, given: NoteActionBody, change: Callable[[Memory, Note], Note], text: str | None = None
) -> NoteView | JSONResponse:
    """Change a note, if it is still what was seen."""

    def changed(memory: Memory, showing: NotePresenter) -> NoteView | ConflictReply:
        before = memory.get(key)
        if given.expected and seen_of(before) != given.expected:
            return _meanwhile(showing, before, text)
        return showing.whole(change(memory, before))

    return _sent(await _ask(workspace, given.root, changed))


def _meanwhile(showing: NotePresenter, now: Note, text: str | None = None) -> ConflictReply:
    return _conflict(showing, now, text, f"{now.key} was changed meanwhile", "what is there now is shown; nothing was stored")


def _conflict(showing: NotePresenter, now: Note, text: str | None, error: str, hint: str) -> ConflictReply:
    whole = showing.whole(now)
    lines = diff_lines(number_lines(strip_secrets(text)), number_lines(whole.text)) if text is not None else None
    return ConflictReply(error=error, hint=hint, now=whole, lines=DiffLine.all_of(lines or ()))


def _sent(answer: _T | ConflictReply) -> _T | JSONResponse:
    return JSONResponse(answer.model_dump(), 409) if isinstance(answer, ConflictReply) else answer

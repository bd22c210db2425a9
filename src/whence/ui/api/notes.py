"""Notes: listed, recalled, and shown with what became of their code."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Annotated, Literal

from fastapi import APIRouter, Query
from pydantic import Field

from whence.memory.request import RecallRequest
from whence.ui.api import note_changes
from whence.ui.api.note_changes import ask_notes
from whence.ui.models import ApiModel, CurrentWorkspace, Text
from whence.ui.notes import STATES, CodeHistoryView, NotePresenter, NoteSummaryView, NoteView, state_of

if TYPE_CHECKING:
    from whence.memory.memory import Memory, NoteSummary

router = APIRouter()
router.include_router(note_changes.router)
MOST_NOTES = 500
#: In place of a project: notes that belong to none.
NO_PROJECT = "-"
DAY = r"^(\d{4}-\d{2}-\d{2})?$"


# Listing.
class NotesQuery(ApiModel):
    """Which notes are asked for."""

    q: str = ""  # recalls the notes that answer it, best first; without it notes are listed, latest first
    project: str = ""  # `-`: those of none
    kind: str = ""
    tag: str = ""
    state: Literal["", "fresh", "stale", "archived", "all"] = ""  # empty: all that are not archived
    since: str = Field("", pattern=DAY)  # notes of this day and later, as 2026-11-16
    until: str = Field("", pattern=DAY)  # and up to this one
    root: str = ""
    k: int = Field(100, ge=1, le=MOST_NOTES)

    def recall_request(self) -> RecallRequest:
        """The recall that these filters ask for; notes of all states, for all are counted."""
        project = "" if self.project == NO_PROJECT else self.project or None
        kinds, tags = (self.kind,) if self.kind else (), (self.tag,) if self.tag else ()
        return RecallRequest(
            self.q, MOST_NOTES, project, kinds=kinds, tags=tags, since=self.since, until=self.until, any_time=True, archived=True
        )


class DayCount(ApiModel):
    """How many notes of a project are of a day."""

    day: str
    project: Text
    fresh: int  # how many are fresh
    stale: int  # how many are stale
    archived: int  # how many are archived


class NoteCounts(ApiModel):
    """How many notes there would be for each value of a filter, the other filters as they are; most first."""

    projects: dict[Text, int]  # how many there are of each project
    kinds: dict[str, int]
    tags: dict[Text, int]  # how many there are with each tag
    states: dict[str, int]  # how many there are in each state


class NotesReply(ApiModel):
    """Some notes, and how many there are of which kind."""

    notes: list[NoteSummaryView]
    total: int  # how many the filters let through, whether listed or not
    every: int  # how many there are at all
    counts: NoteCounts
    days: list[DayCount]  # of all that the filters let through, whatever days are asked for
    said: list[Text]  # what a reader should know
    directories: list[Text]  # where the notes lie


@dataclass(frozen=True, slots=True)
class _NotesFound:
    """What one folder of notes has to say."""

    directory: str
    notes: list[NoteSummaryView]
    glances: Sequence[NoteSummary]
    said: list[str]


@router.get("/notes")
async def notes(workspace: CurrentWorkspace, asked: Annotated[NotesQuery, Query()]) -> NotesReply:
    """Notes of one root or all of them, listed or recalled, and counted by what they can be narrowed to."""
    told = await asyncio.gather(*(ask_notes(workspace, session, partial(_listed, asked)) for session in workspace.sessions(asked.root)))
    folders = {one.directory: one for one in reversed(told)}  # roots may share one; the first speaks for it
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


def _listed(asked: NotesQuery, memory: Memory, showing: NotePresenter) -> _NotesFound:
    glances = memory.summaries()
    fitting = {one.key: one for one in glances if _fits(one, asked)}
    said = list(memory.remarks)
    if asked.q.strip():
        found = _recalled(memory, asked, fitting.keys(), showing, said)
    else:
        latest = sorted(fitting.values(), key=lambda one: (-one.day, one.key))[: asked.k]
        found = [showing.brief(note, fitting[note.key].changed) for note in memory.get_all(one.key for one in latest)]
    return _NotesFound(str(memory.directory), found, glances, said)


def _recalled(memory: Memory, asked: NotesQuery, allowed: Container[str], showing: NotePresenter, said: list[str]) -> list[NoteSummaryView]:
    from whence.memory.recall import FAINT  # noqa: PLC0415  -- loaded with the memory
    from whence.memory.result import LOW_CONFIDENCE  # noqa: PLC0415  -- as above

    found = memory.recall(asked.recall_request())
    found.sort(key=lambda one: -one.score)
    found = found.filtered(lambda one: one.note.key in allowed)
    usual = memory.settings.memory.k  # faint notes only fill a short answer
    found = found.filtered(lambda one: one.label != FAINT or one in found[:usual])
    if found.is_low_confidence:
        said.append(LOW_CONFIDENCE)
    return [showing.recalled(one, found.words) for one in found[: asked.k]]


def _fits(note: NoteSummary, asked: NotesQuery, *, but: str = "") -> bool:
    """Whether a note is among those asked for, one filter aside."""
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
    """What became of the code that a note speaks of."""

    key: Text
    code: list[CodeHistoryView]


@router.get("/notes/{folder}/{slug}")
async def note(workspace: CurrentWorkspace, folder: str, slug: str, root: str = "") -> NoteView:
    """A note with all that it was."""
    session = workspace.session(workspace.roots.select(root))
    return await ask_notes(workspace, session, lambda memory, showing: showing.whole(memory.get(f"{folder}/{slug}")))


@router.get("/notes/{folder}/{slug}/code")
async def code(workspace: CurrentWorkspace, folder: str, slug: str, root: str = "") -> CodeHistoryReply:
    """What became of the code that a note speaks of, compared with what it was when the note was written, as far as git knows that."""

    def past(memory: Memory, showing: NotePresenter) -> CodeHistoryReply:
        found = memory.get(f"{folder}/{slug}")
        return CodeHistoryReply(key=found.key, code=showing.past(found))

    return await ask_notes(workspace, workspace.session(workspace.roots.select(root)), past)

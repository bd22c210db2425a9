"""Notes as the page shows them: in a list, whole, with what they were before and what became of their code."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import Field

from whence.app.presenters.memory import day_of, excerpt, headline, without_secrets
from whence.memory.note import CodeRef, Note
from whence.memory.staleness import CodeHistory
from whence.parse.provenance import flags_of, warning_of
from whence.text.invisible import escape_invisible
from whence.text.line_diff import LineChange, diff_lines, number_lines
from whence.ui.highlight import runs_of
from whence.ui.models import ApiModel, CodeLine, LedgerLineView, Text

if TYPE_CHECKING:
    from whence.memory.memory import Memory
    from whence.memory.result import RecalledNote

FRESH, STALE, ARCHIVED = STATES = ("fresh", "stale", "archived")
#: Versions of a note that are shown, the newest.
MOST_VERSIONS = 50
#: What of a note may differ from the version before it, beside its text.
_FIELDS = ("topic", "kind", "tags", "source", "valid_from", "valid_until", "about", "archived")


class DiffLine(ApiModel):
    """A line of a comparison."""

    sign: str  # a blank: in both; - gone; + new; @ lines that are in both and left out
    then: int | None  # its number before
    now: int | None  # its number after
    text: Text

    @classmethod
    def all_of(cls, lines: Iterable[LineChange]) -> list[DiffLine]:
        """A comparison, with what nobody sees made visible."""
        return [cls(sign=one.sign, then=one.old_number, now=one.new_number, text=escape_invisible(one.text)) for one in lines]


class CodeStateView(ApiModel):
    """A piece of code that a note speaks of."""

    code: Text  # path#qualified.name, or a path
    repository: Text  # empty for notes that lie in the repository itself
    root: Text  # the name of the served root that it is in; empty when it is in none
    state: str  # fresh, changed, gone or unknown


class CodeHistoryView(CodeStateView):
    """The same with what it was."""

    said: Text  # where what it was was found, or why it was not
    commit: str
    time: int  # of the commit, in seconds since 1970
    lines: list[DiffLine]

    @classmethod
    def made(cls, past: CodeHistory, root: str) -> CodeHistoryView:
        """What became of code in a root of this name."""
        about = past.ref
        return cls(
            code=about.code,
            repository=about.repository,
            root=root,
            state=past.state.value,
            said=past.message,
            commit=past.commit,
            time=past.time,
            lines=DiffLine.all_of(past.lines),
        )


class NoteFieldsView(ApiModel):
    """What is known of a note beside its text; times are UTC, as 2026-11-16T10:30:00Z."""

    key: Text
    root: Text  # the name of the root whose settings name the folder it lies in
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
    archived: str | None  # when it was put away
    day: str  # that it is of; empty when none is known
    trouble: Text  # what is wrong with its file: it cannot be rewritten then


class NoteSummaryView(NoteFieldsView):
    """A note in a list."""

    lines: list[CodeLine]  # its beginning, or what of it matters for the question
    more_lines: int
    changed: Text  # what became of its code; empty when that is as it was
    score: float | None = None  # of a recall, as all below
    label: str = ""  # exact, semantic, keyword-only, dated or faint
    why: list[LedgerLineView] = Field(default_factory=list)
    alike: list[Text] = Field(default_factory=list)  # keys of notes that say nearly the same and are not listed


class NoteVersionView(ApiModel):
    """What a note was, and what was changed since the version before."""

    number: int
    updated: str | None
    text: Text
    changed: list[str]  # fields other than its text that were changed
    lines: list[DiffLine]  # what of its text was changed


class NoteView(NoteFieldsView):
    """A note with all that it was."""

    text: Text  # without secrets
    seen: str  # to be given back as `expected`, so that what another has written meanwhile is not overwritten
    about: list[CodeStateView]
    hidden: list[Text]  # secrets that somebody has written into its file: they are not shown
    warning: str  # that it reads like an instruction
    versions: list[NoteVersionView]  # newest first, the present one too


def seen_of(note: Note) -> str:
    """What tells whether a note is still what somebody saw."""
    return hashlib.blake2b(repr(note).encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def state_of(*, archived: bool, changed: bool) -> str:
    """The state of a note in one word."""
    return ARCHIVED if archived else STALE if changed else FRESH


class NotePresenter:
    """Notes of one memory, shown under the name of a root; `roots` are the folders that are served, by their names."""

    def __init__(self, memory: Memory, root: str, roots: dict[str, str]) -> None:
        self.memory, self._root = memory, root
        self._names = {path: name for name, path in roots.items()}

    def brief(self, note: Note, changed: str, words: Sequence[str] = (), **found: Any) -> NoteSummaryView:
        """A note of a list, with the lines that matter for some words."""
        clean, _ = without_secrets(note)
        lines, more = excerpt(clean.text, words)
        shown = [CodeLine(number=line.number, runs=runs_of(line.text, (), line.marks)) for line in lines]
        return NoteSummaryView(**self._facts(clean, changed=bool(changed)), lines=shown, more_lines=more, changed=changed, **found)

    def recalled(self, found: RecalledNote, words: Sequence[str]) -> NoteSummaryView:
        """A note of an answer, with why it is there."""
        why = [LedgerLineView.of(line) for line in found.why]
        return self.brief(found.note, found.changed, words, score=found.score, label=found.label, why=why, alike=list(found.alike))

    def whole(self, note: Note) -> NoteView:
        """A note with all that it was."""
        clean, hidden = without_secrets(note)
        flags = flags_of(enumerate(clean.text.strip("\n").split("\n"), 1), (note.key, note.topic, note.source))
        about = [CodeStateView(**self._code(one), state=self.memory.code_state(one).value) for one in note.about]
        return NoteView(
            **self._facts(clean, changed=bool(self.memory.code_changes(note))),
            text=clean.text,
            seen=seen_of(note),
            about=about,
            hidden=hidden,
            warning=warning_of(flags, "this note"),
            versions=_versions([*self.memory.history(note.key), note]),
        )

    def past(self, note: Note) -> list[CodeHistoryView]:
        """What became of the code of a note."""
        return [CodeHistoryView.made(one, self._code(one.ref)["root"]) for one in self.memory.code_history(note)]

    def _code(self, about: CodeRef) -> dict[str, str]:
        place = self.memory.root_of(about)
        root = self._names.get(str(place.resolve() if place else Path()), "")
        return {"code": about.code, "repository": about.repository, "root": root}

    def _facts(self, note: Note, *, changed: bool) -> dict[str, Any]:
        times = {name: _time(getattr(note, name)) for name in ("created", "updated", "valid_from", "valid_until", "archived")}
        texts = {name: getattr(note, name) for name in ("key", "topic", "project", "kind", "source")} | {"trouble": note.problem}
        state = state_of(archived=note.archived is not None, changed=changed)
        own = {"root": self._root, "state": state, "headline": headline(note), "tags": list(note.tags), "day": day_of(note)}
        return {**times, **texts, **own}


def _versions(notes: Sequence[Note]) -> list[NoteVersionView]:
    """Versions, oldest first, as they are shown: newest first, each with what was changed."""
    first = max(len(notes) - MOST_VERSIONS, 0)
    earlier = without_secrets(notes[first - 1])[0] if first else None
    clean = [without_secrets(note)[0] for note in notes[first:]]
    made = []
    for number, (before, note) in enumerate(zip([earlier, *clean[:-1]], clean, strict=True), first + 1):
        fields = [name for name in _FIELDS if before is not None and getattr(before, name) != getattr(note, name)]
        lines = diff_lines(number_lines(before.text), number_lines(note.text)) if before is not None else []
        when = _time(note.updated or note.created)
        made.append(NoteVersionView(number=number, updated=when, text=note.text, changed=fields, lines=DiffLine.all_of(lines or ())))
    return made[::-1]


def _time(moment: datetime | None) -> str | None:
    return f"{moment.replace(tzinfo=None).isoformat()}Z" if moment else None

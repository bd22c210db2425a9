"""Notes as the page shows them: in a list, or whole with earlier versions and the history of their code."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import Field

from whence.app.presenters.memory import day_of, excerpt, headline, without_secrets
from whence.memory.note import CodeRef, Note
from whence.text.injection import escape_invisible, flags_of, warning_of
from whence.text.line_diff import LineChange, diff_lines, number_lines
from whence.ui.highlight import runs_of
from whence.ui.models import ApiModel, CodeLine, LedgerLineView, Text

if TYPE_CHECKING:
    from whence.memory.memory import Memory
    from whence.memory.result import RecalledNote

FRESH, STALE, ARCHIVED = STATES = ("fresh", "stale", "archived")
#: Versions of a note that are shown, the newest.
MAX_VERSIONS = 50
#: The fields other than the text that may differ between versions.
_FIELDS = ("topic", "kind", "tags", "source", "valid_from", "valid_until", "about", "archived")


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
        times = {name: _time(getattr(note, name)) for name in ("created", "updated", "valid_from", "valid_until", "archived")}
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
        when = _time(note.updated or note.created)
        made.append(NoteVersionView(number=number, updated=when, text=note.text, changed=fields, lines=DiffLine.all_of(lines or ())))
    return made[::-1]


def _time(moment: datetime | None) -> str | None:
    return f"{moment.replace(tzinfo=None).isoformat()}Z" if moment else None

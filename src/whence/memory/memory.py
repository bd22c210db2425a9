"""Memory: notes that can be written, recalled, mended and let go. The only module that knows how notes and ranking meet."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np

from whence.core.errors import QueryError, UsageError
from whence.memory.database import told
from whence.memory.note import KINDS, CodeRef, Note
from whence.memory.opened import OpenMemory
from whence.memory.recall import RankedNotes, RecallRun, in_categories, narrowed, recall
from whence.memory.request import MOST, RecallRequest, filters_of, moment
from whence.memory.result import RecalledNote, recalled
from whence.query.parser import ParsedQuery, note_matches
from whence.source.git import current_branch, read_head
from whence.source.read import strip_secrets
from whence.text.secrets import find_secrets, redact_secrets

#: How often an answer is asked for again when files change under it.
TRIES = 3
#: Named here, for the class has a method `list`.
Notes = list[Note]
Recollections = list[RecalledNote]


class Memory(OpenMemory):
    """The notes of a folder. Open it with `Memory.open`; it is a context manager."""

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
        """Store a note. One of the same project and topic is replaced, and kept in its history.

        `about` names code below `repository` (the one around the current folder): `src/app.py#Flask.run`.
        A text that holds a secret is refused, or stored without it where `redact` says so.
        """
        now = _now()
        note = Note(
            text=self._checked(text, redact=redact),
            slug="",
            project=(project or "").strip(),
            topic=(topic or "").strip(),
            kind=_known(kind),
            tags=_several(tags),
            source=source,
            created=moment(created, "created") or now,
            updated=now,
            valid_from=moment(valid_from, "valid_from"),
            valid_until=moment(valid_until, "valid_until"),
            about=tuple(self.code(one, repository) for one in about),
        )
        _check_window(note)
        return self.catalog.write(_without_secrets(note, redact=redact))

    def handoff(self, text: str, *, repository: str | os.PathLike[str] | None = None, branch: str | None = None, **fields: Any) -> Note:
        """Store the state of work on a branch, by default the current one; it replaces the one before."""
        root = Path(repository).absolute() if repository is not None else self.repository
        at = read_head(root) if root is not None else None
        name = branch or (current_branch(root) if root is not None else "") or (at.commit[:10] if at else "")
        if not name:
            raise UsageError("a handoff is of a branch, and there is none here", hint="name it with --branch, or run it in a repository")
        project = fields.pop("project", None) or (root.name if root is not None else None)
        return self.remember(
            text, kind="handoff", project=project, topic=fields.pop("topic", None) or f"handoff {name}", repository=repository, **fields
        )

    def edit(self, key: str, *, text: str | None = None, redact: bool = False, expected: Note | None = None, **fields: Any) -> Note:
        """Change a note: its text, or its topic, kind, tags, source, created, valid_from, valid_until or about.

        What it was stays in its history. With `expected`, one that is not what was read is not written over. Code in
        `about` is taken as it is now where it is named, and stays as it was known where it is an `About`.
        """
        note = expected or self.get(key)
        changes: dict[str, Any] = {name: value for name, value in fields.items() if value is not None}
        for name in ("valid_from", "valid_until"):
            if name in changes:
                changes[name] = moment(changes[name], name)
        if "kind" in changes:
            changes["kind"] = _known(changes["kind"])
        if "about" in changes:
            changes["about"] = tuple(one if isinstance(one, CodeRef) else self.code(one, None) for one in changes["about"])
        if "tags" in changes:
            changes["tags"] = _several(changes["tags"])
        if text is not None:
            changes["text"] = self._checked(text, redact=redact)
        after = replace(note, **changes, updated=_now(note.created), trouble="" if text is not None else note.trouble)
        _check_window(after)
        self._check_topic(after)
        return self.catalog.write(_without_secrets(after, redact=redact), expected=note)

    def affirm(self, key: str, *, expected: Note | None = None) -> Note:
        """Say that a note still holds: the code that it speaks of is taken as it is now."""
        note = expected or self.get(key)
        return self.edit(note.key, expected=note, about=self.as_now(note.about))

    def archive(self, key: str) -> Note:
        """Take a note out of recall; it stays where it is and can be restored."""
        note = self.get(key)
        return note if note.archived else self.catalog.write(replace(note, archived=_now(note.created)), expected=note)

    def restore(self, key: str) -> Note:
        """Take an archived note back."""
        note = self.get(key)
        return self.catalog.write(replace(note, archived=None), expected=note) if note.archived else note

    def forget(self, key: str) -> Note:
        """Delete a note and everything it was before, also where its file was deleted by hand and only the past is left."""
        note = self.get(key, gone=True)
        self.catalog.remove(note.key)
        return note

    def put(self, note: Note, *, redact: bool = False) -> Note:
        """Store a note that is made already, such as one that is imported."""
        return self.catalog.write(_without_secrets(replace(note, text=self._checked(note.text, redact=redact)), redact=redact))

    def _checked(self, text: str, *, redact: bool) -> str:
        """A text that may be stored."""
        if not text.strip():
            raise UsageError("the note is empty", hint="say what to remember")
        if len(text) > self.settings.memory.max_bytes:
            limit = self.settings.memory.max_bytes
            raise UsageError(f"the note has {len(text)} characters, more than the {limit} allowed", hint="memory.max_bytes sets the limit")
        found = find_secrets(text)
        if found and not redact:
            named = ", ".join(f"line {one.line}: {one.kind}" for one in found[:5])
            raise UsageError(f"the note holds what looks like a secret ({named}); nothing was stored", hint="--redact stores it without")
        return redact_secrets(text, found) if found else text

    # Reading.
    def recall(self, query: str, *, k: int | None = None, project: str | None = None, **asked: Any) -> Recollections:
        """The notes that answer a question, best first within each category.

        `asked` are the fields of `query.note_options.NoteAsked`: topic, kinds, tags, since, until, as_of, archived,
        max_distance, strategy, profile.
        """
        if not query.strip():
            raise QueryError("the question is empty", hint="say what to recall, or use list")
        query = strip_secrets(query)
        wanted = RecallRequest.of(self.settings.memory, project=project, k=k, **asked)
        found: Recollections = []
        for again in range(TRIES):
            self.catalog.refresh(full=again > 0)
            ranked = recall(query, self._recalling(wanted))
            rows = in_categories(ranked, wanted.k)
            notes = [self._read_as_indexed(ranked, row) for row in rows]
            found = [recalled(ranked, row, note) for row, note in zip(rows, notes, strict=True) if note is not None]
            if len(found) == len(rows):
                break
        return found

    def search(self, question: ParsedQuery, k: int, **asked: Any) -> Recollections:
        """The best notes for a query that was read by `query.language`, among those that meet its conditions.

        More are asked for until there are as many, or no more: what does not meet them takes no place.
        """
        count = min(k, MOST)
        while True:
            found = self.recall(question.text, k=count, **asked)
            left = [
                one for one in found if note_matches(question, one.note.text, [one.note.key, *(about.path for about in one.note.about)])
            ]
            if len(left) >= k or len(found) < count or count == MOST:
                return left[:k]
            count = min(count * 4, MOST)

    def ranked(self, query: str, *, include: str = "", **asked: Any) -> RankedNotes:
        """Every candidate of a question with its ledger; `include` is the key of a note that is ranked even if nothing finds it."""
        wanted = RecallRequest.of(self.settings.memory, **asked)
        self.catalog.refresh()
        asking = self._recalling(wanted)
        if include:
            number = self._number(self.get(include).key)
            rows = np.flatnonzero(self.catalog.corpus.column("ids") == number)
            asking = replace(asking, include=rows)
        return recall(query, asking)

    def list(self, *, project: str | None = None, **asked: Any) -> Notes:
        """Notes in the order of their days, latest first; `asked` as for `recall`. Notes made from others are listed too."""
        wanted = RecallRequest.of(self.settings.memory, project=project, **{"any_time": True, **asked})
        self.catalog.refresh()
        corpus = self.catalog.corpus
        scope = narrowed(corpus, self.catalog, filters_of(wanted, time.time()), generated=True)
        rows = np.flatnonzero(scope.allowed)
        keys = {row[0]: told(row[1]) for row in self.catalog.store.rows("SELECT id, key FROM notes")}
        numbers = corpus.column("ids")[rows].tolist() if len(rows) else []
        days = corpus.column("days")[rows].tolist() if len(rows) else []
        dated = sorted((-day, keys[number]) for number, day in zip(numbers, days, strict=True) if number in keys)
        read = (self._shown(key) for _, key in dated[: wanted.k if asked.get("k") else None])
        return [note for note in read if note is not None]

    def stale(self, *, project: str | None = None, **asked: Any) -> Sequence[tuple[Note, str]]:
        """The notes whose code has changed or is gone, each with what became of it."""
        return [(note, said) for note in self.list(project=project, **asked) if note.about and (said := self.changed(note))]

    def _recalling(self, wanted: RecallRequest) -> RecallRun:
        now = time.time()
        name = "notes" if wanted.profile == "default" else f"notes_{wanted.profile}"
        return RecallRun(
            self.catalog,
            self.settings.memory,
            self.settings.profiles[name],
            filters_of(wanted, now),
            wanted.k,
            datetime.fromtimestamp(now, timezone.utc).toordinal(),
            wanted.strategy,
            wanted.max_distance,
            self.settings.memory.everywhere if wanted.profile != "classic" else 2.0,
            self.repository.name if self.repository else "",
            self._prose,
            self._changed_of,
            self.trace,
        )

    def _read_as_indexed(self, ranked: RankedNotes, row: int) -> Note | None:
        """The note of a candidate without its secrets, or None when its file is gone or not what was indexed."""
        key = ranked.pool.facts[row].key
        known = self.catalog.as_indexed(key) if key else None
        note = self._shown(key) if known else None
        return (
            replace(note, text=redact_secrets(note.text, find_secrets(note.text))) if note is not None and known and known.secret else note
        )

    def _check_topic(self, note: Note) -> None:
        """Two notes of one project and topic would replace one another."""
        same = [key for key in self.catalog.keys_of(note.folder, note.topic) if key != note.key] if note.topic else []
        if same:
            raise UsageError(f"{same[0]} has the topic {note.topic!r} already", hint="choose another topic, or edit that note")


def _known(kind: str) -> str:
    if kind not in KINDS:
        raise UsageError(f"there is no kind of note {kind!r}", hint=f"allowed: {', '.join(KINDS)}")
    return kind


def _now(not_before: datetime | None = None) -> datetime:
    """The time, to the second; a clock that went backwards does not make a note older than it is."""
    now = datetime.now(timezone.utc).replace(microsecond=0)
    return max(now, not_before) if not_before else now


def _several(given: Sequence[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)


def _without_secrets(note: Note, *, redact: bool) -> Note:
    """A note whose topic, project, tags and source hold no secret: such a one is refused, or taken out."""
    fields = {"topic": note.topic, "project": note.project, "source": note.source, "tags": " ".join(note.tags)}
    for name, value in fields.items():
        found = find_secrets(value)
        if found and not redact:
            raise UsageError(f"the {name} of the note holds what looks like a secret ({found[0].kind}); nothing was stored")
        if found:
            clean = [redact_secrets(one, find_secrets(one)) for one in (note.tags if name == "tags" else (value,))]
            changes: dict[str, Any] = {name: tuple(clean) if name == "tags" else clean[0]}
            note = replace(note, **changes)
    return note


def _check_window(note: Note) -> None:
    if note.valid_from and note.valid_until and note.valid_until <= note.valid_from:
        raise UsageError("the note would end before it begins to hold", hint="valid_until must be later than valid_from")

"""Notes as text and JSON."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import date, datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from whence.memory.note import Note
    from whence.search.excerpt import ShownLine

#: Characters of a topic that are shown beside a key.
MAX_TOPIC = 120
#: Lines of a note that are shown where it is not shown whole.
LINES_SHOWN = 4
#: Longer lines are shown in pieces of this many characters, the piece that matters alone.
MAX_PIECE = 200
#: Characters of a note that are searched for the lines that matter.
MAX_EXCERPTED = 200_000
_PIECES = re.compile(rf".{{1,{MAX_PIECE}}}(?:\s+|$)|.{{1,{MAX_PIECE}}}", re.DOTALL)


def changes_line(changed: Sequence[tuple[str, str]]) -> str:
    """Changed code as one line, such as `the code has changed since: src/app.py#run`."""
    by_change: dict[str, list[str]] = {}
    for code, change in changed:
        by_change.setdefault(change, []).append(code)
    return "; ".join(f"{change}: {', '.join(codes)}" for change, codes in by_change.items())


def day_of(note: Note) -> str:
    """The date of a note."""
    from whence.memory.index import day_of_note  # noqa: PLC0415  -- loaded with the memory

    day = day_of_note(note)
    return date.fromordinal(day).isoformat() if day else ""


def without_secrets(note: Note) -> tuple[Note, list[str]]:
    """A note as it may be shown, and what was taken out: a person may have written a secret into its file (Z10)."""
    from whence.text.secrets import find_secrets, redact_secrets  # noqa: PLC0415  -- loaded with the memory

    found = find_secrets(note.text)
    told = [f"line {one.line}: {one.kind}" for one in found]
    return (replace(note, text=redact_secrets(note.text, found)), told) if found else (note, [])


def facts_of(note: Note) -> str:
    """What is known of a note beside its text, on one line."""
    state = ("archived",) if note.archived else ()
    topic = note.topic if len(note.topic) <= MAX_TOPIC else f"{note.topic[: MAX_TOPIC - 1]}…"
    return "  ".join(filter(None, [day_of(note), topic, " ".join(f"#{tag}" for tag in note.tags), *state]))


def headline(note: Note) -> str:
    """What a note is about: its topic, or the first words of its text."""
    from whence.text.slugs import first_words  # noqa: PLC0415  -- loaded with the memory

    return note.topic or first_words(note.text, 12)


def excerpt(text: str, words: Sequence[str]) -> tuple[list[ShownLine], int]:
    """The lines of a note that matter most for some words, with those words marked, and how many lines are not shown."""
    from whence.search.excerpt import choose_lines, shown_line  # noqa: PLC0415  -- loaded with the memory
    from whence.text import analyzer  # noqa: PLC0415  -- as above

    whole = [line for line in text[:MAX_EXCERPTED].split("\n") if line.strip()]
    pieces = [piece.rstrip() for line in whole for piece in ([line] if len(line) <= MAX_PIECE else _PIECES.findall(line))]
    weights = {term: 1.0 for word in words for term in analyzer.terms(word)}
    first = [shown_line(number, piece, weights) for number, piece in enumerate(pieces[:LINES_SHOWN], 1)]
    if len(pieces) <= LINES_SHOWN:
        return first, 0
    chosen = choose_lines(pieces, 1, len(pieces), weights, LINES_SHOWN)
    shown = chosen if any(line.marks for line in chosen) else first
    return shown, len(pieces) - len(shown)


def note_json(note: Note) -> dict[str, Any]:
    """A note as JSON: every field, and its key."""
    return {
        "key": note.key,
        "project": note.project,
        "topic": note.topic,
        "kind": note.kind,
        "category": note.category,
        "tags": list(note.tags),
        "source": note.source,
        **{name: _time_json(getattr(note, name)) for name in ("created", "updated", "valid_from", "valid_until", "archived")},
        "about": [{"code": about.code, "hash": about.hash, "repository": about.repository} for about in note.about],
        "trouble": note.problem,
        "text": note.text,
    }


def changes_json(changed: Sequence[tuple[str, str]]) -> list[dict[str, str]]:
    """Changed code as JSON."""
    return [{"code": code, "said": said} for code, said in changed]


def _time_json(moment: datetime | None) -> str | None:
    return f"{moment.replace(tzinfo=None).isoformat()}Z" if moment else None

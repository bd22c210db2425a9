"""Notes as text, JSON and MCP content."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from datetime import date, datetime
from typing import TYPE_CHECKING, Any

from whence.app.presenters.search import flag_content, marked, why_content, why_json, why_lines
from whence.app.presenters.text import Document, safe
from whence.memory.note import CATEGORIES, TIMES, Note

if TYPE_CHECKING:
    from whence.memory.memory import Memory
    from whence.memory.recall import RecalledNote, RecallResponse
    from whence.text.excerpt import ShownLine
    from whence.text.injection import Instruction

#: Characters of a topic that are shown beside a key.
MAX_TOPIC = 120
#: Lines of a note that are shown where it is not shown whole.
LINES_SHOWN = 4
#: Longer lines are shown in pieces of this many characters, the piece that matters alone.
MAX_PIECE = 200
#: Characters of a note that are searched for the lines that matter.
MAX_EXCERPTED = 200_000
#: Characters of the passage of a note that answers least.
LEAST_PASSAGE = 300
#: Keys of similar notes that are named; the rest is counted.
MAX_ALIKE = 5
#: Characters of a note's source that agents get.
MAX_SOURCE = 60
INDENT = " " * 6
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


def other_owner(memory: Memory, note: Note) -> str:
    """A line for a note that is neither of the repository that asks nor the user's."""
    return "" if memory.is_ours(note) else f"of another repository: {note.project or note.folder}"


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
    kind = (f"[{note.kind}]",) if note.category != CATEGORIES[0] else ()
    return "  ".join(filter(None, [day_of(note), *kind, topic, " ".join(f"#{tag}" for tag in note.tags), *state]))


def headline(note: Note) -> str:
    """What a note is about: its topic, or the first words of its text."""
    from whence.text.slugs import first_words  # noqa: PLC0415  -- loaded with the memory

    return note.topic or first_words(note.text, 12)


def excerpt(text: str, words: Sequence[str]) -> tuple[list[ShownLine], int]:
    """The lines of a note that matter most for some words, with those words marked, and how many lines are not shown."""
    from whence.text import analyzer  # noqa: PLC0415  -- as above
    from whence.text.excerpt import choose_lines, shown_line  # noqa: PLC0415  -- loaded with the memory

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
        **{name: getattr(note, name) for name in ("key", "project", "topic", "kind", "category")},
        "tags": list(note.tags),
        "source": note.source,
        **{name: time_json(getattr(note, name)) for name in TIMES},
        "about": [asdict(about) for about in note.about],
        "trouble": note.problem,
        "text": note.text,
    }


def changes_json(changed: Sequence[tuple[str, str]]) -> list[dict[str, str]]:
    """Changed code as JSON."""
    return [{"code": code, "said": said} for code, said in changed]


def time_json(moment: datetime | None) -> str | None:
    """A time as 2026-11-16T10:30:00Z."""
    return f"{moment.replace(tzinfo=None).isoformat()}Z" if moment else None


# Recall.
def recall_document(memory: Memory, found: RecallResponse, style: Callable[..., str], *, full: bool, with_why: bool) -> Document:
    """Recalled notes, one item each."""
    from whence.memory.recall import LOW_CONFIDENCE  # noqa: PLC0415  -- loaded with the memory

    document = Document()
    if found.is_low_confidence:
        document.item(style(LOW_CONFIDENCE, fg="yellow"))
    if found.remark:
        document.item(style(safe(found.remark), dim=True))
    for place, one in enumerate(found, 1):
        document.item(*_recalled_lines(memory, place, one, found.words, style, full=full))
        if with_why:
            document.more(*why_lines(one.why, style))
    return document


def _recalled_lines(
    memory: Memory, place: int, one: RecalledNote, words: Sequence[str], style: Callable[..., str], *, full: bool
) -> Iterator[str]:
    from whence.text.injection import warning_of  # noqa: PLC0415  -- loaded with the memory

    key = style(safe(one.note.key), fg="magenta", bold=True)
    score = style(f"{one.score:.2f}", dim=True)
    yield f"{style(f'{place:>2}', dim=True)} {one.label}: {key}  {score}  {safe(facts_of(one.note))}".rstrip()
    if other := other_owner(memory, one.note):
        yield f"{INDENT}{style(safe(other), fg='yellow')}"
    if warning := warning_of(flags_in(one.note), "this note"):
        yield f"   {style(warning, fg='yellow')}"
    yield from _whole_lines(one.note) if full else _passage_lines(one, words, style)
    yield from _state_lines(memory, one.note, style)
    if one.alike:
        named = ", ".join(one.alike[:MAX_ALIKE]) + (", ..." if len(one.alike) > MAX_ALIKE else "")
        yield f"{INDENT}{style(f'and {len(one.alike)} alike: {safe(named)}', dim=True)}"


def stale_document(memory: Memory, notes: Sequence[Note], style: Callable[..., str], *, full: bool) -> Document:
    """Notes whose code has changed, one item each."""
    document = Document()
    for note in notes:
        document.item(f"{style(safe(note.key), fg='magenta', bold=True)}  {safe(facts_of(note))}".rstrip())
        document.more(*(_whole_lines(note) if full else _excerpt_lines(note, style)), *_state_lines(memory, note, style))
    return document


def _whole_lines(note: Note) -> Iterator[str]:
    yield from (f"{INDENT}{safe(line)}" for line in note.text.rstrip("\n").split("\n"))


def _passage_lines(one: RecalledNote, words: Sequence[str], style: Callable[..., str]) -> Iterator[str]:
    """The passage that answers, with the words of the query marked, and how to see the rest."""
    from whence.text import analyzer  # noqa: PLC0415  -- loaded with the memory
    from whence.text.excerpt import shown_line  # noqa: PLC0415  -- as above

    weights = {term: 1.0 for word in words for term in analyzer.terms(word)}
    passage = one.passage_within(count=LINES_SHOWN)
    for text in passage.lines:
        line = shown_line(1, text, weights)
        yield f"{INDENT}{marked(line.text, line.marks, style)}"
    if passage.left:
        yield f"{INDENT}{style(f'... {passage.left} more lines: whence show {safe(one.note.key)}#{passage.line}', dim=True)}"


def _excerpt_lines(note: Note, style: Callable[..., str]) -> Iterator[str]:
    lines, left = excerpt(note.text, ())
    yield from (f"{INDENT}{marked(line.text, line.marks, style)}" for line in lines)
    if left:
        yield f"{INDENT}{style(f'... {left} more lines', dim=True)}"


def _state_lines(memory: Memory, note: Note, style: Callable[..., str]) -> Iterator[str]:
    """Whether the code of a note has changed, and whether its file is broken."""
    if changed := memory.changed_code(note):
        yield f"{INDENT}{style(safe(changes_line(changed)), fg='yellow')}"
    if note.problem:
        yield f"{INDENT}{style(safe(f'its file cannot be parsed: {note.problem}'), fg='yellow')}"


def recall_content(memory: Memory, found: RecallResponse, *, with_why: bool) -> Document:
    """Recalled notes as MCP content: of each the passage that answers, the longer the better it ranks; fillers are left out."""
    from whence.memory.passages import MAX_PASSAGE  # noqa: PLC0415  -- as above
    from whence.memory.recall import FAINT, LOW_CONFIDENCE  # noqa: PLC0415  -- loaded with the memory

    document = Document([] if found else [["nothing found in the notes"]])
    if found and found.is_low_confidence:
        document.item(LOW_CONFIDENCE)
    if found.remark:
        document.item(safe(found.remark))
    listed = [one for one in found if one.label != FAINT] or found
    for place, one in enumerate(listed, 1):
        note, changed = one.note, memory.code_changes(one.note)
        day = f", {day}" if (day := day_of(note)) else ""
        topic = f" {note.topic!r}" if note.topic else ""
        source = f", from {note.source[:MAX_SOURCE]}" if note.source else ""
        held = ", its code is as it was" if note.about and not changed else ""
        document.item(f"{place}. {safe(note.key)} [{one.label} {one.score:.2f}] {note.kind}{safe(topic)}{day}{safe(source)}{held}")
        document.more(*([f"  {safe(other).upper()}"] if (other := other_owner(memory, note)) else ()))
        document.more(*([f"  THE CODE HAS CHANGED SINCE: {safe(changed)}"] if changed else ()), *flag_content(flags_in(note), "this note"))
        worth = one.score / listed[0].score if listed[0].score > 0 else 0.0
        passage = one.passage_within(max(LEAST_PASSAGE, int(MAX_PASSAGE * min(worth, 1.0))))
        document.more(*(f"  | {safe(line)}" for line in passage.lines))  # no line of a note can pass for ours
        document.more(
            *(
                [f"  ({passage.left} more pieces from line {passage.line}: whence show {safe(note.key)}#{passage.line})"]
                if passage.left
                else ()
            )
        )
        document.more(*([f"  (and {len(one.alike)} alike)"] if one.alike else ()), *(why_content(one.why) if with_why else ()))
    return document


def recall_json(memory: Memory, query: str, found: RecallResponse, *, with_why: bool) -> dict[str, Any]:
    """Recalled notes as JSON."""
    from whence.source.read import strip_secrets  # noqa: PLC0415  -- loaded with the memory

    return {
        "query": strip_secrets(query),
        "count": len(found),
        "searched": found.searched,
        "low_confidence": found.is_low_confidence,
        "notes": [
            {
                **note_json(one.note),
                "score": one.score,
                "label": one.label,
                "semantic": one.semantic,
                "distance": one.distance,
                "changed": changes_json(changed),
                "alike": list(one.alike),
                "passage": {"text": one.passage.text, "line": one.passage.line, "left": one.passage.left, "date": day_of(one.note)},
                **_trust_json(memory, one.note, changed),
                **({"why": why_json(one.why)} if with_why else {}),
            }
            for one, changed in ((one, memory.changed_code(one.note)) for one in found)
        ],
    }


def stale_json(memory: Memory, notes: Sequence[Note], searched: int) -> dict[str, Any]:
    """Notes whose code has changed as JSON, in the form of a recall."""
    listed = [{**note_json(note), "changed": changes_json(memory.changed_code(note))} for note in notes]
    return {"query": "", "count": len(notes), "searched": searched, "low_confidence": False, "notes": listed}


def nothing_found(memory: Memory, searched: int, *, stale: bool = False) -> str:
    """Say that nothing was found, and among how many notes."""
    every = memory.count(any_time=True, archived=True, generated=stale)
    of = f"{searched} of {every} notes were searched" if searched != every else f"{every} note{'' if every == 1 else 's'} searched"
    return f"nothing {'stale ' if stale else ''}found; {of}"


def _trust_json(memory: Memory, note: Note, changed: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Where a note is from, whether its code is as it was, and what in it reads like an instruction (Z11)."""
    from whence.text.injection import flags_json  # noqa: PLC0415  -- loaded with the memory

    state = "changed" if changed else "as it was" if note.about else None
    return {
        "provenance": {"sort": "note", "source": note.source or None, "code": state, "ours": memory.is_ours(note)},
        **flags_json(flags_in(note)),
    }


def flags_in(note: Note) -> list[Instruction]:
    """What in a note reads like an instruction: agents read this output, too."""
    from whence.text.injection import CONVERSATION, flags_of  # noqa: PLC0415  -- loaded with the memory

    found = flags_of(enumerate(note.text.strip("\n").split("\n"), 1), (note.key, note.topic, note.source))
    return [one for one in found if note.kind != "session" or one.reason != CONVERSATION]  # a session is one

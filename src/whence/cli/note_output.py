"""What the commands of memory share: which notes a call is about, what it may be narrowed to, and how notes are shown."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import date, datetime
from typing import TYPE_CHECKING, Any

import click

from whence.cli.options import request_options
from whence.cli.output import print_item, print_more
from whence.cli.shared import ProgressBar, color_option, json_option, safe, set_option, settings_of
from whence.core.errors import UsageError
from whence.core.request import pick_fields
from whence.memory.request import RecallRequest

if TYPE_CHECKING:
    from whence.core.trace import Trace
    from whence.memory.memory import Memory
    from whence.memory.note import Note
    from whence.search.excerpt import ShownLine

#: More of a topic is not shown beside a key.
LONGEST_TOPIC = 120
#: Lines of a note that are shown where it is not shown whole.
LINES_SHOWN = 4
#: Longer lines are shown in pieces of this many characters, the piece that matters alone.
LONGEST_PIECE = 200
#: Characters of a note that are looked at for the lines that matter.
MOST_LOOKED_AT = 200_000
_PIECES = re.compile(rf".{{1,{LONGEST_PIECE}}}(?:\s+|$)|.{{1,{LONGEST_PIECE}}}", re.DOTALL)

Option = Callable[[Any], Any]


def _together(*options: Option) -> Option:
    """Several options as one decorator, in the order in which help shows them."""

    def add(command: Any) -> Any:
        for option in reversed(options):
            command = option(command)
        return command

    return add


place_options = _together(
    click.option(
        "--team", is_flag=True, help="Use the repository's notes (.whence/notes), not your own; same as --set memory.place=repository."
    ),
    click.option("--notes", "directory", type=click.Path(file_okay=False), metavar="DIRECTORY", help="Use the notes in this folder."),
)
#: What a call looks like and where its notes are: every command of memory has these.
usual_options = _together(place_options, json_option, color_option, set_option)
#: Which notes: what recalls and listings have in common.
filter_options = request_options(RecallRequest, only=("project", "topic", "kinds", "tags", "since", "until", "as_of"))


# Which notes.
@contextmanager
def opened(options: dict[str, Any], trace: Trace | None = None) -> Iterator[Memory]:
    """The notes that a call is about; what a user should know of them is said on standard error."""
    from whence.memory.memory import Memory  # noqa: PLC0415  -- loads numpy

    values = settings_of(options["assignments"])
    if options["team"]:
        if options["directory"] is not None:
            raise UsageError("--team and --notes name two folders", hint="give one")
        values |= {"memory.place": "repository", "memory.directory": ""}
    progress = ProgressBar("reading notes")
    try:
        memory = Memory.open(options["directory"], command_line=values, progress=progress, trace=trace)
    finally:
        progress.close()
    with memory:
        count = _print_remarks(memory.remarks)
        yield memory
        _print_remarks(memory.remarks[count:])


def _print_remarks(lines: Sequence[str]) -> int:
    for line in lines:
        click.echo(f"whence: {safe(line)}", err=True)
    return len(lines)


def recall_options(options: dict[str, Any]) -> dict[str, Any]:
    """The options of a `RecallRequest` that were given."""
    return {name: value for name, value in pick_fields(RecallRequest, options).items() if value not in (None, ())}


# What is shown of a note.
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
    topic = note.topic if len(note.topic) <= LONGEST_TOPIC else f"{note.topic[: LONGEST_TOPIC - 1]}…"
    return "  ".join(filter(None, [day_of(note), topic, " ".join(f"#{tag}" for tag in note.tags), *state]))


def headline(note: Note) -> str:
    """What a note is about: its topic, or the first words of its text."""
    from whence.text.slugs import first_words  # noqa: PLC0415  -- loaded with the memory

    return note.topic or first_words(note.text, 12)


def excerpt(text: str, words: Sequence[str]) -> tuple[list[ShownLine], int]:
    """The lines of a note that matter most for some words, with those words marked, and how many lines are not shown."""
    from whence.search.excerpt import choose_lines, shown_line  # noqa: PLC0415  -- loaded with the memory
    from whence.text import analyzer  # noqa: PLC0415  -- as above

    whole = [line for line in text[:MOST_LOOKED_AT].split("\n") if line.strip()]
    pieces = [piece.rstrip() for line in whole for piece in ([line] if len(line) <= LONGEST_PIECE else _PIECES.findall(line))]
    weights = {term: 1.0 for word in words for term in analyzer.terms(word)}
    first = [shown_line(number, piece, weights) for number, piece in enumerate(pieces[:LINES_SHOWN], 1)]
    if len(pieces) <= LINES_SHOWN:
        return first, 0
    chosen = choose_lines(pieces, 1, len(pieces), weights, LINES_SHOWN)
    shown = chosen if any(line.marks for line in chosen) else first
    return shown, len(pieces) - len(shown)


def print_columns(rows: Sequence[Sequence[str]], style: Callable[..., str]) -> None:
    """Rows of a table, the first column in bold: aligned on a terminal, with tabs between whole values in a pipe."""
    shown = [[safe(value) for value in row] for row in rows]
    if not sys.stdout.isatty():
        for row in shown:
            print_item("\t".join(row))
        return
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    for row in shown:
        first, *rest = [value.ljust(width) for value, width in zip(row, widths, strict=True)]
        print_item("  ".join([style(first, bold=True), *rest]).rstrip())


def print_lines(text: str, style: Callable[..., str] = str, *, indent: str = "", **looks: Any) -> None:
    """A text of several lines, each safe for a terminal."""
    for line in text.split("\n"):
        (print_more if indent else print_item)(f"{indent}{style(safe(line), **looks)}")


# JSON.
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

"""`whence recall`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

import click

from whence.app.presenters.memory import changes_json, changes_line, excerpt, facts_of, note_json
from whence.app.presenters.search import marked, why_json, why_lines
from whence.app.presenters.text import safe
from whence.cli.main import FOUND, NOTHING_FOUND
from whence.cli.note_output import opened, print_lines, recall_options, usual_options
from whence.cli.options import request_options
from whence.cli.output import print_item, print_json, print_more
from whence.cli.shared import styler, tracing
from whence.memory.request import RecallRequest

if TYPE_CHECKING:
    from whence.memory.memory import Memory
    from whence.memory.note import Note
    from whence.memory.result import RecalledNote, RecallResponse
    from whence.text.injection import Instruction

INDENT = " " * 6
#: Keys of notes that say the same and are named; the rest is counted.
MOST_ALIKE = 5


@click.command(
    epilog="""\b
Examples:
  whence recall how often do we retry
  whence recall "why sqlite" --project app --why
  whence recall "release" --since "last month" --tag ops --full
  whence recall --stale"""
)
@click.argument("question", nargs=-1, metavar="[QUESTION]...")
@request_options(RecallRequest)
@click.option("--all", "everything", is_flag=True, help="Also notes that are archived, have expired or are not valid yet.")
@click.option("--why", "with_why", is_flag=True, help="Show what each score is made of.")
@click.option("--stale", is_flag=True, help="Only notes whose code has changed; without a question: all of them.")
@click.option("--full", is_flag=True, help="Show the whole text, not only the lines that matter.")
@click.option("--trace", "trace_file", type=click.Path(dir_okay=False), help="Write every stage to a file, as lines of JSON.")
@usual_options
def recall(question: tuple[str, ...], **options: Any) -> int:
    """Find notes by words and meaning, best first.

    A note is labelled `exact` if it was found by meaning and a word confirms it,
    `keyword-only` if by words alone, `semantic` if by meaning alone, `dated` if
    by a time in the question, and `faint` if it only fills a short list. A note
    whose code has changed says so and is ranked lower.
    """
    query = " ".join(question)
    with tracing(options["trace_file"]) as trace, opened(options, trace) as memory:
        given = recall_options(options)
        if options["everything"]:
            given |= {"any_time": True, "archived": True}
        if options["stale"] and not query.strip():
            return _print_stale(memory, given, options)
        found = memory.recall(query, **given)
        if options["stale"]:
            found = found.filtered(lambda one: bool(one.changed))
        if options["as_json"]:
            print_json(response_json(memory, query, found, with_why=options["with_why"]))
        elif found:
            print_response(memory, found, options)
        else:
            click.echo(nothing_found(memory, found.searched, stale=options["stale"]), err=True)
    return FOUND if found else NOTHING_FOUND


def nothing_found(memory: Memory, searched: int, *, stale: bool = False) -> str:
    """That nothing was found, and among how many notes."""
    every = memory.count(any_time=True, archived=True, generated=stale)
    of = f"{searched} of {every} notes were searched" if searched != every else f"{every} note{'' if every == 1 else 's'} searched"
    return f"nothing {'stale ' if stale else ''}found; {of}"


def print_response(memory: Memory, found: RecallResponse, options: dict[str, Any]) -> None:
    """Print the notes of a response by category."""
    from whence.memory.result import LOW_CONFIDENCE  # noqa: PLC0415  -- loaded with the memory

    style = styler(options["color"])
    if found.is_low_confidence:
        print_item(style(LOW_CONFIDENCE, fg="yellow"))
    several = len({one.category for one in found}) > 1
    place = 0
    for category, some in groupby(found, key=lambda one: one.category):
        if several:
            print_item(style(f"{category}:", bold=True))
        for place, one in enumerate(some, place + 1):  # noqa: B020  -- numbers go on from one category to the next
            _print_one(memory, place, one, found.words, style, options)


def _print_one(
    memory: Memory, place: int, one: RecalledNote, words: Sequence[str], style: Callable[..., str], options: dict[str, Any]
) -> None:
    key = style(safe(one.note.key), fg="magenta", bold=True)
    score = style(f"{one.score:.2f}", dim=True)
    print_item(f"{style(f'{place:>2}', dim=True)} {one.label}: {key}  {score}  {safe(facts_of(one.note))}".rstrip())
    _print_flags(one.note, style)
    _print_text(one.note, words, style, full=options["full"])
    _print_problems(memory, one.note, style)
    if one.alike:
        named = ", ".join(one.alike[:MOST_ALIKE]) + (", ..." if len(one.alike) > MOST_ALIKE else "")
        print_more(f"{INDENT}{style(f'and {len(one.alike)} alike: {safe(named)}', dim=True)}")
    if options["with_why"]:
        print_more(*why_lines(one.why, style))


def _print_flags(note: Note, style: Callable[..., str]) -> None:
    """That a note reads like an instruction: agents read this output, too, and hardly any note does."""
    from whence.parse.provenance import warning_of  # noqa: PLC0415  -- loaded with the memory

    if said := warning_of(_flags(note), "this note"):
        print_more(f"   {style(said, fg='yellow')}")


def _print_text(note: Note, words: Sequence[str], style: Callable[..., str], *, full: bool) -> None:
    if full:
        print_lines(note.text.rstrip("\n"), indent=INDENT)
        return
    lines, left = excerpt(note.text, words)
    for line in lines:
        print_more(f"{INDENT}{marked(line.text, line.marks, style)}")
    if left:
        print_more(f"{INDENT}{style(f'... {left} more lines', dim=True)}")


def _print_problems(memory: Memory, note: Note, style: Callable[..., str]) -> None:
    """Print that the code of a note has changed, or that its file cannot be parsed."""
    if changed := memory.changed_code(note):
        print_more(f"{INDENT}{style(safe(changes_line(changed)), fg='yellow')}")
    if note.problem:
        print_more(f"{INDENT}{style(safe(f'its file cannot be parsed: {note.problem}'), fg='yellow')}")


def _print_stale(memory: Memory, given: dict[str, Any], options: dict[str, Any]) -> int:
    """Print every note whose code has changed, without a question."""
    given |= {"any_time": "as_of" not in given, "k": None}
    found = [note for note, _ in memory.stale(**given)][: options["k"]]
    searched = memory.count(generated=True, **given)
    if options["as_json"]:
        listed = [{**note_json(note), "changed": changes_json(memory.changed_code(note))} for note in found]
        print_json({"query": "", "count": len(found), "searched": searched, "low_confidence": False, "notes": listed})
    elif found:
        style = styler(options["color"])
        for note in found:
            print_item(f"{style(safe(note.key), fg='magenta', bold=True)}  {safe(facts_of(note))}".rstrip())
            _print_text(note, (), style, full=options["full"])
            _print_problems(memory, note, style)
    else:
        click.echo(nothing_found(memory, searched, stale=True), err=True)
    return FOUND if found else NOTHING_FOUND


def response_json(memory: Memory, query: str, found: RecallResponse, *, with_why: bool) -> dict[str, Any]:
    """A response as JSON."""
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
                **_trust_json(one.note, changed),
                **({"why": why_json(one.why)} if with_why else {}),
            }
            for one, changed in ((one, memory.changed_code(one.note)) for one in found)
        ],
    }


def _trust_json(note: Note, changed: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Where a note is from, whether its code is as it was, and what in it reads like an instruction (Z11)."""
    from whence.parse.provenance import flags_json  # noqa: PLC0415  -- loaded with the memory

    state = "changed" if changed else "as it was" if note.about else None
    return {"provenance": {"sort": "note", "source": note.source or None, "code": state}, **flags_json(_flags(note))}


def _flags(note: Note) -> list[Instruction]:
    from whence.parse.provenance import flags_of  # noqa: PLC0415  -- loaded with the memory

    return flags_of(enumerate(note.text.strip("\n").split("\n"), 1), (note.key, note.topic, note.source))

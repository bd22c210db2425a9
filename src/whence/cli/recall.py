"""`whence recall`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from itertools import groupby
from typing import TYPE_CHECKING, Any

import click

from whence.cli.main import FOUND, NOTHING_FOUND
from whence.cli.note_output import (
    asked_of,
    became,
    became_json,
    became_words,
    count_of,
    excerpt,
    facts_of,
    filter_options,
    note_json,
    opened,
    print_lines,
    usual_options,
)
from whence.cli.search import marked, print_why, why_json
from whence.cli.shared import print_json, safe, styler, tracing

if TYPE_CHECKING:
    from whence.memory.memory import Memory
    from whence.memory.note import Note
    from whence.memory.result import RecalledNote
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
@click.option("-k", type=click.IntRange(min=1), help="How many notes (default: setting memory.k).")
@filter_options
@click.option("--all", "everything", is_flag=True, help="Also what is archived, holds no longer or not yet.")
@click.option("--max-distance", type=float, metavar="D", help="Only what vectors find within this distance (1 - similarity).")
@click.option("--strategy", metavar="union|vector|lexical", help="Who proposes candidates (default: words and vectors).")
@click.option("--profile", metavar="NAME", help="Ranking of notes: default or classic.")
@click.option("--why", "with_why", is_flag=True, help="Show what each score is made of.")
@click.option("--stale", is_flag=True, help="Only notes whose code has changed; without a question: all of them.")
@click.option("--full", is_flag=True, help="Show the whole text, not only the lines that matter.")
@click.option("--trace", "trace_file", type=click.Path(dir_okay=False), help="Write every stage to a file, as lines of JSON.")
@usual_options
def recall(question: tuple[str, ...], **options: Any) -> int:
    """Find notes by words and meaning; the best come first.

    `exact` is found by meaning and a word confirms it, `keyword-only` by words alone,
    `semantic` by meaning alone, `dated` by the time that was asked for, `faint` for want of better. A note whose
    code has changed since it was written says so, and comes later.
    """
    query = " ".join(question)
    with tracing(options["trace_file"]) as trace, opened(options, trace) as memory:
        asked = asked_of(options)
        if options["everything"]:
            asked |= {"any_time": True, "archived": True}
        if options["stale"] and not query.strip():
            return _print_stale(memory, asked, options)
        ranking = {name: options[name] for name in ("max_distance", "strategy", "profile")}
        found = memory.recall(query, k=options["k"], **asked, **ranking)
        if options["stale"]:
            found = [one for one in found if one.changed]
        searched = count_of(memory, asked)
        if options["as_json"]:
            print_json(recalled_json(memory, query, found, searched, with_why=options["with_why"]))
        elif found:
            print_found(memory, query, found, options)
        else:
            click.echo(nothing_found(memory, searched, stale=options["stale"]), err=True)
    return FOUND if found else NOTHING_FOUND


def nothing_found(memory: Memory, searched: int, *, stale: bool = False) -> str:
    """That nothing was found, and among how many notes."""
    every = count_of(memory, {"any_time": True, "archived": True}, generated=stale)
    of = f"{searched} of {every} notes were searched" if searched != every else f"{every} note{'' if every == 1 else 's'} searched"
    return f"nothing {'stale ' if stale else ''}found; {of}"


def print_found(memory: Memory, query: str, found: Sequence[RecalledNote], options: dict[str, Any]) -> None:
    """The notes that were found, by category."""
    from whence.memory.plan import make_note_plan  # noqa: PLC0415  -- loaded with the memory
    from whence.memory.result import LOW_CONFIDENCE, is_low_confidence  # noqa: PLC0415  -- as above

    style = styler(options["color"])
    words = make_note_plan(query, memory.catalog.reader.language, datetime.now().astimezone().toordinal()).words
    if is_low_confidence(found):
        click.echo(style(LOW_CONFIDENCE, fg="yellow"), color=True)
    several = len({one.category for one in found}) > 1
    place = 0
    for category, some in groupby(found, key=lambda one: one.category):
        if several:
            click.echo(style(f"{category}:", bold=True), color=True)
        for place, one in enumerate(some, place + 1):  # noqa: B020  -- numbers go on from one category to the next
            _print_one(memory, place, one, words, style, options)


def _print_one(
    memory: Memory, place: int, one: RecalledNote, words: Sequence[str], style: Callable[..., str], options: dict[str, Any]
) -> None:
    key = style(safe(one.note.key), fg="magenta", bold=True)
    score = style(f"{one.score:.2f}", dim=True)
    click.echo(f"{style(f'{place:>2}', dim=True)} {one.label}: {key}  {score}  {safe(facts_of(one.note))}".rstrip(), color=True)
    _print_flags(one.note, style)
    _print_text(one.note, words, style, full=options["full"])
    _print_trouble(memory, one.note, style)
    if one.alike:
        named = ", ".join(one.alike[:MOST_ALIKE]) + (", ..." if len(one.alike) > MOST_ALIKE else "")
        click.echo(f"{INDENT}{style(f'and {len(one.alike)} alike: {safe(named)}', dim=True)}", color=True)
    if options["with_why"]:
        print_why(one.why, style)


def _print_flags(note: Note, style: Callable[..., str]) -> None:
    """That a note reads like an instruction: agents read this output, too, and hardly any note does."""
    from whence.parse.provenance import warning_of  # noqa: PLC0415  -- loaded with the memory

    if said := warning_of(_flags(note), "this note"):
        click.echo(f"   {style(said, fg='yellow')}", color=True)


def _print_text(note: Note, words: Sequence[str], style: Callable[..., str], *, full: bool) -> None:
    if full:
        print_lines(note.text.rstrip("\n"), indent=INDENT)
        return
    lines, left = excerpt(note.text, words)
    for line in lines:
        click.echo(f"{INDENT}{marked(line.text, line.marks, style)}", color=True)
    if left:
        click.echo(f"{INDENT}{style(f'... {left} more lines', dim=True)}", color=True)


def _print_trouble(memory: Memory, note: Note, style: Callable[..., str]) -> None:
    """What is not as it should be."""
    if changed := became(memory, note):
        click.echo(f"{INDENT}{style(safe(became_words(changed)), fg='yellow')}", color=True)
    if note.trouble:
        click.echo(f"{INDENT}{style(safe(f'its file cannot be read as a note: {note.trouble}'), fg='yellow')}", color=True)


def _print_stale(memory: Memory, asked: dict[str, Any], options: dict[str, Any]) -> int:
    """Every note whose code has changed, without a question."""
    asked |= {"any_time": "as_of" not in asked}
    found = [note for note, _ in memory.stale(**asked)][: options["k"]]
    searched = count_of(memory, asked, generated=True)
    if options["as_json"]:
        listed = [{**note_json(note), "changed": became_json(became(memory, note))} for note in found]
        print_json({"query": "", "count": len(found), "searched": searched, "low_confidence": False, "notes": listed})
    elif found:
        style = styler(options["color"])
        for note in found:
            click.echo(f"{style(safe(note.key), fg='magenta', bold=True)}  {safe(facts_of(note))}".rstrip(), color=True)
            _print_text(note, (), style, full=options["full"])
            _print_trouble(memory, note, style)
    else:
        click.echo(nothing_found(memory, searched, stale=True), err=True)
    return FOUND if found else NOTHING_FOUND


def recalled_json(memory: Memory, query: str, found: Sequence[RecalledNote], searched: int, *, with_why: bool) -> dict[str, Any]:
    """The same as JSON."""
    from whence.memory.result import is_low_confidence  # noqa: PLC0415  -- loaded with the memory
    from whence.source.read import strip_secrets  # noqa: PLC0415  -- the same

    return {
        "query": strip_secrets(query),
        "count": len(found),
        "searched": searched,
        "low_confidence": is_low_confidence(found),
        "notes": [
            {
                **note_json(one.note),
                "score": one.score,
                "label": one.label,
                "semantic": one.semantic,
                "distance": one.distance,
                "changed": became_json(changed),
                "alike": list(one.alike),
                **_trust_json(one.note, changed),
                **({"why": why_json(one.why)} if with_why else {}),
            }
            for one, changed in ((one, became(memory, one.note)) for one in found)
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

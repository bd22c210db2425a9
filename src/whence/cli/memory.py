"""Commands for notes: `whence recall`, `list`, `show`, `archive`, `forget`, `compact`, `import` and `export`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from whence.app.command_line import settings_of
from whence.app.presenters.memory import (
    changes_json,
    changes_line,
    day_of,
    headline,
    note_json,
    nothing_found,
    recall_document,
    recall_json,
    stale_document,
    stale_json,
    without_secrets,
)
from whence.app.presenters.text import safe
from whence.cli.completion import complete_note
from whence.cli.shared import (
    FAILED,
    FOUND,
    NOTHING_FOUND,
    ProgressBar,
    answer_options,
    print_document,
    print_item,
    print_json,
    print_result,
    print_text,
    request_options,
    styler,
    together,
    trace_option,
    tracing,
)
from whence.core.errors import UsageError
from whence.core.request import pick_fields
from whence.memory.front_matter import render
from whence.memory.memory import Memory
from whence.memory.request import RecallRequest
from whence.text.slugs import first_words

if TYPE_CHECKING:
    from whence.core.trace import Trace
    from whence.memory.compaction import CompactionStep
    from whence.memory.note import Note
    from whence.memory.staleness import CodeHistory

LISTED = 50
#: Characters of a topic, or of the first words of a note, in a list on a terminal.
MAX_HEADLINE = 60

_TEAM = "Use the repository's notes (.whence/notes), not your own; same as --set memory.place=repository."
#: Options of every command of memory.
usual_options = together(
    click.option("--team", is_flag=True, help=_TEAM),
    click.option("--everywhere", is_flag=True, help="Also notes of other repositories; by default only this one's and your own."),
    click.option("--notes", "directory", type=click.Path(file_okay=False), metavar="DIRECTORY", help="Use the notes in this folder."),
    answer_options,
)
#: Filters that recalls and listings share.
filter_options = request_options(RecallRequest, only=("project", "topic", "kinds", "tags", "since", "until", "as_of"))


@contextmanager
def open_notes(options: dict[str, Any], trace: Trace | None = None) -> Iterator[Memory]:
    """Open the notes that the options choose; warnings about them go to standard error."""
    values = settings_of(options["assignments"])
    if options["team"]:
        if options["directory"] is not None:
            raise UsageError("--team and --notes name two folders", hint="give one")
        values |= {"memory.place": "repository", "memory.directory": ""}
    with ProgressBar("reading notes") as progress:
        memory = Memory.open(options["directory"], command_line=values, everywhere=options["everywhere"], progress=progress, trace=trace)
    with memory:
        count = _print_remarks(memory.remarks)
        yield memory
        _print_remarks(memory.remarks[count:])


def _print_remarks(lines: Sequence[str]) -> int:
    for line in lines:
        click.echo(f"whence: {safe(line)}", err=True)
    return len(lines)


def _recall_fields(options: dict[str, Any]) -> dict[str, Any]:
    """The options of a `RecallRequest` that were given."""
    return {name: value for name, value in pick_fields(RecallRequest, options).items() if value not in (None, ()) and value is not False}


@click.command(
    epilog="""\b
Examples:
  whence recall how often do we retry
  whence recall "why sqlite" --project app --why
  whence recall "release" --since "last month" --tag ops --full
  whence recall --since monday
  whence recall --stale"""
)
@click.argument("question", nargs=-1, metavar="[QUESTION]...")
@request_options(RecallRequest)
@click.option("--all", "everything", is_flag=True, help="Also notes that are archived, have expired or are not valid yet.")
@click.option("--why", "with_why", is_flag=True, help="Show what each score is made of.")
@click.option("--stale", is_flag=True, help="Only notes whose code has changed; without a question: all of them.")
@click.option("--full", is_flag=True, help="Show the whole text, not only the lines that matter.")
@trace_option
@usual_options
def recall(question: tuple[str, ...], **options: Any) -> int:
    """Find notes by words and meaning, best first.

    A note is labelled `exact` if it was found by meaning and a word confirms it,
    `keyword-only` if by words alone, `semantic` if by meaning alone, `dated` if
    by a time in the question, and `faint` if it only fills a short list. A note
    whose code has changed says so and is ranked lower.
    """
    query = " ".join(question)
    with tracing(options["trace_file"]) as trace, open_notes(options, trace) as memory:
        given = _recall_fields(options)
        if options["everything"]:
            given |= {"any_time": True, "archived": True}
        if options["stale"] and not query.strip():
            return _print_stale(memory, given, options)
        found = memory.recall(query, **given)
        if options["stale"]:
            found = found.filtered(lambda one: bool(one.changed))
        if options["as_json"]:
            print_json(recall_json(memory, query, found, with_why=options["with_why"]))
        elif found:
            print_document(recall_document(memory, found, styler(options["color"]), full=options["full"], with_why=options["with_why"]))
        else:
            click.echo(nothing_found(memory, found.searched, stale=options["stale"]), err=True)
    return FOUND if found else NOTHING_FOUND


def _print_stale(memory: Memory, given: dict[str, Any], options: dict[str, Any]) -> int:
    """Print every note whose code has changed, without a question."""
    given |= {"any_time": "as_of" not in given, "k": None}
    found = [note for note, _ in memory.stale(**given)][: options["k"]]
    searched = memory.count(generated=True, **given)
    if options["as_json"]:
        print_json(stale_json(memory, found, searched))
    elif found:
        print_document(stale_document(memory, found, styler(options["color"]), full=options["full"]))
    else:
        click.echo(nothing_found(memory, searched, stale=True), err=True)
    return FOUND if found else NOTHING_FOUND


@click.command("list")
@click.option("-k", type=click.IntRange(min=1, max=10_000), default=LISTED, show_default=True, help="How many notes.")
@filter_options
@click.option("--all", "everything", is_flag=True, help="Include archived notes.")
@usual_options
def list_(**options: Any) -> int:
    """List notes, newest first.

    Key, day, kind, topic (or first words) and tags: aligned on a terminal, with tabs
    between them in a pipe.
    """
    with open_notes(options) as memory:
        given = _recall_fields(options)
        filtered = len(given) > 1  # by more than k
        given |= {"any_time": "as_of" not in given, "archived": options["everything"]}
        found = [without_secrets(note)[0] for note in memory.list(**given)]
        more = memory.count(generated=True, **given) - len(found)
        if options["as_json"]:
            print_json({"count": len(found), "more": more, "notes": [note_json(note) for note in found]})
            return FOUND if found else NOTHING_FOUND
        style = styler(options["color"])
        _print_columns([_row(note) for note in found], style)
        if more > 0:
            line = style(f"and {more} more (-k shows more of them)", dim=True)
            if sys.stdout.isatty():
                print_item(line)
            else:
                click.echo(line, err=True)
        if stray := memory.store.stray_files():
            named = ", ".join(map(safe, stray[:3]))
            are = "file is" if len(stray) == 1 else "files are"
            click.echo(f"whence: {len(stray)} {are} not taken for notes: {named} (a note is <project>/<name>.md)", err=True)
        if not found:
            click.echo(f"no notes in {safe(str(memory.directory))}{' that match' if filtered else ''}", err=True)
    return FOUND if found else NOTHING_FOUND


@click.command(
    epilog="""\b
Examples:
  whence show retry-policy
  whence show app/retry-policy --text > policy.md
  whence show app/retry-policy --history
  whence show app/retry-policy --version 2
  whence show app/retry-policy --diff"""
)
@click.argument("key", shell_complete=complete_note)
@click.option("--text", "only_text", is_flag=True, help="Print only the text, verbatim.")
@click.option("--history", is_flag=True, help="List earlier versions, oldest first.")
@click.option("--version", "number", type=click.IntRange(min=1), metavar="N", help="Show version N of its history.")
@click.option("--diff", is_flag=True, help="Show how the code it describes has changed since (uses git).")
@usual_options
def show(key: str, *, only_text: bool, history: bool, number: int | None, diff: bool, **options: Any) -> int:
    """Show a note verbatim.

    Prints its metadata, a blank line and its text. KEY is PROJECT/NAME, or just
    NAME if it is unique; KEY#LINE, as recall names a passage, prints the text
    from that line on.
    """
    key, _, line = key.rpartition("#") if key.rpartition("#")[2].isdigit() else (key, "", "")
    with open_notes(options) as memory:
        note = memory.get(key)
        if history:
            return _print_history([*memory.history(note.key), note], options)
        if number is not None:
            versions = [*memory.history(note.key), note]
            if number > len(versions):
                raise UsageError(f"{safe(note.key)} has {len(versions)} versions, not {number}", hint="--history lists them")
            note = versions[number - 1]
        if diff:
            return _print_code_history(note.key, memory.code_history(note), options)
        changed = memory.changed_code(note)
        note, hidden = without_secrets(note)
        if line:
            rest = note.text.split("\n")[int(line) - 1 :]
            note, only_text = replace(note, text="\n".join(rest)), True
        if options["as_json"]:
            print_json({"note": note_json(note), "changed": changes_json(changed)})
        else:
            _print_note(note, styler(options["color"]), only_text=only_text)
        for line in (changes_line(changed), note.problem, f"not shown, for it looks like a secret: {', '.join(hidden)}" if hidden else ""):
            if line:
                click.echo(f"whence: {safe(note.key)}: {safe(line)}", err=True)
    return FOUND


@click.command()
@click.argument("keys", nargs=-1, required=True, metavar="KEY...", shell_complete=complete_note)
@click.option("--restore", is_flag=True, help="Restore archived notes.")
@usual_options
def archive(keys: tuple[str, ...], *, restore: bool, **options: Any) -> int:
    """Hide notes from recall. They are kept and can be restored."""
    with open_notes(options) as memory:
        found = _all_of(memory, keys)
        for key in found:
            (memory.restore if restore else memory.archive)(key)
    return _say("restored" if restore else "archived", found, options)


@click.command()
@click.argument("keys", nargs=-1, required=True, metavar="KEY...", shell_complete=complete_note)
@click.option("--yes", is_flag=True, help="Confirm; this cannot be undone.")
@usual_options
def forget(keys: tuple[str, ...], *, yes: bool, **options: Any) -> int:
    """Delete notes and their history.

    This cannot be undone. whence archive hides a note from recall but keeps it.
    """
    with open_notes(options) as memory:
        found = _all_of(memory, keys, gone=True)
        if not yes:
            named = ", ".join(map(safe, found))
            if not (sys.stdin.isatty() and sys.stderr.isatty()):
                raise UsageError(f"would forget {named}", hint="add --yes to do it; whence archive keeps it")
            if not click.confirm(f"forget {named} and all that was there before? It cannot be had back", err=True):
                click.echo("nothing was forgotten", err=True)
                return NOTHING_FOUND
        memory.forget_all(found)
    return _say("forgotten", found, options)


@click.command()
@click.option("--apply", "do_it", is_flag=True, help="Make the changes instead of only showing them.")
@usual_options
def compact(*, do_it: bool, **options: Any) -> int:
    """Archive outdated and duplicate notes; without --apply, show the plan.

    Archives near-duplicates of newer notes, expired notes, and handoffs that
    are old or whose branch is gone. Nothing is deleted except the oldest
    versions in long histories (setting memory.history).
    """
    from whence.memory.compaction import apply, plan  # noqa: PLC0415  -- loads numpy

    now = datetime.now(timezone.utc).replace(microsecond=0)
    with open_notes(options) as memory:
        steps: Sequence[CompactionStep] = plan(memory, now)
        if do_it:
            steps = apply(memory, steps, now)
    if options["as_json"]:
        print_json({"applied": do_it, "steps": [asdict(step) for step in steps]})
        return FOUND
    rows = [[step.action, step.key, f"into {step.into}" if step.into else "", step.because] for step in steps]
    _print_columns(rows, styler(options["color"]))
    if not steps:
        click.echo("nothing to do", err=True)
    elif not do_it:
        click.echo("nothing was changed; --apply does it", err=True)
    return FOUND


@click.command(
    "import",
    epilog="""\b
Examples:
  whence import ~/vault/decisions --project app
  whence import session.jsonl --topic "the parser"
  whence import notes.jsonl""",
)
@click.argument("path", type=click.Path())
@click.option("--project", default="", metavar="NAME", help="Project of the imported notes.")
@click.option("--topic", default="", metavar="TEXT", help="Topic of notes that have none.")
@click.option("--kind", metavar="NAME", help="Kind of the imported notes.")
@click.option("--redact", is_flag=True, help="Remove secrets from notes instead of skipping those notes.")
@usual_options
def import_(path: str, *, project: str, topic: str, kind: str | None, redact: bool, **options: Any) -> int:
    """Import Markdown files, conversations or a whence export.

    PATH is a file or folder. Notes that already exist are skipped. Files that
    cannot be imported are listed; the rest is imported.
    """
    from whence.memory.transfer import import_notes  # noqa: PLC0415  -- loads numpy

    now = datetime.now(timezone.utc).replace(microsecond=0)
    with open_notes(options) as memory, ProgressBar("importing") as progress:
        place = Path(path).expanduser()
        brought = import_notes(memory, place, project=project, topic=topic, kind=kind, redact=redact, now=now, progress=progress)
    taken = brought.new + brought.changed + brought.unchanged
    if not options["as_json"]:
        _print_remarks(brought.problems)
    left = f", {len(brought.problems)} problem{'s' if len(brought.problems) > 1 else ''}" if brought.problems else ""
    line = f"{brought.new} new, {brought.changed} changed, {brought.unchanged} unchanged{left}"
    print_result(options["as_json"], asdict(brought), line)
    return FOUND if taken else FAILED if brought.problems else NOTHING_FOUND


@click.command(
    epilog="""\b
Examples:
  whence export ~/backup/notes
  whence export notes.jsonl --project app
  whence export - | jq .topic"""
)
@click.argument("destination", type=click.Path(allow_dash=True))
@click.option("--project", metavar="NAME", help="Only notes of a project.")
@click.option("--without-archived", is_flag=True, help="Leave out archived notes.")
@usual_options
def export(destination: str, *, project: str | None, without_archived: bool, **options: Any) -> int:
    """Export notes to a folder of Markdown files, or as JSON lines.

    DESTINATION is a folder, FILE.jsonl, or - for standard output. Output is
    deterministic. A folder must be new, empty or an earlier export.
    """
    from whence.memory.transfer import export_notes, exported_notes, lines_of  # noqa: PLC0415  -- loads numpy

    with open_notes(options) as memory:
        if destination == "-":
            count = 0
            notes = exported_notes(memory, project=project, archived=not without_archived)
            for count, line in enumerate(lines_of(notes), 1):  # noqa: B007
                click.echo(line)
            return FOUND if count else NOTHING_FOUND
        place = Path(destination).expanduser()
        count = export_notes(memory, place, project=project, archived=not without_archived)
    print_result(options["as_json"], {"exported": count, "destination": str(place)}, f"{count} notes in {safe(str(place))}")
    return FOUND if count else NOTHING_FOUND


# Finding.
def _all_of(memory: Memory, keys: Sequence[str], *, gone: bool = False) -> list[str]:
    """The full keys of some notes, each once; nothing is done to any when one is not there."""
    return list(dict.fromkeys(memory.get(key, gone=gone).key for key in keys))


# Showing.
def _row(note: Note) -> list[str]:
    about = headline(note)
    if sys.stdout.isatty() and len(about) > MAX_HEADLINE:
        about = f"{about[: MAX_HEADLINE - 1]}…"
    state = ["archived"] if note.archived else ["trouble"] if note.problem else []
    return [note.key, day_of(note), note.kind, about, " ".join([*(f"#{tag}" for tag in note.tags), *state])]


def _print_note(note: Note, style: Callable[..., str], *, only_text: bool) -> None:
    """A note as its file has it. A terminal is sent no control characters; a pipe gets every byte."""
    if not sys.stdout.isatty():
        print_text(note.text if only_text else render(note))
        return
    if not (only_text or note.problem):
        for line in render(note)[: -len(note.text) - 1].rstrip("\n").split("\n"):
            print_item(style(safe(line), dim=True))
    for line in note.text.removesuffix("\n").split("\n"):
        print_item(safe(line))


def _print_history(versions: Sequence[Note], options: dict[str, Any]) -> int:
    shown = [without_secrets(note)[0] for note in versions]
    if options["as_json"]:
        listed = [{"version": number, **note_json(note)} for number, note in enumerate(shown, 1)]
        print_json({"key": versions[-1].key, "versions": listed})
        return FOUND
    rows = []
    for number, note in enumerate(shown, 1):
        when = note.updated or note.created
        now = "now" if number == len(shown) else ""
        size = f"{len(note.text.encode('utf-8', 'replace'))} bytes"
        rows.append([str(number), f"{when:%Y-%m-%d %H:%M}" if when else "", size, first_words(note.text)[:MAX_HEADLINE], now])
    _print_columns(rows, styler(options["color"]))
    return FOUND


def _print_code_history(key: str, histories: Sequence[CodeHistory], options: dict[str, Any]) -> int:
    """Print what has become of the code of a note, with a diff for each piece."""
    if options["as_json"]:
        listed = [
            {**asdict(one.ref), "state": one.state.value, "said": one.message, "commit": one.commit, "diff": _diff(one)}
            for one in histories
        ]
        print_json({"key": key, "code": listed})
        return FOUND if histories else NOTHING_FOUND
    style = styler(options["color"])
    colours = {"-": "red", "+": "green"}
    for one in histories:
        print_item(f"{style(safe(one.ref.code), bold=True)}  {one.state.value}: {safe(one.message)}")
        for line in _diff(one):
            print_item(style(safe(line), fg=colours.get(line[:1])))
    if not histories:
        click.echo(f"{safe(key)} is about no code", err=True)
    return FOUND if histories else NOTHING_FOUND


def _diff(history: CodeHistory) -> list[str]:
    """A comparison as lines that begin with their sign."""
    return [f"{line.sign} {line.text}".rstrip() if line.sign != "@" else "..." for line in history.lines]


def _say(done: str, keys: Sequence[str], options: dict[str, Any]) -> int:
    print_result(options["as_json"], {done: list(keys)}, *(f"{done} {safe(key)}" for key in keys))
    return FOUND


def _print_columns(rows: Sequence[Sequence[str]], style: Callable[..., str]) -> None:
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

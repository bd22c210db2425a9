"""`whence context`."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from whence.app.command_line import Target, settings_of, target_of, targets_of
from whence.app.note_hints import by_file, hint_lines, hints_of
from whence.app.presenters.context import pack_json_with_notes, symbols_document, symbols_json
from whence.app.presenters.search import nothing_for, task_warning
from whence.app.presenters.text import freshness_facts, relative, safe
from whence.cli.shared import (
    FOUND,
    NOTHING_FOUND,
    freshly,
    open_index,
    path_option,
    print_document,
    print_item,
    print_json,
    print_notes,
    request_options,
    styler,
    traced_options,
    tracing,
)
from whence.context.request import ContextRequest
from whence.core.errors import UsageError
from whence.core.request import pick_fields
from whence.source.git import repository_root

if TYPE_CHECKING:
    from whence.app.index import Index
    from whence.context.pack import ContextPack

#: A name for a conversation: what it was shown is remembered for a few minutes (L1).
SESSION = "WHENCE_SESSION"
#: Bytes of a task that are read from standard input.
MAX_READ = 1 << 20
LISTED = 20


@click.command(
    epilog="""\b
Examples:
  whence context "add retry to the http client"
  whence context "add retry to the http client" --budget 4000 --format xml
  whence context - < issue.txt
  whence context --files src/shop/session.py
  whence context --diff main
  whence context --diff v1.2..v1.3 --format json
  whence context --staged
  whence context "add retry to the http client" --list --why
  whence context --fleet acme/shop "add retry to the http client" --budget 4000"""
)
@click.argument("task", required=False, default="")
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@request_options(ContextRequest)
@path_option
@click.option("--fleet", "repository", metavar="REPOSITORY", help="A repository of the fleet; its index is fetched once per version.")
@click.option("--list", "listed", is_flag=True, help="Only list the best symbols, with their scores.")
@click.option("-k", type=click.IntRange(min=1), default=LISTED, show_default=True, help="How many symbols to list.")
@click.option("--why", "with_why", is_flag=True, help="With --list: show what each score is made of.")
@traced_options
def context(task: str, paths: tuple[str, ...], place: str, **options: Any) -> int:
    """Print the symbols a task needs, within a token budget.

    TASK is plain text: what to do, a question, an issue, a stack trace; - reads
    standard input. PATHs are files or folders to choose from (default: all). The last line shows the budget, what was used and what was
    left out.
    """
    if options["as_json"] and options["format"] not in (None, "json"):
        raise UsageError(f"--json and --format {options['format']} are two forms", hint="give one")
    if options["with_why"] and not options["listed"]:
        raise UsageError("--why shows the scores of a list", hint="add --list, or ask whence why --context TASK SYMBOL")
    if options["listed"] and (options["budget"] is not None or options["format"] not in (None, "json")):
        raise UsageError("a list has no budget and no format but --json", hint="-k says how many symbols it names")
    options["as_json"] = options["as_json"] or options["format"] == "json"
    options["format"] = "json" if options["as_json"] else options["format"]
    task = sys.stdin.buffer.read(MAX_READ).decode("utf-8", "replace") if task == "-" else task
    request = ContextRequest(task, **pick_fields(ContextRequest, options), session=os.environ.get(SESSION, ""))
    if options["repository"] is not None:
        from whence.cli.fleet import context_fleet  # noqa: PLC0415  -- it needs this module

        return context_fleet(request, place, options)
    target, within = _target(place, tuple(request.files)), target_of(paths) if paths else None
    if within is not None and not request.files:
        target = within
    if within is not None and within.root != target.root:
        raise UsageError("the files and the paths are of several repositories", hint="ask one at a time")
    inside = within.paths if within is not None else ()
    request = replace(request, files=target.paths if request.files else (), paths=inside, caller=os.getcwd())  # noqa: PTH109  -- as text
    values = settings_of(options["assignments"])
    with (
        tracing(options["trace_file"]) as trace,
        open_index(target.root, values, quiet=True, **freshly(options), trace=trace) as index,
    ):
        return print_context(index, replace(request, freshness=freshness_facts(index)), options)


def print_context(index: Index, request: ContextRequest, options: dict[str, Any]) -> int:
    """Print the pack of a request, and return the exit code."""
    pack = index.context(request)
    if options["listed"]:
        _print_list(index, pack, options)
    else:
        _print_pack(index, pack, options)
    print_notes([index])
    if pack.remark:
        click.echo(f"whence: {safe(pack.remark)}", err=True)
    if warning := task_warning(pack):
        click.echo(f"whence: {safe(warning)}", err=True)
    if pack.is_empty:
        click.echo(f"{nothing_for(request)}; whence search --content all reads every file", err=True)
        return NOTHING_FOUND
    return FOUND


def _target(place: str, files: tuple[str, ...]) -> Target:
    """The root to ask and the files below it. Files that are in no repository belong to the folder that is asked about."""
    (whole,) = targets_of((place,))
    if not files:
        return whole
    below: list[str] = []
    roots = set()
    for one in targets_of(files):
        alone = repository_root(one.root) is None and one.root.is_relative_to(whole.root)
        roots.add(root := whole.root if alone else one.root)
        below += [(one.root / path).relative_to(root).as_posix() for path in one.paths or (".",)]
    if len(roots) > 1:
        raise UsageError("the files are of several repositories", hint="ask one at a time")
    return Target(root, tuple(below))


def _print_pack(index: Index, pack: ContextPack, options: dict[str, Any]) -> None:
    """Print the text. Notes about its symbols go to standard error, being no part of the budget, or into JSON if they fit."""
    shown = [one.item.key for one in pack.packed.shown] + [piece.key for piece in pack.packed.inside]
    hints = hints_of(index, by_file(shown))
    text = pack_json_with_notes(pack, hints) if hints and options["as_json"] else None
    if whole := (text or pack.text).removesuffix("\n"):
        print_item(whole)
    if text is None:
        for line in hint_lines(hints):
            click.echo(line, err=True)


def _print_list(index: Index, pack: ContextPack, options: dict[str, Any]) -> None:
    best = pack.symbols[: options["k"]]
    hints = hints_of(index, by_file([one.key for one in best]))

    def written(path: str) -> str:  # a repository of the fleet lies elsewhere
        return path if options["repository"] else relative(index.root, path)

    if options["as_json"]:
        print_json(symbols_json(pack, best, hints, written, with_why=options["with_why"]))
    else:
        print_document(
            symbols_document(best, hints, styler(options["color"], links=not options["repository"]), written, with_why=options["with_why"])
        )

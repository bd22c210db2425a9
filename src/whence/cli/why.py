"""`whence why`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from whence.app.command_line import set_option, settings_of, targets_of
from whence.app.presenters.text import relative, safe
from whence.cli.output import print_item, print_json, print_more
from whence.cli.shared import color_option, json_option, open_indexes, say_notes, styler

if TYPE_CHECKING:
    from whence.ranking.receipt import Why

#: Symbols of one name that are named in a note.
MOST_LISTED = 5


@click.command(
    epilog="""\b
Examples:
  whence why "open a session" src/shop/session.py
  whence why "open a session" SessionStore
  whence why "open a session" app.py:120
  whence why --context "add retry to the http client" Client.send
  whence why --fleet "open a session" acme/shop/src/session.py"""
)
@click.argument("query")
@click.argument("target")
@click.argument("path", required=False, default=".")
@click.option("--fleet", is_flag=True, help="Search the fleet; TARGET is REPOSITORY/PATH, optionally with :LINE.")
@click.option("--context", "for_task", is_flag=True, help="Explain a symbol's rank for a task, as whence context ranks it.")
@click.option("--content", metavar="code|docs|config|all", default="all", help="Which files to rank against (default: all).")
@click.option("--profile", metavar="NAME", help="Ranking profile: default, classic or semantic.")
@click.option("--no-refresh", is_flag=True, help="Do not refresh the index first.")
@json_option
@color_option
@set_option
def why(query: str, target: str, path: str, **options: Any) -> int:
    """Explain a result's rank, or why a file is missing.

    TARGET is a file, the end of a path, FILE:LINE or the name of a symbol. Each
    line is one part of the score; the last column is the file's rank without it.
    """
    if options["fleet"]:
        from whence.cli.fleet_search import why_fleet  # noqa: PLC0415  -- it needs this module

        return why_fleet(query, target, path, options)
    targets = targets_of((path,))
    with open_indexes(targets, refresh=not options["no_refresh"], values=settings_of(options["assignments"])) as (index,):
        say_notes([index])
        if options["for_task"]:
            found = index.why_symbol(query, target, profile=options["profile"])
            _say_others(target, index.symbol_keys(target))
        else:
            found = index.why(query, target, profile=options["profile"], content=options["content"])
        if options["as_json"]:
            print_json({**asdict(found), "path": relative(index.root, found.path)})
        else:
            print_receipt(found, styler(options["color"]), lambda path: relative(index.root, path))
    return 0


def _say_others(name: str, keys: list[str]) -> None:
    """A name that several symbols bear is answered for the best of them, and that is said."""
    if len(keys) > 1:
        listed = ", ".join(safe(key) for key in keys[:MOST_LISTED]) + (", ..." if len(keys) > MOST_LISTED else "")
        click.echo(f"whence: {len(keys)} symbols are called {safe(name)!r}; answering for the best of {listed}", err=True)


def print_receipt(found: Why, style: Any, written: Callable[[str], str]) -> None:
    """What a score is made of, line by line; `written` is how a path is written."""
    name = f"  {found.kind} {found.unit}" if found.unit else ""
    print_item(f"{style(safe(written(found.path)), fg='magenta', bold=True)}:{found.line}{safe(name)}")
    print_item(f"rank {found.rank} of {found.candidates} candidates, score {found.score:.4f}")
    if found.rank > 1:
        leader = found.leader if found.leader_is_symbol else written(found.leader)
        print_item(f"first is {safe(leader)} with {found.leader_score:.4f}")
    said = [f"{one.retriever} (rank {one.rank}, {one.score:.2f})" for one in found.found_by]
    print_item(f"found by {', '.join(said)}" if said else "found by no retriever: ranked only because you asked")
    print_more("")
    print_item(style(f"{'signal':<17}{'value':>9}   {'weight':>7}   {'part':>10}  {'without':>7}  because", dim=True))
    for one in found.lines:
        line = one.line
        sign = "^" if line.operation == "x" else "*"  # a factor is raised to its weight
        part = f"{line.operation} {line.contribution:.4f}"
        shown = f"{line.signal:<17}{line.value:>9.4f} {sign} {line.weight:>7.3f} = {part:>10}  {one.rank_without:>7}  {safe(line.because)}"
        silent = round(line.contribution, 6) == (1.0 if line.operation == "x" else 0.0)
        print_item(style(shown, dim=True) if silent else shown)
    print_item(f"{'score':<17}{'':>9}   {'':>7} = {found.score:>10.4f}  {found.rank:>7}")

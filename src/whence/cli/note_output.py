"""What the commands of memory share: which notes a call is about, what it may be narrowed to, and how notes are shown."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from whence.app.command_line import set_option, settings_of
from whence.app.presenters.text import safe
from whence.cli.options import request_options
from whence.cli.output import print_item, print_more
from whence.cli.shared import ProgressBar, color_option, json_option
from whence.core.errors import UsageError
from whence.core.request import pick_fields
from whence.memory.request import RecallRequest

if TYPE_CHECKING:
    from whence.core.trace import Trace
    from whence.memory.memory import Memory


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

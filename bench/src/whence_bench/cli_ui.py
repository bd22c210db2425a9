"""`whence bench ui`: how the page feels."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from whence.cli.output import print_text
from whence_bench.cli_files import Files, into_files


@click.command()
@click.option("--tree", metavar="DIR", type=click.Path(exists=True, file_okay=False), help="Make the tree of this source.")
@into_files()
def ui(tree: str | None, files: Files) -> int:
    """How the page feels: key press to results, weight, first paint, frames, accessibility.

    A tree of 10,000 units is made in a temporary folder from real source, by
    default this package and the standard library of Python, served, and looked
    at in the Chromium of this machine, which playwright drives. Exit code 1
    when a bar is missed.
    """
    from whence_bench.ui import run as benchmark  # noqa: PLC0415

    room = benchmark.run(Path(tree) if tree else None, _say)
    print_text(f"{benchmark.as_text(room)}\n")
    files.write(benchmark.as_json(room))
    return 1 if any(row.kept is False for row in room.rows) else 0


def _say(text: str) -> None:
    """What is being done, for a person who waits (A6)."""
    if sys.stderr.isatty():
        click.echo(f"whence: {text}", err=True)

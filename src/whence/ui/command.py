"""`whence ui`."""

from __future__ import annotations

import secrets

import click

from whence.app.command_line import set_option, settings_of, targets_of
from whence.core.settings import load


@click.command(
    epilog="""\b
Examples:
  whence ui                       the repository around this folder
  whence ui app lib               several, searched together
  whence ui --port 8899 --no-open serve, and print the link"""
)
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="The port (default: a free one).")
@click.option("--no-open", is_flag=True, help="Print the link without opening a browser.")
@set_option
def ui(paths: tuple[str, ...], port: int, no_open: bool, assignments: tuple[str, ...]) -> int:
    """Explore search, ranking, graph, memory and index in a browser.

    Serves a page on this machine only, to anyone with the printed link. Nothing
    is loaded from elsewhere. Ctrl-C ends it.
    """
    folders = [target.root for target in targets_of(paths)]
    values = settings_of(assignments)
    load(root=None, environment={}, command_line=values)  # what is wrong on the command line is said now, and not in the page
    from whence.ui.app import run  # noqa: PLC0415  -- loads the server

    return run(folders, values, port, secrets.token_urlsafe(24), announce=_announce, browser=not no_open)


def _announce(link: str) -> None:
    click.echo(f"whence: serving {link}\nwhence: Ctrl-C ends it", err=True)

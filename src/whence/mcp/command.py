"""`whence mcp`."""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import Any

import click

from whence.app.command_line import set_option, settings_of
from whence.app.presenters.text import safe
from whence.core.errors import RootError, UsageError
from whence.core.settings import load

#: A name for a conversation (L1, L4).
SESSION, TOKEN = "WHENCE_SESSION", "WHENCE_TOKEN"
LOOPBACK = ("127.0.0.1", "localhost", "::1")


@click.command(
    epilog="""\b
Examples:
  whence mcp                            over standard streams, as agents start it
  whence mcp --root app --root lib      several folders, nothing outside them
  whence mcp --http --port 8787         over HTTP on this machine"""
)
@click.option("--root", "roots", multiple=True, metavar="DIRECTORY", help="A folder to serve (default: the repository around this one).")
@click.option("--http", is_flag=True, help="Serve streamable HTTP instead of standard streams.")
@click.option("--host", default=LOOPBACK[0], show_default=True, metavar="ADDRESS", help="With --http: a loopback address.")
@click.option("--port", type=click.IntRange(0, 65535), default=8787, show_default=True, help="With --http: the port; 0 takes a free one.")
@click.option("--token", envvar=TOKEN, metavar="TEXT", help=f"With --http: the bearer token (default: {TOKEN}, else a new one).")
@set_option
def mcp(roots: tuple[str, ...], http: bool, assignments: tuple[str, ...], **options: Any) -> int:
    """Serve agents over the Model Context Protocol.

    Tools: search, context, related, graph, remember, recall, feedback. Only files
    below the roots can be read. The server ends with the agent.
    """
    os.environ.pop(TOKEN, None)  # it is in `options`, no setting, and nobody else's business
    folders = _folders(roots)
    values = settings_of(assignments)
    load(root=None, environment={}, command_line=values)  # what is wrong on the command line is said now, and not to an agent
    if http:
        if options["host"] not in LOOPBACK:
            raise UsageError(f"{safe(options['host'])!r} is not an address of this machine only", hint=f"use {LOOPBACK[0]}")
        from whence.mcp.transport import run_http  # noqa: PLC0415  -- loads the SDK

        address, token = (options["host"], options["port"]), options["token"] or secrets.token_urlsafe(24)
        return run_http(folders, values, os.environ.get(SESSION, ""), address, token)
    if given := [name for name in ("host", "port", "token") if _is_given(name)]:
        raise UsageError(f"--{given[0]} speaks of HTTP", hint="add --http")
    from whence.mcp.transport import Wire  # noqa: PLC0415  -- before anything else can print

    wire = Wire()
    from whence.mcp.transport import run_stdio  # noqa: PLC0415  -- loads the SDK

    return run_stdio(wire, folders, values, os.environ.get(SESSION, ""))


def _is_given(name: str) -> bool:
    """Whether an option stands on the command line."""
    return click.get_current_context().get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE


def _folders(roots: tuple[str, ...]) -> list[Path]:
    """The folders to serve, as they really are."""
    from whence.source.git import repository_root  # noqa: PLC0415

    if not roots:
        here = Path.cwd().resolve()
        root = repository_root(here) or here
        if Path.home().resolve().is_relative_to(root):  # the home folder, or one that holds it
            raise RootError(f"{safe(str(root))} is no project", hint="name the folders to serve with --root, or start it in a repository")
        return [root]
    found = []
    for one in roots:
        if not one:
            raise RootError("--root is empty", hint="give the folder to serve")
        try:
            folder = Path(one).expanduser().resolve(strict=True)
        except (OSError, RuntimeError, ValueError) as error:
            raise RootError(f"{safe(one)}: no such folder") from error
        if not folder.is_dir():
            raise RootError(f"{safe(one)} is a file", hint="give the folder to serve")
        found.append(folder)
    return found

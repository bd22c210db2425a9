"""`--budget TOKENS` on every command: what it prints is collected, cut, and printed with what was left out (P2, Z4).

Done here once, for all of them: a command prints as it always does, and a new one has the option without asking for
it. Without the option nothing is collected. Warnings on standard error are not counted, for they must be seen; an
error that ends a command is held within the budget, too.
"""

from __future__ import annotations

import copy
import io
import json
import sys
from collections.abc import Callable
from contextlib import redirect_stdout, suppress
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from whence.cli.shared import complaint, is_freshness
from whence.core.errors import WhenceError

if TYPE_CHECKING:
    from whence.app.budget import BudgetedText

#: What has no budget: it runs until it is stopped, answers another program in that program's form, writes what is to be
#: read back (a part of a backup is none), or shows a change and asks whether to make it (nobody agrees to a part of it).
#: `whence context` has an option of the same name and the same promise.
UNBOUNDED = frozenset({"mcp", "watch", "ui", "hook", "export", "feedback export", "install", "uninstall"})
_FAILED = 2  # as everywhere; `main` has the name, and needs this module
_OPTION = "--budget"
_HELP = "Print no more than this, all included; the last line (in JSON: budget) says what is left out."


def budgeted(command: click.Command, name: str) -> click.Command:
    """The command with the option, and all commands below it; the same one where it has a budget of its own, or none."""
    if name in UNBOUNDED or any(_OPTION in param.opts for param in command.params):
        return command
    made = copy.copy(command)
    if isinstance(made, click.Group):
        made.commands = {below: budgeted(one, f"{name} {below}") for below, one in made.commands.items()}
    elif made.callback is not None:
        made.params = [*made.params, click.Option([_OPTION], type=int, metavar="TOKENS", help=_HELP)]
        made.callback = _within_its_budget(made.callback)
    return made


def _within_its_budget(callback: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(callback)
    def run(*arguments: Any, budget: int | None, **options: Any) -> Any:
        if budget is None:
            return callback(*arguments, **options)
        from whence.app.budget import check_budget  # noqa: PLC0415  -- loads numpy

        as_json = bool(options.get("as_json"))
        check_budget(budget, rest=_rest, as_json=as_json)  # before anything is done
        collected = _Collected()
        try:
            with redirect_stdout(collected):
                result = callback(*arguments, **options)
        except BaseException as error:
            if collected.text():
                _print(collected, budget, as_json=as_json)
            if isinstance(error, WhenceError):
                _complain(error, budget)
            raise
        _print(collected, budget, as_json=as_json)
        return result

    return run


class _Collected(io.TextIOWrapper):
    """Standard output that is kept: like the real one in all that a command may ask of it."""

    def __init__(self) -> None:
        self._terminal = sys.stdout.isatty()
        self._bytes = io.BytesIO()
        super().__init__(self._bytes, sys.stdout.encoding or "utf-8", sys.stdout.errors or "surrogateescape", newline="")

    def isatty(self) -> bool:
        """Colours and widths are chosen by where the text goes in the end."""
        return self._terminal

    def text(self) -> str:
        """All of it; bytes that are no text come out again as they were."""
        self.flush()
        return self._bytes.getvalue().decode(self.encoding, "surrogateescape")


def _print(collected: _Collected, budget: int, *, as_json: bool) -> None:
    text = _cut(collected, budget, as_json=as_json).text
    try:
        text.encode(collected.encoding)
    except UnicodeEncodeError:
        click.echo(text.encode(collected.encoding, "surrogateescape"), nl=False)
    else:
        click.echo(text, nl=False, color=True)


def _complain(error: WhenceError, budget: int) -> None:
    """An error that is too long to be told within the budget (a name that hundreds of symbols have) is told as far as it goes."""
    from whence.app.budget import cut_text  # noqa: PLC0415  -- loads numpy
    from whence.text.token_estimate import count_tokens  # noqa: PLC0415  -- loads numpy

    text = complaint(error.message, error.hint)
    if count_tokens(text) > budget:
        click.echo(cut_text(text, budget, rest=_rest).text, err=True, nl=False)
        raise click.exceptions.Exit(_FAILED) from error


def _cut(collected: _Collected, budget: int, *, as_json: bool) -> BudgetedText:
    """What was printed, cut in the form that was asked for."""
    from whence.app.budget import cut_json, cut_text  # noqa: PLC0415  -- loads numpy

    text = collected.text()
    if as_json:
        with suppress(ValueError):  # what ended before it was a document is cut as text
            return cut_json(json.loads(text or "{}"), budget, rest=_rest)
    lines = text.splitlines(keepends=True)
    foot = len(lines)
    while foot and is_freshness(lines[foot - 1]):
        foot -= 1
    return cut_text("".join(lines[:foot]), budget, rest=_rest, foot="".join(lines[foot:]), coloured=collected.isatty())


def _rest(enough: int) -> str:
    return f"{_OPTION} {enough} gives all"

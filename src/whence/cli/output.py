"""Standard output of the commands, and `--budget TOKENS` on every one of them (P2, Z4).

Commands print items, lines that belong to an item, and a foot. Without a budget these go straight to standard output;
with one they are collected and cut between items at the end. Warnings go to standard error and are not counted, for
they must be seen.
"""

from __future__ import annotations

import copy
import json
import sys
from collections.abc import Callable
from contextvars import ContextVar
from functools import wraps
from typing import Any

import click

from whence.app.presenters.text import Document
from whence.cli.shared import complaint
from whence.core.errors import WhenceError

#: Commands without a budget: they run until they are stopped, answer another program in that program's form, write what
#: is to be read back (half a backup is none), or show a change and ask for consent (nobody agrees to half of it).
#: `whence context` has an option of the same name and the same promise.
UNBOUNDED = frozenset({"mcp", "watch", "ui", "hook", "export", "feedback export", "install", "uninstall"})
_FAILED = 2  # as everywhere; `main` has the name, and needs this module
_OPTION = "--budget"
_HELP = "Limit the output to this many tokens; the last line (in JSON: budget) says what is left out."


class _Collected:
    """The output of a command with a budget."""

    def __init__(self) -> None:
        self.document = Document()
        self.json: list[Any] = []  # the JSON document, once there is one

    @property
    def is_empty(self) -> bool:
        return not (self.json or self.document.items or self.document.foot)


_collected: ContextVar[_Collected | None] = ContextVar("collected", default=None)


# Printing.
def print_item(*lines: str) -> None:
    """Print an item: a line, and the lines that belong to it."""
    if (collected := _collected.get()) is not None:
        collected.document.item(*lines)
    else:
        _echo(lines)


def print_more(*lines: str) -> None:
    """Print more lines of the last item."""
    if (collected := _collected.get()) is not None:
        collected.document.more(*lines)
    else:
        _echo(lines)


def print_foot(line: str) -> None:
    """Print how fresh the answer is, after everything else: the last to go when there is no room."""
    if (collected := _collected.get()) is not None:
        collected.document.foot.append(line)
    else:
        _echo([line])


def print_document(document: Document) -> None:
    """Print items and foot of a document."""
    for lines in document.items:
        print_item(*lines)
    for line in document.foot:
        print_foot(line)


def print_text(text: str) -> None:
    """Print a text verbatim; bytes that are no Unicode come out as they were."""
    raw = text.encode("utf-8", "surrogateescape")
    if (collected := _collected.get()) is not None:
        collected.document.items += Document.from_text(raw.decode(sys.stdout.encoding or "utf-8", "surrogateescape")).items
    else:
        click.echo(raw, nl=False)


def print_json(value: Any) -> None:
    """Print one JSON document. Names that are no Unicode come out escaped, not lost."""
    if (collected := _collected.get()) is not None:
        collected.json = [value]
    else:
        click.echo(json.dumps(value, indent=2, ensure_ascii=True))


def _echo(lines: Any) -> None:
    for line in lines:
        click.echo(line, color=True)


# Budgets.
def with_budget(command: click.Command, name: str) -> click.Command:
    """Give a command, and all commands below it, the option `--budget`, unless it has its own or cannot have one."""
    if name in UNBOUNDED or any(_OPTION in param.opts for param in command.params):
        return command
    made = copy.copy(command)
    if isinstance(made, click.Group):
        made.commands = {below: with_budget(one, f"{name} {below}") for below, one in made.commands.items()}
    elif made.callback is not None:
        made.params = [*made.params, click.Option([_OPTION], type=int, metavar="TOKENS", help=_HELP)]
        made.callback = _within_budget(made.callback)
    return made


def _within_budget(callback: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(callback)
    def run(*arguments: Any, budget: int | None, **options: Any) -> Any:
        if budget is None:
            return callback(*arguments, **options)
        from whence.app.budget import check_budget  # noqa: PLC0415  -- loads numpy

        as_json = bool(options.get("as_json"))
        check_budget(budget, rest=_rest, as_json=as_json)  # before anything is done
        collected = _Collected()
        token = _collected.set(collected)
        try:
            result = callback(*arguments, **options)
        except BaseException as error:
            if not collected.is_empty:
                _print_fitted(collected, budget, as_json=as_json)
            if isinstance(error, WhenceError):
                _complain(error, budget)
            raise
        finally:
            _collected.reset(token)
        _print_fitted(collected, budget, as_json=as_json)
        return result

    return run


def _print_fitted(collected: _Collected, budget: int, *, as_json: bool) -> None:
    from whence.app.budget import fit_document, fit_json  # noqa: PLC0415  -- loads numpy

    if collected.json or (as_json and collected.is_empty):
        text = fit_json(collected.json[0] if collected.json else {}, budget, rest=_rest).text
    else:
        text = fit_document(collected.document, budget, rest=_rest, coloured=sys.stdout.isatty()).text
    encoding = sys.stdout.encoding or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        click.echo(text.encode(encoding, "surrogateescape"), nl=False)
    else:
        click.echo(text, nl=False, color=True)


def _complain(error: WhenceError, budget: int) -> None:
    """Cut an error that is too long for the budget, such as a name that hundreds of symbols have."""
    from whence.app.budget import fit_document  # noqa: PLC0415  -- loads numpy
    from whence.text.token_estimate import count_tokens  # noqa: PLC0415  -- as above

    text = complaint(error.message, error.hint)
    if count_tokens(text) > budget:
        click.echo(fit_document(Document.from_text(text), budget, rest=_rest).text, err=True, nl=False)
        raise click.exceptions.Exit(_FAILED) from error


def _rest(enough: int) -> str:
    return f"{_OPTION} {enough} gives all"

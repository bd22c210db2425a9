"""What the commands share: options, opening indexes with progress, traces, errors, colour, and output: paged, or within a budget."""

from __future__ import annotations

import copy
import json
import os
import sys
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from functools import reduce, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from whence.app.command_line import Target, require_project, set_option, settings_of
from whence.app.presenters.text import Document, plain, safe
from whence.cli import standby
from whence.core.errors import UnlikelyRoot, UsageError, WhenceError
from whence.core.request import Option, options_of
from whence.core.trace import Trace

if TYPE_CHECKING:
    from whence.app.index import Index
    from whence.index.layout import Layout

#: Exit codes.
FOUND, NOTHING_FOUND, FAILED, INTERRUPTED = 0, 1, 2, 130
#: Commands without a budget: they run until they are stopped, answer another program in that program's form, write what
#: is to be read back (half a backup or script is none), or show a change and ask for consent (nobody agrees to half of it).
#: `whence context` has an option of the same name and the same promise.
UNBOUNDED = frozenset({"completion", "mcp", "watch", "ui", "hook", "export", "feedback export", "install", "uninstall"})
#: Commands whose answers are paged on a terminal.
PAGED = frozenset("search context related why recall list show compact callers callees impact path tests status config".split())
_OPTION = "--budget"
_HELP = "Limit the output to this many tokens; the last line (in JSON: budget) says what is left out."
_TYPES = {"int": int, "float": float}
#: Work shorter than this shows no bar.
SECONDS_BEFORE_PROGRESS = 0.4


@contextmanager
def tracing(path: str | None) -> Iterator[Trace | None]:
    """Write a trace to a file, or to standard error with `WHENCE_TRACE=1` (E2); None without one."""
    if path:
        try:
            stream = open(path, "w", encoding="utf-8")  # noqa: SIM115  -- closed below
        except OSError as error:
            raise UsageError(f"--trace {path}: {error.strerror}") from error
        with stream:
            yield Trace(stream)
    elif os.environ.get("WHENCE_TRACE", "0") not in ("", "0"):
        yield Trace(sys.stderr)
    else:
        yield None


color_option = click.option(
    "--color", type=click.Choice(["auto", "always", "never"]), default="auto", help="Colour the output (auto: on a terminal only)."
)
path_option = click.option("--path", "place", default=".", metavar="PATH", help="The repository (default: here).")
no_refresh_option = click.option("--no-refresh", is_flag=True, help="Do not refresh the index first.")
wait_fresh_option = click.option("--wait-fresh", is_flag=True, help="Wait until the index is up to date (setting index.fresh_wait).")
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON (docs/json.md).")
trace_option = click.option("--trace", "trace_file", type=click.Path(dir_okay=False), help="Write every stage to a file, as lines of JSON.")


def together(*options: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Several options as one decorator, in the order in which help shows them."""
    return lambda command: reduce(lambda made, option: option(made), reversed(options), command)


#: How an answer is printed, and settings for it.
answer_options = together(json_option, color_option, set_option)
#: The same, for questions to an index, and for those whose stages can be traced.
index_options = together(no_refresh_option, wait_fresh_option, answer_options)
traced_options = together(no_refresh_option, wait_fresh_option, trace_option, answer_options)


def request_options(request: type, *, only: Collection[str] = (), help_of: Mapping[str, str] | None = None) -> Callable[[Any], Any]:
    """Give a command the options of a request, or some of them; `help_of` replaces their help."""
    offered = [one for one in options_of(request) if one.flags and (not only or one.name in only)]
    return together(*(_click_option(one, (help_of or {}).get(one.name, one.doc)) for one in offered))


def _click_option(one: Option, help_text: str) -> Callable[[Any], Any]:
    if one.type == "bool":
        return click.option(*one.flags, one.name, is_flag=True, help=help_text)
    how: dict[str, Any] = {"is_flag": False, "flag_value": one.flag_value} if one.flag_value else {}
    how |= {"type": _TYPES.get(one.type), "multiple": one.type == "strs", "metavar": one.placeholder or None}
    if one.choices:
        how["shell_complete"] = lambda _context, _option, begun: [choice for choice in one.choices if choice.startswith(begun)]
    return click.option(*one.flags, one.name, help=help_text, **how)


class ProgressBar(ExitStack):
    """A bar on a terminal for work that takes a while; nothing in a pipe (A6). Leaving the context removes it."""

    def __init__(self, label: str) -> None:
        super().__init__()
        self._label, self._began, self._done = safe(label), time.monotonic(), 0
        self._bar: click._termui_impl.ProgressBar[int] | None = None
        self._show = sys.stderr.isatty()

    def __call__(self, done: int, total: int) -> None:
        """Update the bar."""
        if not self._show or (self._bar is None and (time.monotonic() - self._began < SECONDS_BEFORE_PROGRESS or done >= total)):
            return
        if self._bar is None:
            self._bar = self.enter_context(click.progressbar(length=total, label=self._label, file=sys.stderr, show_pos=False))
        self._bar.update(done - self._done)
        self._done = done


def open_index(root: Path, values: Mapping[str, str], *, quiet: bool = False, **how: Any) -> Index:
    """Open the index of a root, with a progress bar if it takes a while, and print its notes unless `quiet`."""
    from whence.app.index import Index  # noqa: PLC0415

    if how.get("refresh", True):
        values = _confirmed(root, values)
    with ProgressBar(f"indexing {root.name}") as progress:
        index = Index.open(root, command_line=values, progress=progress, **how)
    if not quiet:
        print_notes([index])
    return index


def _confirmed(root: Path, values: Mapping[str, str]) -> Mapping[str, str]:
    """The settings to open an index with. On a terminal the user is asked about a root that is plainly no project."""
    try:
        require_project(root, values)
    except UnlikelyRoot as error:
        if not (sys.stdin.isatty() and sys.stderr.isatty()):
            raise
        if standby.is_answering():
            raise standby.DeclinedError from error
        if not click.confirm(f"{error.message}. Index it all the same?", err=True):
            raise
        return {**values, "index.confirm_above": "0"}
    return values


@contextmanager
def open_indexes(targets: Sequence[Target], values: Mapping[str, str], **how: Any) -> Iterator[list[Index]]:
    """Open the indexes of some roots without printing their notes, and close them in the end."""
    with ExitStack() as stack:
        yield [stack.enter_context(open_index(target.root, values, quiet=True, **how)) for target in targets]


def freshly(options: Mapping[str, Any]) -> dict[str, bool]:
    """How to open an index by `--no-refresh` and `--wait-fresh`."""
    return {"refresh": not options["no_refresh"], "wait_fresh": options["wait_fresh"]}


def print_notes(indexes: list[Index]) -> None:
    """Print the notes of some indexes on standard error."""
    for index in indexes:
        for note in index.notes:
            click.echo(f"whence: {safe(index.root.name)}: {note}", err=True)


def complaint(message: str, hint: str = "") -> str:
    """Format an error: what happened and what to do on one line, details below."""
    from whence.text.injection import escape_invisible  # noqa: PLC0415  -- with the first text that is printed

    first, _, rest = escape_invisible(message).partition("\n")  # names of files may be in it
    return f"whence: {first}{f' ({hint})' if hint else ''}\n" + (f"{rest}\n" if rest else "")


def styler(color: str, *, links: bool = True) -> Callable[..., str]:
    """Return a function that colours a text and, on a terminal, has it lead to its `link` (a path and a line); or one that does neither."""
    on_terminal = sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
    if color == "never" or (color == "auto" and (not on_terminal or os.environ.get("NO_COLOR"))):
        return plain
    template = ""
    if on_terminal and links:
        from whence.cli.terminal import link_template, linked  # noqa: PLC0415  -- most output goes into a pipe

        template = link_template(os.environ)

    def style(text: str, *, link: tuple[str, int] | None = None, **how: Any) -> str:
        styled = click.style(text, **how) if how else text
        return linked(styled, template, *link) if link and template else styled

    return style


def data_dir() -> Path:
    """The folder of all indexes."""
    from whence.core.settings import default_data_dir  # noqa: PLC0415

    return default_data_dir(dict(os.environ), Path.home())


def layout_of(root: Path) -> Layout:
    """Where the index of a root lies."""
    from whence.index.layout import Layout  # noqa: PLC0415

    return Layout(data_dir(), root)


# Output. It goes straight to standard output, unless it is paged or has a budget: then it is collected, and in the end shown or cut.
# Warnings go to standard error and are not counted, for they must be seen.
class _Collected(Document):
    """The output of a command that is paged or has a budget."""

    json: tuple[Any, ...] = ()  # the JSON document, once there is one

    @property
    def is_empty(self) -> bool:
        return not (self.json or self.items or self.foot)

    @property
    def whole(self) -> str:
        """All of it, as it would have been printed."""
        return f"{_dump(self.json[0])}\n" if self.json else self.text


_collected: ContextVar[_Collected | None] = ContextVar("collected", default=None)


# Printing.
def print_item(*lines: str) -> None:
    """Print an item: a line, and the lines that belong to it."""
    collected = _collected.get()
    (collected.item if collected else _echo)(*lines)


def print_more(*lines: str) -> None:
    """Print more lines of the last item."""
    collected = _collected.get()
    (collected.more if collected else _echo)(*lines)


def print_foot(line: str) -> None:
    """Print how fresh the answer is, after everything else: the last to go when there is no room."""
    collected = _collected.get()
    (collected.foot.append if collected else _echo)(line)


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
        collected.item(*raw.decode(sys.stdout.encoding or "utf-8", "surrogateescape").removesuffix("\n").split("\n"))
    else:
        click.echo(raw, nl=False)


def print_json(value: Any) -> None:
    """Print one JSON document. Names that are no Unicode come out escaped, not lost."""
    if (collected := _collected.get()) is not None:
        collected.json = (value,)
    else:
        click.echo(_dump(value))


def _dump(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=True)


def print_result(as_json: bool, value: Any, *lines: str) -> None:
    """Print a result as JSON, or as lines, each an item of its own."""
    if as_json:
        print_json(value)
    else:
        for line in lines:
            print_item(line)


def _echo(*lines: str) -> None:
    for line in lines:
        click.echo(line, color=True)


# Pages and budgets.
def with_output(command: click.Command, name: str) -> click.Command:
    """Give a command, and all below it, the option `--budget`, unless it has its own or cannot have one; and a pager, if it answers."""
    made = copy.copy(command)
    bounded = name not in UNBOUNDED and not any(_OPTION in param.opts for param in command.params)
    if isinstance(made, click.Group) and bounded:
        made.commands = {below: with_output(one, f"{name} {below}") for below, one in made.commands.items()}
    elif made.callback is not None and (bounded or name in PAGED):
        if bounded:
            made.params = [*made.params, click.Option([_OPTION], type=int, metavar="TOKENS", help=_HELP)]
        made.callback = _collecting(made.callback, bounded=bounded, paged=name in PAGED)
    return made


def _collecting(callback: Callable[..., Any], *, bounded: bool, paged: bool) -> Callable[..., Any]:
    @wraps(callback)
    def run(*arguments: Any, **options: Any) -> Any:
        budget = options.pop("budget") if bounded else None
        if budget is None and not (paged and _can_page(options)):
            return callback(*arguments, **options)
        as_json = bool(options.get("as_json"))
        if budget is not None:
            from whence.app.budget import check_budget  # noqa: PLC0415  -- loads numpy

            check_budget(budget, rest=_rest, as_json=as_json)  # before anything is done
        collected = _Collected()
        token = _collected.set(collected)
        try:
            result = callback(*arguments, **options)
        except BaseException as error:
            if not collected.is_empty:
                _print_collected(collected, budget, as_json=as_json)
            if isinstance(error, WhenceError) and budget is not None:
                _complain(error, budget)
            raise
        finally:
            _collected.reset(token)
        _print_collected(collected, budget, as_json=as_json)
        return result

    return run


def _can_page(options: Mapping[str, Any]) -> bool:
    if not sys.stdout.isatty():
        return False
    from whence.cli.terminal import can_page  # noqa: PLC0415  -- most output goes into a pipe

    return can_page(settings_of(options.get("assignments", ())))


def _print_collected(collected: _Collected, budget: int | None, *, as_json: bool) -> None:
    if budget is not None:
        _print_fitted(collected, budget, as_json=as_json)
    else:
        from whence.cli.terminal import page  # noqa: PLC0415  -- as above

        page(collected.whole)


def _print_fitted(collected: _Collected, budget: int, *, as_json: bool) -> None:
    from whence.app.budget import fit_document, fit_json  # noqa: PLC0415  -- loads numpy

    if collected.json or (as_json and collected.is_empty):
        text = fit_json(collected.json[0] if collected.json else {}, budget, rest=_rest).text
    else:
        text = fit_document(collected, budget, rest=_rest, coloured=sys.stdout.isatty()).text
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
        click.echo(fit_document(Document([[text.removesuffix("\n")]]), budget, rest=_rest).text, err=True, nl=False)
        raise click.exceptions.Exit(FAILED) from error


def _rest(enough: int) -> str:
    return f"{_OPTION} {enough} gives all"

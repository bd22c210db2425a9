"""What the commands share: options, opening indexes with progress, traces, errors and colour."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from whence.app.command_line import Target
from whence.app.presenters.text import plain, safe
from whence.core.errors import UsageError
from whence.core.request import Option, options_of
from whence.core.trace import Trace

if TYPE_CHECKING:
    from whence.app.index import Index
    from whence.index.layout import Layout


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


_Command = TypeVar("_Command", bound=Callable[..., Any])
_TYPES = {"int": int, "float": float}
#: Work shorter than this shows no bar.
SECONDS_BEFORE_PROGRESS = 0.4

color_option = click.option(
    "--color", type=click.Choice(["auto", "always", "never"]), default="auto", help="Colour the output (auto: on a terminal only)."
)
path_option = click.option("--path", "place", default=".", metavar="PATH", help="The repository (default: here).")
no_refresh_option = click.option("--no-refresh", is_flag=True, help="Do not refresh the index first.")
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON (docs/json.md).")


def request_options(
    request: type, *, only: Collection[str] = (), help_of: Mapping[str, str] | None = None
) -> Callable[[_Command], _Command]:
    """Give a command the options of a request, or some of them; `help_of` replaces their help."""
    offered = [one for one in options_of(request) if one.flags and (not only or one.name in only)]

    def add(command: _Command) -> _Command:
        for one in reversed(offered):
            command = _click_option(one, (help_of or {}).get(one.name, one.doc))(command)
        return command

    return add


def _click_option(one: Option, help_text: str) -> Callable[[_Command], _Command]:
    if one.type == "bool":
        return click.option(*one.flags, one.name, is_flag=True, help=help_text)
    valueless: dict[str, Any] = {"is_flag": False, "flag_value": one.flag_value} if one.flag_value else {}
    return click.option(
        *one.flags,
        one.name,
        type=_TYPES.get(one.type),
        multiple=one.type == "strs",
        **valueless,
        metavar=one.placeholder or None,
        help=help_text,
    )


class ProgressBar:
    """A bar on a terminal for work that takes a while; nothing in a pipe (A6)."""

    def __init__(self, label: str) -> None:
        self._label, self._began, self._done = label, time.monotonic(), 0
        self._bar: click._termui_impl.ProgressBar[int] | None = None
        self._show = sys.stderr.isatty()
        self._stack = ExitStack()

    def __call__(self, done: int, total: int) -> None:
        """Update the bar."""
        if not self._show or (self._bar is None and (time.monotonic() - self._began < SECONDS_BEFORE_PROGRESS or done >= total)):
            return
        if self._bar is None:
            self._bar = self._stack.enter_context(click.progressbar(length=total, label=self._label, file=sys.stderr, show_pos=False))
        self._bar.update(done - self._done)
        self._done = done

    def close(self) -> None:
        """Remove the bar."""
        self._stack.close()


def open_index(root: Path, values: Mapping[str, str], *, quiet: bool = False, **how: Any) -> Index:
    """Open the index of a root, with a progress bar if it takes a while, and print its notes unless `quiet`."""
    from whence.app.index import Index  # noqa: PLC0415

    progress = ProgressBar(f"indexing {safe(root.name)}")
    try:
        index = Index.open(root, command_line=values, progress=progress, **how)
    finally:
        progress.close()
    if not quiet:
        print_notes([index])
    return index


@contextmanager
def open_indexes(targets: Sequence[Target], values: Mapping[str, str], **how: Any) -> Iterator[list[Index]]:
    """Open the indexes of some roots without printing their notes, and close them in the end."""
    with ExitStack() as stack:
        yield [stack.enter_context(open_index(target.root, values, quiet=True, **how)) for target in targets]


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


def styler(color: str) -> Callable[..., str]:
    """Return `click.style`, or a function that styles nothing if there should be no colour."""
    colored = color == "always" or (color == "auto" and sys.stdout.isatty() and not os.environ.get("NO_COLOR"))
    return click.style if colored else plain


def data_dir() -> Path:
    """The folder of all indexes."""
    from whence.index.layout import default_data_dir  # noqa: PLC0415

    return default_data_dir(dict(os.environ), Path.home())


def layout_of(root: Path) -> Layout:
    """Where the index of a root lies."""
    from whence.index.layout import Layout  # noqa: PLC0415

    return Layout(data_dir(), root)

"""What the commands share: options, opening indexes with progress, traces, errors and colour."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import click

from whence.app.command_line import Target
from whence.app.presenters.text import plain, safe
from whence.core.errors import UsageError
from whence.core.trace import Trace

if TYPE_CHECKING:
    from whence.app.index import Index


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


#: Work shorter than this shows no bar.
SECONDS_BEFORE_PROGRESS = 0.4

color_option = click.option(
    "--color", type=click.Choice(["auto", "always", "never"]), default="auto", help="Colour the output (auto: on a terminal only)."
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON (docs/json.md).")


class ProgressBar:
    """A bar on a terminal for work that takes a while; nothing in a pipe (A6)."""

    def __init__(self, label: str) -> None:
        self._label, self._began, self._done = label, time.monotonic(), 0
        self._bar: click._termui_impl.ProgressBar[int] | None = None
        self._show = sys.stderr.isatty()
        self._stack = ExitStack()

    def __call__(self, done: int, total: int) -> None:
        """So much is done."""
        if not self._show or (self._bar is None and (time.monotonic() - self._began < SECONDS_BEFORE_PROGRESS or done >= total)):
            return
        if self._bar is None:
            self._bar = self._stack.enter_context(click.progressbar(length=total, label=self._label, file=sys.stderr, show_pos=False))
        self._bar.update(done - self._done)
        self._done = done

    def close(self) -> None:
        """Leave the line."""
        self._stack.close()


@contextmanager
def open_indexes(targets: list[Target], *, refresh: bool, values: dict[str, str], trace: Any = None) -> Iterator[list[Index]]:
    """Open the index of every root, with progress."""
    from whence.app.index import Index  # noqa: PLC0415

    with ExitStack() as stack:
        opened = []
        for target in targets:
            progress = ProgressBar(f"indexing {safe(target.root.name)}")
            try:
                index = Index.open(target.root, refresh=refresh, command_line=values, progress=progress, trace=trace)
            finally:
                progress.close()
            opened.append(stack.enter_context(index))
        yield opened


def say_notes(indexes: list[Index]) -> None:
    """What a user should know, on standard error."""
    for index in indexes:
        for note in index.notes:
            click.echo(f"whence: {safe(index.root.name)}: {note}", err=True)


def complaint(message: str, hint: str = "") -> str:
    """An error as it is told: what happened and what to do on one line, and what else there is to see below."""
    from whence.text.invisible import escape_invisible  # noqa: PLC0415  -- with the first text that is printed

    first, _, rest = escape_invisible(message).partition("\n")  # names of files may be in it
    return f"whence: {first}{f' ({hint})' if hint else ''}\n" + (f"{rest}\n" if rest else "")


def styler(color: str) -> Callable[..., str]:
    """A function that styles text when colour is wanted."""
    wanted = color == "always" or (color == "auto" and sys.stdout.isatty() and not os.environ.get("NO_COLOR"))
    return click.style if wanted else plain

"""Where a trace goes: a file, or standard error with `WHENCE_TRACE=1` (E2)."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from whence.core.errors import RootError, SettingError, UsageError
from whence.core.trace import Trace

if TYPE_CHECKING:
    from whence.app.index import Index
    from whence.core.types import Freshness


@contextmanager
def tracing(path: str | None) -> Iterator[Trace | None]:
    """A trace where one is wanted, else None."""
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
set_option = click.option(
    "--set", "assignments", multiple=True, metavar="NAME=VALUE", help="Change a setting for this call (whence config lists them)."
)


@dataclass(frozen=True, slots=True)
class Target:
    """A root to open, and the paths below it that were asked for (none: all of it)."""

    root: Path
    paths: tuple[str, ...] = field(default=())


def targets_of(paths: tuple[str, ...]) -> list[Target]:
    """The roots that some paths belong to: the repository around each, or the folder itself."""
    from whence.source.git import repository_root  # noqa: PLC0415

    found: dict[Path, list[str]] = {}
    for path in paths or (".",):
        try:
            place = Path(path).expanduser().resolve(strict=True)
        except FileNotFoundError as error:
            raise RootError(f"{safe(path)}: no such file or folder") from error
        except (OSError, RuntimeError, ValueError) as error:
            raise RootError(f"{path!r}: cannot be opened: {error}") from error
        folder = place if place.is_dir() else place.parent
        root = repository_root(folder) or folder
        found.setdefault(root, []).append(place.relative_to(root).as_posix())
    return [Target(root, () if "." in below else tuple(below)) for root, below in found.items()]


def settings_of(assignments: tuple[str, ...]) -> dict[str, str]:
    """`--set` as names with values."""
    values = {}
    for assignment in assignments:
        name, equals, value = assignment.partition("=")
        if not equals:
            raise SettingError(f"--set {assignment!r}: no value", hint="write NAME=VALUE")
        values[name.strip()] = value.strip()
    return values


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


def relative(root: Path, path: str) -> str:
    """A path of an index as the caller would write it (A4)."""
    return os.path.relpath(f"{root}/{path}")


def ago(seconds: float) -> str:
    """A span of time in words."""
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.0f} {unit} ago"
    return f"{max(seconds, 0):.0f} s ago"


def freshness_words(freshness: Freshness, now: float) -> str:
    """Freshness as part of a line."""
    of = f"commit {freshness.commit[:10]}" if freshness.commit else "no commit"
    state = f"{freshness.changed} files changed since" if freshness.changed else freshness.note or "up to date"
    return f"{of} · indexed {ago(now - freshness.indexed_at)} · {state}"


def freshness_json(freshness: Freshness) -> dict[str, Any]:
    """Freshness as JSON."""
    return {
        "commit": freshness.commit or None,
        "branch": freshness.branch or None,
        "indexed_at": freshness.indexed_at,
        "changed_files": freshness.changed,
        "fresh": freshness.fresh,
        "note": freshness.note,
    }


def complaint(message: str, hint: str = "") -> str:
    """An error as it is told: what happened and what to do on one line, and what else there is to see below."""
    from whence.text.invisible import escape_invisible  # noqa: PLC0415  -- with the first text that is printed

    first, _, rest = escape_invisible(message).partition("\n")  # names of files may be in it
    return f"whence: {first}{f' ({hint})' if hint else ''}\n" + (f"{rest}\n" if rest else "")


def styler(color: str) -> Callable[..., str]:
    """A function that styles text when colour is wanted."""
    wanted = color == "always" or (color == "auto" and sys.stdout.isatty() and not os.environ.get("NO_COLOR"))
    return click.style if wanted else _plain


def _plain(text: str, **_style: object) -> str:
    return text


def safe(text: str) -> str:
    """Text for a terminal: control characters and broken Unicode shown, not sent."""
    from whence.text.invisible import escape_invisible  # noqa: PLC0415  -- with the first text that is printed

    shown = escape_invisible(text).encode("utf-8", "backslashreplace").decode("utf-8")
    return "".join(character if character.isprintable() or character in " \t" else f"\\x{ord(character):02x}" for character in shown)

"""`whence watch`: indexes are kept true to their files while it runs."""

from __future__ import annotations

import json
import select
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn

import click

from whence.app.command_line import set_option, settings_of, targets_of
from whence.app.presenters.text import safe
from whence.cli.main import FOUND
from whence.cli.shared import json_option, open_index, styler
from whence.core.errors import RootError, WhenceError
from whence.core.settings_schema import WatchSettings

if TYPE_CHECKING:
    from typing_extensions import Self

    from whence.app.index import Index
    from whence.core.types import RefreshSummary
    from whence.index.watch import TreeWatcher

#: Changes that never pause are taken in after this many times the quiet that is waited for.
MOST_PAUSES = 10


@dataclass(frozen=True, slots=True)
class WatchedIndex:
    """A tree is followed from now on, and how."""

    root: Path
    files: int
    folders: int
    looking: str  # why it is looked through instead of being watched; empty when it is watched


@dataclass(frozen=True, slots=True)
class Taken:
    """Changes were taken in."""

    root: Path
    did: RefreshSummary
    commit: str
    moved: bool  # whether the commit is another than before
    seconds: float


@dataclass(frozen=True, slots=True)
class WatchError:
    """Something that a user should know; watching goes on."""

    root: Path
    message: str


Happening = WatchedIndex | Taken | WatchError


@click.command(
    epilog="""\b
Examples:
  whence watch
  whence watch ~/shop ~/library --set watch.quiet=2"""
)
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@json_option
@set_option
def watch(paths: tuple[str, ...], as_json: bool, assignments: tuple[str, ...]) -> int:
    """Keep the index fresh while you work (optional).

    Watches indexed folders only. Other commands look for changes themselves;
    with this running they find less to do. Ctrl-C ends it.
    """
    values = settings_of(assignments)
    signal.signal(signal.SIGTERM, _end)
    print_one = _print_json if as_json else _print_text
    for happening in follow([target.root for target in targets_of(paths)], lambda root: open_index(root, values)):
        print_one(happening)
    return FOUND


def _end(number: int, frame: object) -> NoReturn:  # noqa: ARG001  -- as signals call it
    raise SystemExit(FOUND)


def _print_text(happening: Happening) -> None:
    name = safe(happening.root.name or str(happening.root))
    if isinstance(happening, WatchError):
        click.echo(f"whence: {name}: {safe(happening.message)}", err=True)
        return
    clock = styler("auto")(time.strftime("%H:%M:%S"), dim=True)
    if isinstance(happening, WatchedIndex):
        what = f"{happening.files} files in {happening.folders} folders"
        how = f"looking through it now and then: {happening.looking}" if happening.looking else "watching"
        click.echo(f"{clock} {safe(str(happening.root))}: {what}; {safe(how)}")
        return
    at = f" · commit {happening.commit[:10]}" if happening.moved else ""
    click.echo(f"{clock} {name}: {happening.did.read} read, {happening.did.deleted} gone, {happening.seconds:.2f} s{at}")


def _print_json(happening: Happening) -> None:
    said: dict[str, Any] = {"time": round(time.time(), 3), "root": str(happening.root)}
    if isinstance(happening, WatchedIndex):
        said |= {"event": "followed", "files": happening.files, "folders": happening.folders, "looking": happening.looking}
    elif isinstance(happening, Taken):
        did = happening.did
        said |= {"event": "taken", "read": did.read, "touched": did.touched, "deleted": did.deleted, "bytes_read": did.bytes}
        said |= {"commit": happening.commit or None, "seconds": round(happening.seconds, 3)}
    else:
        said |= {"event": "trouble", "message": happening.message}
    click.echo(json.dumps(said, ensure_ascii=True))


def follow(roots: Sequence[Path], opened: Callable[[Path], Index]) -> Iterator[Happening]:
    """Keep the indexes of some roots true, and tell what happens. Ends only by an error: a root that is gone, or what a signal raises."""
    with ExitStack() as stack:
        kept = [stack.enter_context(Kept(root, opened)) for root in roots]
        while True:
            for one in kept:
                yield from one.tend()
            _sleep(kept)


def _sleep(kept: Sequence[Kept]) -> None:
    """Sleep until something is noted of a root, or one is due."""
    waiting = select.poll()
    for one in kept:
        if one.due is None and one.handle is not None:
            waiting.register(one.handle, select.POLLIN)
    due = [one.due for one in kept if one.due is not None]
    waiting.poll(max(min(due) - time.monotonic(), 0) * 1_000 + 1 if due else None)


class Kept:
    """One root: its index, what follows its files, and when it has to be seen to."""

    def __init__(self, root: Path, opened: Callable[[Path], Index]) -> None:
        self._root, self._opened = root, opened
        self._index: Index | None = None
        self._follower: TreeWatcher | None = None
        self._settings = WatchSettings()
        self._commit: str | None = None
        self._inode = 0
        self._said: str | None = None  # how it is followed, as it was last told
        self._troubled = False
        self._since: float | None = None  # when the first of the changes was noted that are waiting to be taken in
        self._took = 0.0
        self.due: float | None = 0.0  # when it has to be seen to; None: when something is noted

    def __enter__(self) -> Self:
        self._open()  # trouble at the beginning is not to be waited out
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._close()

    @property
    def handle(self) -> int | None:
        """What to wait on for something to be noted."""
        return self._follower.handle if self._follower is not None else None

    def _open(self) -> tuple[Index, TreeWatcher]:
        from whence.index.watch import TreeWatcher  # noqa: PLC0415  -- numpy, not for help

        self._index = self._opened(self._root)
        self._inode = _inode(self._index.layout.database)
        self._settings = self._index.settings.watch
        self._follower = TreeWatcher(self._index.writer)
        self._follower.start()
        return self._index, self._follower

    def _close(self) -> None:
        if self._follower is not None:
            self._follower.close()
        if self._index is not None:
            self._index.close()
        self._index = self._follower = None

    def tend(self) -> Iterator[Happening]:
        """Take in what changed, when it is time to."""
        now = time.monotonic()
        if self.due is None:
            if self._changed():
                self._since, self.due = now, now + self._pause()
        elif now < self.due:
            return
        elif self._since is not None and now < self._since + MOST_PAUSES * self._pause() and self._changed():
            self.due = now + self._pause()
        else:
            yield from self._refresh()

    def _changed(self) -> bool:
        return self._follower is not None and self._follower.has_changed()

    def _pause(self) -> float:
        """How long to wait for quiet; not less than the last refresh took, so that at most half the time goes into them."""
        return max(self._settings.quiet, min(self._took, self._settings.poll))

    def _refresh(self) -> Iterator[Happening]:
        """Take in what changed and say when to look the next time; trouble is told once, and tried again."""
        if not self._root.is_dir():
            raise RootError(f"{self._root} is gone", hint="watch the folder where it is now")
        self._since = None
        try:
            happened, fresh = self._take_in()
        except (WhenceError, OSError) as error:
            self._close()  # opening it again repairs what can be repaired
            happened, fresh = [WatchError(self._root, str(error))], False
        yield from (one for one in happened if not (self._troubled and isinstance(one, WatchError)))
        self._troubled = not fresh
        self._settle(fresh=fresh)

    def _settle(self, *, fresh: bool) -> None:
        now, follower = time.monotonic(), self._follower
        if follower is not None and not fresh:
            follower.mark_changed()
        if not fresh or follower is None or follower.polling_reason:
            self.due = now + self._settings.poll
        elif follower.has_changed():  # also where new folders are watched only now: what came into them before is looked for
            self._since, self.due = now, now + self._pause()
        else:
            self.due = None

    def _take_in(self) -> tuple[list[Happening], bool]:
        """What happened while the index was brought up to date, and whether it is."""
        began, index, follower = time.monotonic(), self._index, self._follower
        if index is None or follower is None or _inode(index.layout.database) != self._inode:  # removed by another process
            self._close()
            index, follower = self._open()
            built = True
        else:
            before = index.last_refresh
            built = index.refresh() is not before
        did, freshness = index.last_refresh, index.freshness
        moved, self._commit = self._commit not in (None, freshness.commit), freshness.commit
        happened: list[Happening] = [WatchError(self._root, note) for note in index.notes]
        index.notes.clear()
        if self._said != follower.polling_reason:
            self._said = follower.polling_reason
            happened.append(WatchedIndex(self._root, len(index.tree.files), len(index.tree.folders), follower.polling_reason))
        if built:
            self._took = time.monotonic() - began
            if did.read or did.deleted or moved:
                happened.append(Taken(self._root, did, freshness.commit, moved, self._took))
        return happened, freshness.fresh


def _inode(path: Path) -> int:
    """Which file is at a path, so that another in its place is seen; 0 where there is none."""
    try:
        return path.stat().st_ino
    except OSError:
        return 0

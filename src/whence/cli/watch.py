"""`whence watch`: keeps indexes fresh while it runs."""

from __future__ import annotations

import json
import select
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn

import click

from whence.app.command_line import set_option, settings_of, targets_of
from whence.app.presenters.text import safe
from whence.cli.shared import FOUND, json_option, open_index, styler
from whence.core.errors import RootError, WhenceError
from whence.core.settings import WatchSettings
from whence.index.watch import TreeWatcher

if TYPE_CHECKING:
    from typing_extensions import Self

    from whence.app.index import Index

#: If changes never pause, the index is updated after this many quiet periods.
MAX_PAUSES = 10


@dataclass(frozen=True, slots=True)
class WatchEvent:
    """Watching has begun or its method has changed, an index was updated, or there is a problem in spite of which watching goes on."""

    root: Path
    kind: str  # followed | taken | trouble, as in the JSON output
    text: str
    fields: Mapping[str, Any]


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
    for event in watch_roots([target.root for target in targets_of(paths)], lambda root: open_index(root, values, quiet=True)):
        print_one(event)
    return FOUND


def _end(number: int, frame: object) -> NoReturn:  # noqa: ARG001  -- as signals call it
    raise SystemExit(FOUND)


def _print_text(event: WatchEvent) -> None:
    name = safe(event.root.name or str(event.root))
    if event.kind == "trouble":
        click.echo(f"whence: {name}: {safe(event.text)}", err=True)
    else:
        clock = styler("auto")(time.strftime("%H:%M:%S"), dim=True)
        click.echo(f"{clock} {safe(str(event.root)) if event.kind == 'followed' else name}: {safe(event.text)}")


def _print_json(event: WatchEvent) -> None:
    said = {"time": round(time.time(), 3), "root": str(event.root), "event": event.kind, **event.fields}
    click.echo(json.dumps(said, ensure_ascii=True))


def watch_roots(roots: Sequence[Path], open_root: Callable[[Path], Index]) -> Iterator[WatchEvent]:
    """Keep the indexes of some roots fresh and yield what happens. Ends only by an error: a root that is gone, or a signal."""
    with ExitStack() as stack:
        watchers = [stack.enter_context(RootWatcher(root, open_root)) for root in roots]
        while True:
            for one in watchers:
                yield from one.tend()
            _sleep(watchers)


def _sleep(watchers: Sequence[RootWatcher]) -> None:
    """Sleep until a root has changed or is due."""
    waiting = select.poll()
    for one in watchers:
        if one.due is None and one.handle is not None:
            waiting.register(one.handle, select.POLLIN)
    due = [one.due for one in watchers if one.due is not None]
    waiting.poll(max(min(due) - time.monotonic(), 0) * 1_000 + 1 if due else None)


class RootWatcher:
    """One root: its index, the watcher of its files, and when to update it."""

    def __init__(self, root: Path, open_root: Callable[[Path], Index]) -> None:
        self._root, self._open_root = root, open_root
        self._index: Index | None = None
        self._follower: TreeWatcher | None = None
        self._settings = WatchSettings()
        self._commit: str | None = None
        self._inode = 0
        self._reported: str | None = None  # the polling reason that was last reported
        self._failing = False
        self._since: float | None = None  # when the first of the pending changes was seen
        self._took = 0.0
        self.due: float | None = 0.0  # when to update it; None: as soon as something changes

    def __enter__(self) -> Self:
        self._open()  # an error at the start ends the command
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._close()

    @property
    def handle(self) -> int | None:
        """The file descriptor to wait on for changes; None without one."""
        return self._follower.handle if self._follower is not None else None

    def _open(self) -> tuple[Index, TreeWatcher]:
        self._index = self._open_root(self._root)
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

    def tend(self) -> Iterator[WatchEvent]:
        """Update the index when it is time to."""
        now = time.monotonic()
        if self.due is None:
            if self._changed():
                self._since, self.due = now, now + self._pause()
        elif now < self.due:
            return
        elif self._since is not None and now < self._since + MAX_PAUSES * self._pause() and self._changed():
            self.due = now + self._pause()
        else:
            yield from self._refresh()

    def _changed(self) -> bool:
        return self._follower is not None and self._follower.has_changed()

    def _pause(self) -> float:
        """How long to wait for quiet: at least as long as the last refresh took, so that refreshing takes half the time at most."""
        return max(self._settings.quiet, min(self._took, self._settings.poll))

    def _refresh(self) -> Iterator[WatchEvent]:
        """Update the index and schedule the next update. An error is reported once, and the update tried again."""
        if not self._root.is_dir():
            raise RootError(f"{self._root} is gone", hint="watch the folder where it is now")
        self._since = None
        try:
            happened, fresh = self._update()
        except (WhenceError, OSError) as error:
            self._close()  # opening it again repairs what can be repaired
            happened, fresh = [self._problem(str(error))], False
        yield from (one for one in happened if not (self._failing and one.kind == "trouble"))
        self._failing = not fresh
        self._schedule(fresh=fresh)

    def _schedule(self, *, fresh: bool) -> None:
        now, follower = time.monotonic(), self._follower
        if follower is not None and not fresh:
            follower.mark_changed()
        if not fresh or follower is None or follower.polling_reason:
            self.due = now + self._settings.poll
        elif follower.has_changed():  # also if a new folder was not watched yet: it may hold new files
            self._since, self.due = now, now + self._pause()
        else:
            self.due = None

    def _problem(self, message: str) -> WatchEvent:
        return WatchEvent(self._root, "trouble", message, {"message": message})

    def _update(self) -> tuple[list[WatchEvent], bool]:
        """What happened during an update, and whether the index is fresh now."""
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
        happened = [self._problem(note) for note in index.notes]
        index.notes.clear()
        if self._reported != follower.polling_reason:
            self._reported = follower.polling_reason
            files, folders, reason = len(index.tree.files), len(index.tree.folders), follower.polling_reason
            how = f"looking through it now and then: {reason}" if reason else "watching"
            fields = {"files": files, "folders": folders, "looking": reason}
            happened.append(WatchEvent(self._root, "followed", f"{files} files in {folders} folders; {how}", fields))
        if built:
            self._took = time.monotonic() - began
            if did.read or did.deleted or moved:
                at = f" · commit {freshness.commit[:10]}" if moved else ""
                work = {"read": did.read, "touched": did.touched, "deleted": did.deleted, "bytes_read": did.bytes}
                fields = {**work, "commit": freshness.commit or None, "seconds": round(self._took, 3)}
                text = f"{did.read} read, {did.deleted} gone, {self._took:.2f} s{at}"
                happened.append(WatchEvent(self._root, "taken", text, fields))
        return happened, freshness.fresh


def _inode(path: Path) -> int:
    """The inode of a file, to notice that another has replaced it; 0 without one."""
    try:
        return path.stat().st_ino
    except OSError:
        return 0

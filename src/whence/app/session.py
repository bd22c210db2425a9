"""The fleet, served: opened when it is first asked, and kept open. It is asked as whom the server's own settings name."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast

import anyio

from whence.app.build_process import BuildProcess
from whence.core.errors import FleetError, IndexDamaged, RootError, StorageError, UsageError, WhenceError
from whence.core.settings import load_settings
from whence.core.types import PendingWork
from whence.index.writer import BEHIND

if TYPE_CHECKING:
    from whence.app.index import Index
    from whence.core.settings_schema import Settings
    from whence.fleet.search import Fleet
    from whence.index.watch import TreeWatcher
    from whence.memory.memory import Memory


_T = TypeVar("_T")


class FleetSession:
    """Answers questions about the fleet, one at a time, in a thread of its own."""

    def __init__(self, settings: Mapping[str, str]) -> None:
        self._given = dict(settings)
        self._fleet: Fleet | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="fleet")

    @property
    def configured(self) -> bool:
        """Whether the settings name a fleet at all."""
        try:
            chosen = load_settings(None, command_line=self._given)[0].fleet
        except WhenceError:  # whoever asks something is told
            return False
        return chosen.backend == "milvus" and bool(chosen.address)

    async def ask(self, question: Callable[[Fleet], _T]) -> _T:
        """Put a question to the fleet."""
        return await asyncio.wrap_future(self._thread.submit(self._answered, question))

    def _answered(self, question: Callable[[Fleet], _T]) -> _T:
        from whence.fleet.access import authenticate  # noqa: PLC0415  -- only where a fleet is asked
        from whence.fleet.search import Fleet  # noqa: PLC0415  -- as above

        if self._fleet is None:
            self._fleet = Fleet.open(command_line=self._given)
        chosen = self._fleet.settings.fleet
        caller = authenticate(chosen, chosen.caller)  # every time: a right that was taken away is gone at once
        if caller != self._fleet.caller:
            self._fleet = Fleet(self._fleet.engine, self._fleet.settings, caller)
        try:
            return question(self._fleet)
        except FleetError:
            self._let_go()  # the next question opens it anew
            raise

    def _let_go(self) -> None:
        fleet, self._fleet = self._fleet, None
        if fleet is not None:
            fleet.close()

    async def aclose(self) -> None:
        """Let the engine go; what it is still asked ends in its own time."""
        self._thread.submit(self._let_go)
        self._thread.shutdown(wait=False)


Report = Callable[[float, float, str], Awaitable[None]]
#: More changed source than this is taken in beside the server, not while a caller waits.
SMALL_CHANGE_BYTES = 400_000
#: How often a caller who waits is told how far the index is.
SECONDS_BETWEEN_REPORTS = 0.25
#: How long the end of the server waits for work that is under way.
SECONDS_TO_CLOSE = 1.0
#: So long after the last question memory that is free is given back, which takes a few milliseconds.
SECONDS_BEFORE_TIDYING = 2.0
#: So long after the last question an index is closed; to open it again takes a fraction of a second.
SECONDS_BEFORE_REST = 15.0
#: Whoever waits for an answer does not wait for another writer: what is there is answered from, and that is said.
SERVER_SETTINGS = {"index.lock_wait": "0.5"}


@dataclass(frozen=True, slots=True)
class BuildProgress:
    """How far the index of a root is."""

    indexed: int = 0  # files that can be found
    missing: int = 0  # files that are new, changed or gone, and not taken in yet
    building: bool = False
    share: float = 1.0  # of the work that is under way
    note: str = ""


def require_index(index: Index | None, progress: BuildProgress) -> Index:
    """The index, where there is anything in it."""
    if index is None or (progress.building and not progress.indexed):
        raise UsageError(f"the index is being built, {progress.share:.0%} done", hint="ask again in a moment; search answers already")
    return index


class IndexSession:
    """Answers questions about one root, one at a time. All work with the index is done in one thread of its own."""

    def __init__(self, root: Path, settings: Mapping[str, str], *, rest: float = SECONDS_BEFORE_REST) -> None:
        self.root, self._seconds_before_rest = root, rest
        self.overrides = dict(settings)  # on the command line
        self._given = {**SERVER_SETTINGS, **settings}
        self._building: BuildProcess | None = None
        self._waited_for: BuildProcess | None = None  # callers wait for a build once; after that they are answered at once
        self._index: Index | None = None
        self._file: tuple[int, int] | None = None  # which file the index was when it was opened
        self._memory: Memory | None = None
        self._follower: TreeWatcher | None = None
        self._settled = False  # whether the index was true to its files when it was last looked at
        self._trouble = ""
        self._rest: list[asyncio.TimerHandle] = []  # when nobody has asked for a while, memory is given back
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="session")

    async def ask(self, question: Callable[[Index | None, BuildProgress], _T], report: Report | None = None, *, wait: bool = True) -> _T:
        """Put a question to the index as it is now, or to what there is of it where it is being built (None: nothing yet).

        Whoever is wait waits a moment for a build that has just begun.
        """
        answer = await self._run(lambda: self._answered(question, wait=wait))
        if isinstance(answer, BuildProcess):
            await self._wait(answer, report)
            answer = await self._run(lambda: self._answered(question, wait=False))
        return cast("_T", answer)

    async def refresh(self, *, rebuild: bool = False) -> BuildProgress:
        """Look at all files, whatever a watcher says, and take in what changed; or build everything anew, beside the server."""
        return await self._run(lambda: self._refreshed(rebuild=rebuild))

    @property
    def build_error(self) -> str:
        """What the last build beside the server failed with, until the next is tried."""
        return self._trouble

    async def ask_notes(self, question: Callable[[Memory], _T]) -> _T:
        """Put a question to the notes that this root's settings name."""
        return await self._run(lambda: question(self._notes()))

    async def _run(self, work: Callable[[], _T]) -> _T:
        try:
            return await asyncio.wrap_future(self._thread.submit(work))
        finally:
            self._cancel_rest()
            later = asyncio.get_running_loop().call_later
            self._rest = [
                later(SECONDS_BEFORE_TIDYING, self._thread.submit, give_memory_back),
                later(self._seconds_before_rest, self._thread.submit, self._be_small),
            ]

    def _cancel_rest(self) -> None:
        for timer in self._rest:
            timer.cancel()

    async def _wait(self, building: BuildProcess, report: Report | None) -> None:
        """Wait for a build as long as is bearable; it goes on in any case."""
        deadline = time.monotonic() + (await self._run(self.settings)).mcp.patience
        while building.running and time.monotonic() < deadline:
            if report is not None:
                await report(round(building.share, 3), 1.0, f"indexing {self.root.name}")
            await asyncio.sleep(SECONDS_BETWEEN_REPORTS)
        self._waited_for = building

    async def aclose(self) -> None:
        """Stop what is under way and let go of all files."""
        if self._building is not None:
            self._building.end()
        with anyio.move_on_after(SECONDS_TO_CLOSE):  # whatever its thread is still at, nobody waits for it any more
            await self._run(self._be_small)
        self._cancel_rest()
        self._thread.shutdown(wait=False)

    # In the session's own thread.
    def _answered(self, question: Callable[[Index | None, BuildProgress], _T], *, wait: bool) -> _T | BuildProcess:
        """Look and answer in one go, for others ask in between; or the build that is to be waited for."""
        try:
            return self._looked_and_answered(question, wait=wait)
        except IndexDamaged:
            self._let_go()  # when it is opened again, what is damaged is made anew
            return self._looked_and_answered(question, wait=wait)

    def _looked_and_answered(self, question: Callable[[Index | None, BuildProgress], _T], *, wait: bool) -> _T | BuildProcess:
        progress = self._look()
        if wait and self._building is not None and self._building is not self._waited_for:
            return self._building
        return question(self._index, progress)

    def _refreshed(self, *, rebuild: bool) -> BuildProgress:
        self._settled, self._trouble = False, ""
        if rebuild and not (self._building is not None and self._building.running):
            self._let_go()  # what is there is removed
            self._building = BuildProcess(self.root, self._for_builds(), rebuild=True)
            return self._progress()
        return cast("BuildProgress", self._answered(lambda _, progress: progress, wait=False))

    def _be_small(self) -> None:
        """Give back what answers were made from: many servers stand idle, one for each session of each agent."""
        self._let_go()
        if self._memory is not None:
            self._memory.close()
            self._memory = None
        gc.collect()
        give_memory_back()

    def settings(self) -> Settings:
        """The settings of this root."""
        from whence.core.settings import load_settings  # noqa: PLC0415  -- the engine is loaded with the first question

        return self._index.settings if self._index is not None else load_settings(self.root, command_line=self._given)[0]

    def unindexed_files(self) -> list[str]:
        """The files that are not in the index yet, or not as they are now."""
        from whence.source.walk import Walker  # noqa: PLC0415  -- loaded with the index

        if self._index is not None:
            return self._index.tree.changed
        chosen = self.settings().index
        walker = Walker(str(self.root), max_file_bytes=chosen.max_file_bytes, hidden=chosen.hidden, now_ns=time.time_ns())
        return list(walker.walk().files)

    def _notes(self) -> Memory:
        from whence.memory.memory import Memory  # noqa: PLC0415  -- a server that is not asked stays small

        if self._memory is None:
            self._memory = Memory.open(repository=self.root, command_line=self._given)
        return self._memory

    def _look(self) -> BuildProgress:
        """Open the index, or bring it up to date: at once where that is quick, else beside."""
        if self._building is not None and not self._building.running:
            self._trouble, self._building = self._building.error, None
        if not self.root.is_dir():
            self._let_go()
            raise RootError(f"{self.root} is gone", hint="its index is kept for when it comes back")
        if self._index is not None and self._file != _file_of(self._index):
            self._let_go()  # the index was deleted, or made anew by another process
        try:
            work = self._opened()
            if work.needed and self._building is None:
                if work.bytes > SMALL_CHANGE_BYTES or not self._whole().snapshot.live_files:
                    self._build()
                else:
                    self._whole().refresh()
                    work = PendingWork(0, needed=not self._whole().freshness.fresh)
            self._settled = not work.needed
        except StorageError:  # not there, damaged, or of another version: a build makes it anew
            self._let_go()
            if self._building is None:
                self._build()
        return self._progress()

    def _opened(self) -> PendingWork:
        """The index as it is on disk now, and what is to be done to it."""
        from whence.app.index import Index  # noqa: PLC0415  -- a server that is not asked stays small
        from whence.index.watch import TreeWatcher  # noqa: PLC0415  -- as above

        if self._index is None:
            self._index = Index.open(self.root, refresh=False, command_line=self._given)
            self._file = _file_of(self._index)
            self._follower = TreeWatcher(self._index.writer) if self._index.settings.mcp.watch else None
        changed = self._follower is None or self._follower.has_changed()
        if self._settled and not changed:
            return PendingWork(0, needed=False)
        return self._index.poll()

    def _whole(self) -> Index:
        if self._index is None:
            raise StorageError(f"{self.root} is not indexed")
        return self._index

    def _build(self) -> None:
        """Begin to build, unless that has just failed: trouble is said once, and tried again with the next question."""
        if self._trouble:
            self._trouble, trouble = "", self._trouble
            if self._index is None or not self._index.snapshot.live_files:
                raise RootError(trouble)
            self._index.notes.append(f"{BEHIND}: {trouble}")
            return
        self._building = BuildProcess(self.root, self._for_builds())

    def _for_builds(self) -> dict[str, str]:
        """The settings of a build beside the server, which may wait for another writer."""
        return {name: value for name, value in self._given.items() if name not in SERVER_SETTINGS}

    def _let_go(self) -> None:
        if self._follower is not None:
            self._follower.close()
        if self._index is not None:
            self._index.close()
        self._index, self._follower, self._settled = None, None, False

    def _progress(self) -> BuildProgress:
        building = self._building
        if self._index is None or not self._index.snapshot.live_files:
            return BuildProgress(building=building is not None, share=building.share if building else 1.0)
        indexed, freshness = self._index.snapshot.live_files, self._index.freshness
        return BuildProgress(indexed, freshness.changed, building is not None, building.share if building else 1.0, freshness.note)


def give_memory_back() -> None:
    """Have memory that is free go back to the system, where the C library can do that."""
    import ctypes  # noqa: PLC0415  -- seldom

    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def _file_of(index: Index) -> tuple[int, int] | None:
    """Which file on disk an index is; None when it is gone."""
    try:
        found = index.layout.database.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino

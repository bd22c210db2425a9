"""The roots a server answers from, each with a session that keeps its index fresh in a thread of its own.

Any path outside the roots is refused, after symbolic links are resolved. The engine is loaded with the first question.
"""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import anyio

from whence.app.build_process import BuildProcess
from whence.core.errors import FleetError, IndexDamaged, RootError, StorageError, UsageError, WhenceError
from whence.core.settings import load_settings
from whence.core.types import SYMBOL_IN_FILE, PendingWork

if TYPE_CHECKING:
    from whence.app.index import Index
    from whence.core.settings import Settings
    from whence.fleet.search import Fleet
    from whence.index.watch import TreeWatcher
    from whence.memory.memory import Memory

_T = TypeVar("_T")
Report = Callable[[float, float, str], Awaitable[None]]
#: Changes with more source than this are indexed in a process of their own, not while a caller waits.
SMALL_CHANGE_BYTES = 400_000
#: How often a waiting caller gets a progress report.
SECONDS_BETWEEN_REPORTS = 0.25
#: How long closing waits for work in progress.
SECONDS_TO_CLOSE = 1.0
#: How long after the last question free memory is returned to the system, which takes a few milliseconds.
SECONDS_BEFORE_TRIM = 2.0
#: How long after the last question an index is closed; opening it again takes a fraction of a second.
SECONDS_BEFORE_REST = 15.0
#: A caller does not wait for another writer: it gets an answer from the index as it is, with a note.
SERVER_SETTINGS = {"index.lock_wait": "0.5"}


class FleetSession:
    """Answers questions about the fleet, one at a time, with the access rights of the server's own settings."""

    def __init__(self, settings: Mapping[str, str]) -> None:
        self._settings = dict(settings)
        self._fleet: Fleet | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="fleet")

    @property
    def configured(self) -> bool:
        """Whether the settings name a fleet."""
        try:
            chosen = load_settings(None, command_line=self._settings)[0].fleet
        except WhenceError:  # reported with the first question
            return False
        return chosen.backend == "milvus" and bool(chosen.address)

    async def ask(self, question: Callable[[Fleet], _T]) -> _T:
        """Answer a question about the fleet."""
        return await asyncio.wrap_future(self._thread.submit(self._answer, question))

    def _answer(self, question: Callable[[Fleet], _T]) -> _T:
        from whence.fleet.registry import authenticate  # noqa: PLC0415  -- only if there is a fleet
        from whence.fleet.search import Fleet  # noqa: PLC0415  -- as above

        if self._fleet is None:
            self._fleet = Fleet.open(command_line=self._settings)
        chosen = self._fleet.settings.fleet
        caller = authenticate(chosen, chosen.caller)  # every time, so that a revoked right ends at once
        if caller != self._fleet.caller:
            self._fleet = Fleet(self._fleet.engine, self._fleet.settings, caller)
        try:
            return question(self._fleet)
        except FleetError:
            self._close()  # the next question connects again
            raise

    def _close(self) -> None:
        fleet, self._fleet = self._fleet, None
        if fleet is not None:
            fleet.close()

    async def aclose(self) -> None:
        """Disconnect from the engine once the current question is answered."""
        self._thread.submit(self._close)
        self._thread.shutdown(wait=False)


@dataclass(frozen=True, slots=True)
class BuildProgress:
    """How far the index of a root is."""

    indexed: int = 0  # files that can be found
    missing: int = 0  # files that are new, changed or deleted and not yet indexed
    building: bool = False
    share: float = 1.0  # done of the current build
    note: str = ""


def require_index(index: Index | None, progress: BuildProgress) -> Index:
    """The index, unless nothing is in it yet."""
    if index is None or (progress.building and not progress.indexed):
        raise UsageError(f"the index is being built, {progress.share:.0%} done", hint="ask again in a moment; search works already")
    return index


class IndexSession:
    """Answers questions about one root, one at a time, from an index kept fresh. The index is used in one thread only."""

    def __init__(self, root: Path, settings: Mapping[str, str], *, rest: float = SECONDS_BEFORE_REST, everywhere: bool = False) -> None:
        """With `everywhere`, notes are those of all repositories."""
        self.root, self._seconds_before_rest, self._everywhere = root, rest, everywhere
        self.overrides = dict(settings)  # from the command line
        self._settings = {**SERVER_SETTINGS, **settings}
        self._build: BuildProcess | None = None
        self._waited_for: BuildProcess | None = None  # callers wait for a build once, then get what there is
        self._build_error = ""
        self._index: Index | None = None
        self._database: tuple[int, int] | None = None  # device and inode of the open index
        self._memory: Memory | None = None
        self._watcher: TreeWatcher | None = None
        self._fresh = False  # whether the index matched the files at the last look
        self._timers: list[asyncio.TimerHandle] = []  # free memory when nobody asks
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="session")

    async def ask(self, question: Callable[[Index | None, BuildProgress], _T], report: Report | None = None, *, wait: bool = True) -> _T:
        """Answer a question from the fresh index, or while it is being built from what there is (None: nothing yet).

        With `wait`, a build that has just begun gets a moment to finish.
        """
        answer = await self._run(lambda: self._answer(question, wait=wait))
        if isinstance(answer, BuildProcess):
            await self._wait(answer, report)
            answer = await self._run(lambda: self._answer(question, wait=False))
        return cast("_T", answer)

    async def ask_notes(self, question: Callable[[Memory], _T]) -> _T:
        """Answer a question from the notes that this root's settings name."""

        def answer() -> _T:
            from whence.memory.memory import Memory  # noqa: PLC0415  -- an idle server stays small

            if self._memory is None:
                chosen, ours = self._settings, self._time_for_second_looks()
                self._memory = Memory.open(repository=self.root, command_line=chosen, settings=ours, everywhere=self._everywhere)
            return question(self._memory)

        return await self._run(answer)

    async def refresh(self, *, rebuild: bool = False) -> BuildProgress:
        """Check all files, whatever the watcher says, and index what changed; or rebuild everything in a process of its own."""
        return await self._run(lambda: self._refresh(rebuild=rebuild))

    @property
    def build_error(self) -> str:
        """Why the last build failed; cleared when the next one starts."""
        return self._build_error

    async def aclose(self) -> None:
        """Stop builds and close all files."""
        if self._build is not None:
            self._build.end()
        with anyio.move_on_after(SECONDS_TO_CLOSE):
            await self._run(self._close_all)
        self._cancel_timers()
        self._thread.shutdown(wait=False)

    async def _run(self, work: Callable[[], _T]) -> _T:
        try:
            return await asyncio.wrap_future(self._thread.submit(work))
        finally:
            self._cancel_timers()
            later = asyncio.get_running_loop().call_later
            self._timers = [
                later(SECONDS_BEFORE_TRIM, self._thread.submit, trim_memory),
                later(self._seconds_before_rest, self._thread.submit, self._close_all),
            ]

    def _cancel_timers(self) -> None:
        for timer in self._timers:
            timer.cancel()

    async def _wait(self, build: BuildProcess, report: Report | None) -> None:
        """Wait for a build for as long as a caller is willing to; it continues in any case."""
        deadline = time.monotonic() + (await self._run(self.settings)).mcp.patience
        while build.running and time.monotonic() < deadline:
            if report is not None:
                await report(round(build.share, 3), 1.0, f"indexing {self.root.name}")
            await asyncio.sleep(SECONDS_BETWEEN_REPORTS)
        self._waited_for = build

    # In the session's own thread.
    def settings(self) -> Settings:
        """The settings of this root."""
        return self._index.settings if self._index is not None else load_settings(self.root, command_line=self._settings)[0]

    def _time_for_second_looks(self) -> dict[str, int]:
        """Whoever asks a server waits longer."""
        return {"rerank.milliseconds": load_settings(self.root, command_line=self._settings)[0].rerank.server_milliseconds}

    def unindexed_files(self) -> list[str]:
        """The files that are not in the index, or not in their current state."""
        from whence.source.walk import Walker  # noqa: PLC0415  -- loaded with the index

        if self._index is not None:
            return self._index.tree.changed
        chosen = self.settings().index
        walker = Walker(str(self.root), max_file_bytes=chosen.max_file_bytes, hidden=chosen.hidden, now_ns=time.time_ns())
        return list(walker.walk().files)

    def _answer(self, question: Callable[[Index | None, BuildProgress], _T], *, wait: bool) -> _T | BuildProcess:
        """Update and answer in one step, so that no other question comes between; or the build to wait for."""
        try:
            return self._update_and_answer(question, wait=wait)
        except IndexDamaged:
            self._close_index()  # opening it again repairs it
            return self._update_and_answer(question, wait=wait)

    def _update_and_answer(self, question: Callable[[Index | None, BuildProgress], _T], *, wait: bool) -> _T | BuildProcess:
        progress = self._update()
        if wait and self._build is not None and self._build is not self._waited_for:
            return self._build
        return question(self._index, progress)

    def _refresh(self, *, rebuild: bool) -> BuildProgress:
        self._fresh, self._build_error = False, ""
        if rebuild and not (self._build is not None and self._build.running):
            self._close_index()  # the build removes it
            self._build = BuildProcess(self.root, self.overrides, rebuild=True)
            return self._progress()
        return cast("BuildProgress", self._answer(lambda _, progress: progress, wait=False))

    def _update(self) -> BuildProgress:
        """Open the index and bring it up to date: at once if that is quick, else in a process of its own."""
        if self._build is not None and not self._build.running:
            self._build_error, self._build = self._build.error, None
        if not self.root.is_dir():
            self._close_index()
            raise RootError(f"{self.root} is gone", hint="its index is kept in case it returns")
        if self._index is not None and self._database != _file_id(self._index):
            self._close_index()  # another process deleted or rebuilt it
        try:
            index = self._open_index()
            changed = self._watcher is None or self._watcher.has_changed()
            work = PendingWork(0, needed=False) if self._fresh and not changed else index.poll()
            if work.needed and self._build is None:
                if work.bytes > SMALL_CHANGE_BYTES or not index.snapshot.live_files:
                    self._start_build()
                else:
                    index.refresh()
                    work = PendingWork(0, needed=not index.freshness.fresh)
            self._fresh = not work.needed
        except StorageError:  # missing, damaged, or another version's: a build makes a new one
            self._close_index()
            if self._build is None:
                self._start_build()
        return self._progress()

    def _open_index(self) -> Index:
        from whence.app.index import Index  # noqa: PLC0415  -- an idle server stays small
        from whence.index.watch import TreeWatcher  # noqa: PLC0415  -- as above

        if self._index is None:
            self._index = Index.open(self.root, refresh=False, command_line=self._settings, settings=self._time_for_second_looks())
            self._database = _file_id(self._index)
            self._watcher = TreeWatcher(self._index.writer) if self._index.settings.mcp.watch else None
        return self._index

    def _start_build(self) -> None:
        """Start a build, unless the last one failed: that is reported once, and the next question tries again."""
        from whence.index.writer import STALE_NOTE  # noqa: PLC0415  -- as above

        if not self._build_error:
            self._build = BuildProcess(self.root, self.overrides)
            return
        self._build_error, error = "", self._build_error
        if self._index is None or not self._index.snapshot.live_files:
            raise RootError(error)
        self._index.notes.append(f"{STALE_NOTE}: {error}")

    def _progress(self) -> BuildProgress:
        building = self._build is not None
        share = self._build.share if self._build is not None else 1.0
        if self._index is None or not self._index.snapshot.live_files:
            return BuildProgress(building=building, share=share)
        freshness = self._index.freshness
        return BuildProgress(self._index.snapshot.live_files, freshness.changed, building, share, freshness.note)

    def _close_index(self) -> None:
        if self._watcher is not None:
            self._watcher.close()
        if self._index is not None:
            self._index.close()
        self._index, self._watcher, self._fresh = None, None, False

    def _close_all(self) -> None:
        """Free everything that answers were made from: many servers sit idle, one for each session of each agent."""
        self._close_index()
        if self._memory is not None:
            self._memory.close()
            self._memory = None
        gc.collect()
        trim_memory()


def trim_memory() -> None:
    """Return free memory to the system, if the C library can."""
    import ctypes  # noqa: PLC0415  -- seldom

    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def _file_id(index: Index) -> tuple[int, int] | None:
    """Device and inode of an index's database; None if it is gone."""
    try:
        facts = index.layout.database.stat()
    except OSError:
        return None
    return facts.st_dev, facts.st_ino


class AllowedRoots:
    """The folders named when the server was started: the only ones it reads."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self.folders = tuple(dict.fromkeys(folders))

    def label(self, folder: Path) -> str:
        """The prefix that tells roots apart in answers; empty with a single root. Callers may send prefixed paths back."""
        if len(self.folders) == 1:
            return ""
        unique = [other.name for other in self.folders].count(folder.name) == 1 and folder.name
        return f"{folder.name if unique else str(folder).rstrip('/')}/"

    def select(self, name: str) -> Path:
        """The root with this name or path; the first root for an empty name."""
        if not name:
            return self.folders[0]
        for folder in self.folders:
            if name.rstrip("/") in (self.label(folder).rstrip("/") or folder.name, str(folder)):
                return folder
        if Path(name).is_absolute():
            return self.locate(name)[0]
        raise RootError(f"no root is called {name[:200]!r}", hint=f"the roots are {', '.join(map(str, self.folders))}")

    def locate(self, path: str, root: Path | None = None) -> tuple[Path, str]:
        """The root that contains a path (the innermost, unless `root` is given), and the path relative to it."""
        allowed = (root,) if root is not None else self.folders
        inside = [located for full in self._candidates(Path(path), allowed) if (located := _inside(full, allowed)) is not None]
        if not inside:
            hint = f"allowed: {', '.join(map(str, allowed))}"
            raise RootError(f"{path[:200]!r} is not in a folder that this server may read", hint=hint)
        for folder, relative in inside:
            with suppress(OSError):  # the name may be too long
                if (folder / relative).exists():
                    return folder, relative
        raise UsageError(f"{path[:200]!r}: no such file or folder in {', '.join(folder.name or '/' for folder in allowed)}")

    def _candidates(self, path: Path, allowed: Sequence[Path]) -> Iterator[Path]:
        """The absolute paths that a path may mean: itself, relative to each root, or prefixed with a root's label."""
        if path.is_absolute():
            yield path
            return
        yield from (folder / path for folder in allowed)
        for folder in allowed:
            if path.parts and self.label(folder) == f"{path.parts[0]}/":
                yield folder.joinpath(*path.parts[1:])


def _inside(path: Path, allowed: Sequence[Path]) -> tuple[Path, str] | None:
    try:
        real = path.resolve()
    except (OSError, RuntimeError, ValueError):  # a loop of links, or an impossible name
        return None
    for folder in sorted(allowed, key=lambda one: -len(one.parts)):  # innermost first: roots may be nested
        if real.is_relative_to(folder):
            below = real.relative_to(folder).as_posix()
            return folder, "" if below == "." else below
    return None


class Workspace:
    """The roots of a server, each with its session, and the fleet."""

    def __init__(
        self,
        folders: Sequence[Path],
        settings: Mapping[str, str],
        session_id: str = "",
        *,
        rest: float = SECONDS_BEFORE_REST,
        everywhere: bool = False,
    ) -> None:
        self.roots = AllowedRoots(folders)
        self.session_id = session_id  # the agent's session: hooks report usage of what was shown under this id (L4)
        self.fleet = FleetSession(settings)
        self._sessions = {folder: IndexSession(folder, settings, rest=rest, everywhere=everywhere) for folder in self.roots.folders}

    def session(self, root: Path) -> IndexSession:
        """The session of a root."""
        return self._sessions[root]

    def sessions(self, name: str = "") -> list[IndexSession]:
        """The session of the named root, or of all roots."""
        return [self.session(self.roots.select(name))] if name else list(self._sessions.values())

    async def ask_each(
        self,
        sessions: Sequence[IndexSession],
        question: Callable[[IndexSession, Index | None, BuildProgress], _T],
        unreadable: Callable[[IndexSession, WhenceError], _T],
        report: Report | None = None,
        *,
        wait: bool = True,
    ) -> list[_T]:
        """Ask several roots at once. If one of several cannot be read, the others still answer."""

        async def ask(session: IndexSession) -> _T:
            try:
                return await session.ask(partial(question, session), report, wait=wait)
            except (RootError, StorageError) as error:
                if len(sessions) == 1:
                    raise
                return unreadable(session, error)

        return await asyncio.gather(*map(ask, sessions))

    def named_root(self, given: Mapping[str, Any]) -> Path | None:
        """The root that a call's arguments name, if any."""
        return self.roots.select(given["root"]) if given.get("root") else None

    def root_of(self, given: Mapping[str, Any], paths: Sequence[str]) -> Path:
        """The root a call is about: the one it names, else the one that contains its first path."""
        if given.get("root") or not paths or not self.has_many_roots:
            return self.roots.select(given.get("root", ""))
        return self.roots.locate(paths[0])[0]

    @property
    def has_many_roots(self) -> bool:
        """Whether there is more than one root."""
        return len(self._sessions) > 1

    def locate_symbol(self, symbol: str, root: Path | None = None) -> tuple[Path | None, str]:
        """For a symbol given with its file: its root, and the symbol with the path relative to it. Others are returned unchanged."""
        match = SYMBOL_IN_FILE.fullmatch(symbol)
        if match is None:
            return root, symbol
        try:
            own, below = self.roots.locate(match["path"], root)
        except UsageError:
            return root, symbol  # a plain name may contain `#` or `:`
        return own, f"{below}{match['rest']}"

    def label(self, session: IndexSession) -> str:
        """The prefix of this root's paths in answers; empty with a single root."""
        return self.roots.label(session.root)

    def name_of(self, session: IndexSession) -> str:
        """The name under which callers select this root."""
        return self.label(session).rstrip("/") or session.root.name or "/"

    def names(self) -> dict[str, str]:
        """The path of each root, by its name."""
        return {self.name_of(session): str(session.root) for session in self.sessions()}

    def nested_roots(self, session: IndexSession) -> tuple[str, ...]:
        """Relative paths of roots inside this one: they answer for themselves."""
        others = (folder for folder in self.roots.folders if folder != session.root and folder.is_relative_to(session.root))
        return tuple(f"{folder.relative_to(session.root).as_posix()}/" for folder in others)

    async def aclose(self) -> None:
        """Close all sessions."""
        for session in self._sessions.values():
            await session.aclose()
        await self.fleet.aclose()

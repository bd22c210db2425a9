"""One root, served: its index is opened when it is first asked, kept true, and answers from what is there while it is being built."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from whence.errors import RootError, StorageError
from whence.opened import BEHIND, Work
from whence.serve.mcp.building import Building

if TYPE_CHECKING:
    from whence.engine import Index
    from whence.following import Follower
    from whence.memories import Memory
    from whence.settings import Settings

_T = TypeVar("_T")
Report = Callable[[float, float, str], Awaitable[None]]
#: More changed source than this is taken in beside the server, not while a caller waits.
SMALL_CHANGE_BYTES = 400_000
#: How often a caller who waits is told how far the index is.
SECONDS_BETWEEN_REPORTS = 0.25
#: So long after the last question an index is closed; to open it again takes a fraction of a second.
SECONDS_BEFORE_REST = 60.0


@dataclass(frozen=True, slots=True)
class Standing:
    """How far the index of a root is."""

    indexed: int = 0  # files that can be found
    files: int = 0  # files that there are
    building: bool = False
    share: float = 1.0  # of the work that is under way
    note: str = ""

    @property
    def whole(self) -> bool:
        """Whether everything on disk can be found."""
        return not self.building and not self.note


class Desk:
    """Answers questions about one root, one at a time. All work with the index is done in one thread of its own."""

    def __init__(self, root: Path, settings: Mapping[str, str]) -> None:
        self.root = root
        # Whoever waits for an answer does not wait for another writer: what is there is answered from, and that is said.
        self._given = {"index.lock_wait": "0.5", **settings}
        self._building: Building | None = None
        self._waited_for: Building | None = None  # callers wait for a build once; after that they are answered at once
        self._index: Index | None = None
        self._memory: Memory | None = None
        self._follower: Follower | None = None
        self._settled = False  # whether the index was true to its files when it was last looked at
        self._trouble = ""
        self._rest: asyncio.TimerHandle | None = None  # when nobody has asked for a while, memory is given back
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="desk")

    async def ask(self, question: Callable[[Index | None, Standing], _T], report: Report | None = None) -> _T:
        """Put a question to the index as it is now, or to what there is of it where it is being built (None: nothing yet)."""
        standing = await self._run(self._look)
        if self._building is not None and self._building is not self._waited_for:
            await self._wait(self._building, report)
            standing = await self._run(self._look)
        return await self._run(lambda: question(self._index, standing))

    async def ask_notes(self, question: Callable[[Memory], _T]) -> _T:
        """Put a question to the notes that this root's settings name."""
        return await self._run(lambda: question(self._notes()))

    async def _run(self, work: Callable[[], _T]) -> _T:
        if self._rest is not None:
            self._rest.cancel()
        try:
            return await asyncio.wrap_future(self._thread.submit(work))
        finally:
            self._rest = asyncio.get_running_loop().call_later(SECONDS_BEFORE_REST, self._thread.submit, self._be_small)

    async def _wait(self, building: Building, report: Report | None) -> None:
        """Wait for a build as long as is bearable; it goes on in any case."""
        deadline = time.monotonic() + (await self._run(self.settings)).mcp.patience
        while building.running and time.monotonic() < deadline:
            if report is not None:
                await report(round(building.share, 3), 1.0, f"indexing {self.root.name}")
            await asyncio.sleep(SECONDS_BETWEEN_REPORTS)
        self._waited_for = building

    async def close(self) -> None:
        """Stop what is under way and let go of all files."""
        if self._building is not None:
            self._building.end()
        await self._run(self._be_small)
        if self._rest is not None:
            self._rest.cancel()
        self._thread.shutdown(wait=False)

    # In the desk's own thread.
    def _be_small(self) -> None:
        """Give back what answers were made from: many servers stand idle, one for each session of each agent."""
        self._let_go()
        if self._memory is not None:
            self._memory.close()
            self._memory = None
        give_memory_back()

    def settings(self) -> Settings:
        """The settings of this root."""
        from whence.opened import load_settings  # noqa: PLC0415  -- the engine is loaded with the first question

        return self._index.settings if self._index is not None else load_settings(self.root, command_line=self._given)[0]

    def unindexed(self) -> list[str]:
        """The files that are not in the index yet, or not as they are now."""
        from whence.source.walk import Walker  # noqa: PLC0415  -- loaded with the index

        if self._index is not None:
            return self._index.tree.changed
        chosen = self.settings().index
        walker = Walker(str(self.root), max_file_bytes=chosen.max_file_bytes, hidden=chosen.hidden, now_ns=time.time_ns())
        return list(walker.walk().files)

    def _notes(self) -> Memory:
        from whence.memories import Memory  # noqa: PLC0415  -- a server that is not asked stays small

        if self._memory is None:
            self._memory = Memory.open(repository=self.root, command_line=self._given)
        return self._memory

    def _look(self) -> Standing:
        """Open the index, or bring it up to date: at once where that is quick, else beside."""
        if self._building is not None and not self._building.running:
            self._trouble, self._building = self._building.trouble, None
        try:
            work = self._opened()
            if work.needed and self._building is None:
                if work.bytes > SMALL_CHANGE_BYTES or not self._whole().snapshot.live_files:
                    self._build()
                else:
                    self._whole().refresh()
                    work = Work(0, needed=not self._whole().freshness.fresh)
            self._settled = not work.needed
        except StorageError:  # not there, damaged, or of another version: a build makes it anew
            self._let_go()
            if self._building is None:
                self._build()
        return self._standing()

    def _opened(self) -> Work:
        """The index as it is on disk now, and what is to be done to it."""
        from whence.engine import Index  # noqa: PLC0415  -- a server that is not asked stays small
        from whence.following import Follower  # noqa: PLC0415  -- as above

        if self._index is None:
            self._index = Index.open(self.root, refresh=False, command_line=self._given)
            self._follower = Follower(self._index) if self._index.settings.mcp.watch else None
        changed = self._follower is None or self._follower.changed()
        if self._settled and not changed:
            return Work(0, needed=False)
        self._index.notes = [note for note in self._index.notes if not note.startswith(BEHIND)]
        return self._index.look()

    def _whole(self) -> Index:
        if self._index is None:
            raise StorageError(f"{self.root} is not indexed")
        return self._index

    def _build(self) -> None:
        """Begin to build, unless that has just failed: trouble is said once, and tried again with the next question."""
        if self._trouble:
            self._trouble, trouble = "", self._trouble
            raise RootError(trouble)
        given = {name: value for name, value in self._given.items() if name != "index.lock_wait"}
        self._building = Building(self.root, given)

    def _let_go(self) -> None:
        if self._follower is not None:
            self._follower.close()
        if self._index is not None:
            self._index.close()
        self._index, self._follower, self._settled = None, None, False

    def _standing(self) -> Standing:
        building = self._building
        if self._index is None or not self._index.snapshot.live_files:
            return Standing(building=building is not None, share=building.share if building else 1.0)
        indexed, note = self._index.snapshot.live_files, self._index.freshness.note
        files = max(len(self._index.tree.files), indexed)
        return Standing(indexed, files, building is not None, building.share if building else 1.0, note)


def give_memory_back() -> None:
    """Have memory that is free go back to the system, where the C library can do that."""
    import ctypes  # noqa: PLC0415  -- seldom
    import gc  # noqa: PLC0415  -- seldom

    gc.collect()
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)

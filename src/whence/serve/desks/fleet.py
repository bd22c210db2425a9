"""The fleet, served: opened when it is first asked, and kept open. It is asked as whom the server's own settings name."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

from whence.errors import FleetError, WhenceError
from whence.roots import load_settings

if TYPE_CHECKING:
    from whence.fleet.searching import Fleet

_T = TypeVar("_T")


class FleetDesk:
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
        from whence.fleet.access import caller_of  # noqa: PLC0415  -- only where a fleet is asked
        from whence.fleet.searching import Fleet  # noqa: PLC0415  -- as above

        if self._fleet is None:
            self._fleet = Fleet.open(command_line=self._given)
        chosen = self._fleet.settings.fleet
        caller = caller_of(chosen, chosen.caller)  # every time: a right that was taken away is gone at once
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

    async def close(self) -> None:
        """Let the engine go; what it is still asked ends in its own time."""
        self._thread.submit(self._let_go)
        self._thread.shutdown(wait=False)

"""Everything a server answers from: a desk for each root, and the session that it speaks in."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from whence.errors import UsageError
from whence.serve.cli.shared import IN_A_FILE
from whence.serve.desks.desk import SECONDS_BEFORE_REST, Desk
from whence.serve.desks.fleet import FleetDesk
from whence.serve.desks.roots import Roots


class House:
    """The roots of a server, each with its desk."""

    def __init__(
        self, folders: Sequence[Path], settings: Mapping[str, str], session: str = "", *, rest: float = SECONDS_BEFORE_REST
    ) -> None:
        self.roots = Roots(folders)
        self.session = session  # under this name what was shown is remembered, for hooks that report what was used (L4)
        self.fleet = FleetDesk(settings)
        self._desks = {folder: Desk(folder, settings, rest=rest) for folder in self.roots.folders}

    def desk(self, root: Path) -> Desk:
        """The desk of a root."""
        return self._desks[root]

    def desks(self, name: str = "") -> list[Desk]:
        """The desks that a call is about: of a root that it names, or all."""
        return [self.desk(self.roots.chosen(name))] if name else list(self._desks.values())

    def named(self, given: Mapping[str, Any]) -> Path | None:
        """The root that a call names, if it does."""
        return self.roots.chosen(given["root"]) if given.get("root") else None

    def root_of(self, given: Mapping[str, Any], paths: Sequence[str]) -> Path:
        """The root that a call is about: the one it names, else the one that the first of its paths lies in."""
        if given.get("root") or not paths or not self.several:
            return self.roots.chosen(given.get("root", ""))
        return self.roots.place(paths[0])[0]

    @property
    def several(self) -> bool:
        """Whether there is more than one root."""
        return len(self._desks) > 1

    def symbol(self, written: str, root: Path | None = None) -> tuple[Path | None, str]:
        """The root that a symbol given by its file lies in, and the symbol as its index knows it; None for a name alone."""
        found = IN_A_FILE.fullmatch(written)
        if found is None:
            return root, written
        try:
            own, below = self.roots.place(found["path"], root)
        except UsageError:
            return root, written  # a name may hold such marks, too
        return own, f"{below}{found['rest']}"

    def label(self, desk: Desk) -> str:
        """What stands before a path, so that it is clear which root it is of."""
        return self.roots.label(desk.root)

    def inner(self, desk: Desk) -> tuple[str, ...]:
        """The paths of other roots that lie in this one: they answer for themselves."""
        others = (folder for folder in self.roots.folders if folder != desk.root and folder.is_relative_to(desk.root))
        return tuple(f"{folder.relative_to(desk.root).as_posix()}/" for folder in others)

    async def close(self) -> None:
        """Let go of everything."""
        for desk in self._desks.values():
            await desk.close()
        await self.fleet.close()


@asynccontextmanager
async def closing(house: House) -> AsyncIterator[None]:
    """A house that is closed at the end, whatever that is."""
    try:
        yield
    finally:
        await house.close()

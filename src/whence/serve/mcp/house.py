"""Everything a server answers from: a desk for each root, and the session that it speaks in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from whence.serve.mcp.desk import Desk
from whence.serve.mcp.roots import Roots


class House:
    """The roots of a server, each with its desk."""

    def __init__(self, folders: Sequence[Path], settings: Mapping[str, str], session: str = "") -> None:
        self.roots = Roots(folders)
        self.session = session  # under this name what was shown is remembered, for hooks that report what was used (L4)
        self._desks = {folder: Desk(folder, settings) for folder in self.roots.folders}

    def desk(self, root: Path) -> Desk:
        """The desk of a root."""
        return self._desks[root]

    def desks(self, name: str = "") -> list[Desk]:
        """The desks that a call is about: of a root that it names, or all."""
        return [self.desk(self.roots.chosen(name))] if name else list(self._desks.values())

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

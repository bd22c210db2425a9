"""Which folders a server may read, and which of them a path lies in. Everything else is refused, after links are resolved."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from whence.app.session import SECONDS_BEFORE_REST, FleetSession, IndexSession
from whence.cli.shared import IN_A_FILE
from whence.core.errors import RootError, UsageError


class AllowedRoots:
    """The folders that were allowed when the server was started."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self.folders = tuple(dict.fromkeys(folders))

    def label(self, folder: Path) -> str:
        """What stands before a path of an answer, so that it is clear which root it is of; such a path can be given back."""
        if len(self.folders) == 1:
            return ""
        alone = [other.name for other in self.folders].count(folder.name) == 1 and folder.name
        return f"{folder.name if alone else str(folder).rstrip('/')}/"

    def chosen(self, name: str) -> Path:
        """The root that a caller means: the first, or the one of a name or path."""
        if not name:
            return self.folders[0]
        for folder in self.folders:
            if name.rstrip("/") in (self.label(folder).rstrip("/") or folder.name, str(folder)):
                return folder
        if Path(name).is_absolute():
            return self.place(name)[0]
        raise RootError(f"there is no root {name[:200]!r}", hint=f"there are {', '.join(map(str, self.folders))}")

    def place(self, written: str, root: Path | None = None) -> tuple[Path, str]:
        """The root that a path lies in (the innermost, or the one that is asked for), and the path below it (empty: the root itself)."""
        allowed = (root,) if root is not None else self.folders
        inside = [found for path in self._meant(Path(written), allowed) if (found := _inside(path, allowed)) is not None]
        if not inside:
            hint = f"allowed: {', '.join(map(str, allowed))}"
            raise RootError(f"{written[:200]!r} is not in a folder that this server may read", hint=hint)
        for found in inside:
            with suppress(OSError):  # a name that is too long is none
                if (found[0] / found[1]).exists():
                    return found
        raise UsageError(f"{written[:200]!r}: no such file or folder in {', '.join(folder.name or '/' for folder in allowed)}")

    def _meant(self, given: Path, allowed: Sequence[Path]) -> Iterator[Path]:
        """The full paths that a path may stand for."""
        if given.is_absolute():
            yield given
            return
        yield from (folder / given for folder in allowed)
        for folder in allowed:
            if given.parts and self.label(folder) == f"{given.parts[0]}/":  # as an answer wrote it
                yield folder.joinpath(*given.parts[1:])


def _inside(path: Path, allowed: Sequence[Path]) -> tuple[Path, str] | None:
    try:
        real = path.resolve()
    except (OSError, RuntimeError, ValueError):  # a loop of links, a name that cannot be
        return None
    for folder in sorted(allowed, key=lambda one: -len(one.parts)):  # the innermost, where one is in another
        if real.is_relative_to(folder):
            below = real.relative_to(folder).as_posix()
            return folder, "" if below == "." else below
    return None


class Workspace:
    """The roots of a server, each with its desk."""

    def __init__(
        self, folders: Sequence[Path], settings: Mapping[str, str], session: str = "", *, rest: float = SECONDS_BEFORE_REST
    ) -> None:
        self.roots = AllowedRoots(folders)
        self.session = session  # under this name what was shown is remembered, for hooks that report what was used (L4)
        self.fleet = FleetSession(settings)
        self._desks = {folder: IndexSession(folder, settings, rest=rest) for folder in self.roots.folders}

    def desk(self, root: Path) -> IndexSession:
        """The desk of a root."""
        return self._desks[root]

    def desks(self, name: str = "") -> list[IndexSession]:
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

    def label(self, desk: IndexSession) -> str:
        """What stands before a path, so that it is clear which root it is of."""
        return self.roots.label(desk.root)

    def inner(self, desk: IndexSession) -> tuple[str, ...]:
        """The paths of other roots that lie in this one: they answer for themselves."""
        others = (folder for folder in self.roots.folders if folder != desk.root and folder.is_relative_to(desk.root))
        return tuple(f"{folder.relative_to(desk.root).as_posix()}/" for folder in others)

    async def close(self) -> None:
        """Let go of everything."""
        for desk in self._desks.values():
            await desk.close()
        await self.fleet.close()


@asynccontextmanager
async def closing(house: Workspace) -> AsyncIterator[None]:
    """A house that is closed at the end, whatever that is."""
    try:
        yield
    finally:
        await house.close()

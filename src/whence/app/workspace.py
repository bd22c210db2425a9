"""The roots a server answers from. Any path outside them is refused, after symbolic links are resolved."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from whence.app.session import SECONDS_BEFORE_REST, FleetSession, IndexSession
from whence.core.errors import RootError, UsageError
from whence.core.types import SYMBOL_IN_FILE


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
        self, folders: Sequence[Path], settings: Mapping[str, str], session_id: str = "", *, rest: float = SECONDS_BEFORE_REST
    ) -> None:
        self.roots = AllowedRoots(folders)
        self.session_id = session_id  # the agent's session: hooks report usage of what was shown under this id (L4)
        self.fleet = FleetSession(settings)
        self._sessions = {folder: IndexSession(folder, settings, rest=rest) for folder in self.roots.folders}

    def session(self, root: Path) -> IndexSession:
        """The session of a root."""
        return self._sessions[root]

    def sessions(self, name: str = "") -> list[IndexSession]:
        """The session of the named root, or of all roots."""
        return [self.session(self.roots.select(name))] if name else list(self._sessions.values())

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

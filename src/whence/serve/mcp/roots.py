"""Which folders a server may read, and which of them a path lies in. Everything else is refused, after links are resolved."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from whence.errors import RootError, UsageError


class Roots:
    """The folders that were allowed when the server was started."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self.folders = tuple(dict.fromkeys(folders))

    @property
    def several(self) -> bool:
        """Whether there is more than one, so that answers must say which they are of."""
        return len(self.folders) > 1

    def chosen(self, name: str) -> Path:
        """The root that a caller means: the first, or the one of a name or path."""
        if not name:
            return self.folders[0]
        for folder in self.folders:
            if name in (folder.name, str(folder)):
                return folder
        return self.place(name)[0]

    def place(self, written: str) -> tuple[Path, str]:
        """The root that a path lies in, and the path below it (empty: the root itself)."""
        given = Path(written)
        for folder in (folder for folder in self.folders if not given.is_absolute()):
            if (found := self._inside(folder / given)) is not None and (found[0] / found[1]).exists():
                return found
        found = self._inside(given if given.is_absolute() else self.folders[0] / given)
        if found is None:
            allowed = ", ".join(str(folder) for folder in self.folders)
            raise RootError(f"{written!r} is not in a folder that this server may read", hint=f"allowed: {allowed}")
        return found

    def below(self, root: Path, written: str) -> str:
        """A path below one root, for what must be in it."""
        own, below = Roots([root]).place(written)
        if not (own / below).exists():
            raise UsageError(f"{written!r}: no such file or folder in {root.name}")
        return below

    def _inside(self, path: Path) -> tuple[Path, str] | None:
        try:
            real = path.resolve()
        except (OSError, RuntimeError, ValueError):  # a loop of links, a name that cannot be
            return None
        for folder in sorted(self.folders, key=lambda one: -len(one.parts)):  # the innermost, where one is in another
            if real.is_relative_to(folder):
                below = real.relative_to(folder).as_posix()
                return folder, "" if below == "." else below
        return None

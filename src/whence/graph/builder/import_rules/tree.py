"""The paths of a repository, so that one is found by how it ends, and the texts of its configuration files."""

from __future__ import annotations

import posixpath
import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence

#: Longer configuration files are not written by hand.
MOST_CHARACTERS = 2_000_000
#: So many paths are compared one by one when the nearest is looked for.
MOST_ALIKE = 100
_QUOTED = re.compile(r"""(["'`])([^"'`]*)\1""")


class PathTree:
    """All files of a repository. Folders have no slash at the end; the root is the empty string."""

    def __init__(self, paths: Sequence[str], read: Callable[[str], str | None]) -> None:
        self.paths = sorted(paths)
        self.files = frozenset(self.paths)
        self.in_folder: dict[str, list[str]] = {}
        self.folders: set[str] = set()
        self._read = read
        self._texts: dict[str, str] = {}
        self._sources: dict[tuple[str, tuple[str, ...]], tuple[str, ...]] = {}
        self._by_ending: dict[str, list[str]] = {}
        self._folders_by_ending: dict[str, list[str]] = {}
        for path in self.paths:
            folder, _, name = path.rpartition("/")
            self.in_folder.setdefault(folder, []).append(path)
            self._by_ending.setdefault(name, []).append(path)
        for folder, held in self.in_folder.items():
            last = folder.rpartition("/")[2]
            for path in held if folder else ():
                self._by_ending.setdefault(f"{last}/{path.rpartition('/')[2]}", []).append(path)
            self._add_folder(folder)
        for folder in sorted(self.folders):
            parent, _, last = folder.rpartition("/")
            self._folders_by_ending.setdefault(last, []).append(folder)
            if parent:
                self._folders_by_ending.setdefault(f"{parent.rpartition('/')[2]}/{last}", []).append(folder)

    def _add_folder(self, folder: str) -> None:
        while folder and folder not in self.folders:
            self.folders.add(folder)
            folder = folder.rpartition("/")[0]

    def ending(self, tail: str) -> list[str]:
        """The files whose path is `tail` or ends with it, component by component."""
        return _ending(self._by_ending, tail)

    def folders_ending(self, tail: str) -> list[str]:
        """The folders whose path is `tail` or ends with it, component by component."""
        return _ending(self._folders_by_ending, tail)

    def sources(self, folder: str, extensions: tuple[str, ...]) -> tuple[str, ...]:
        """The files right in a folder that have one of the extensions."""
        known = self._sources.get((folder, extensions))
        if known is None:
            known = tuple(path for path in self.in_folder.get(folder, ()) if path.endswith(extensions))
            self._sources[folder, extensions] = known
        return known

    def beneath(self, folder: str, extension: str) -> tuple[str, ...]:
        """The files at any depth in a folder that have the extension."""
        first = bisect_left(self.paths, folder + "/")
        last = bisect_left(self.paths, folder + "0")  # the character after the slash
        return tuple(path for path in self.paths[first:last] if path.endswith(extension))

    def first(self, candidates: Iterable[str]) -> tuple[str, ...]:
        """The first candidate that is a file, alone; nothing when none is."""
        return next(((path,) for path in candidates if path in self.files), ())

    def text(self, path: str) -> str:
        """The text of a configuration file; empty when there is none. Each is read once."""
        known = self._texts.get(path)
        if known is None:
            known = (self._read(path) or "") if path in self.files else ""
            self._texts[path] = known = known if len(known) <= MOST_CHARACTERS else ""
        return known


def _ending(table: dict[str, list[str]], tail: str) -> list[str]:
    length = len(tail)
    head, _, last = tail.rpartition("/")
    found = table.get(f"{head.rpartition('/')[2]}/{last}" if head else last, ())
    return [path for path in found if path.endswith(tail) and (len(path) == length or path[-length - 1] == "/")]


def folder_of(path: str) -> str:
    """The folder that holds a path."""
    return path.rpartition("/")[0]


def joined(folder: str, relative: str) -> str | None:
    """A path written in a file of `folder`, from the root; None when it leads out of the repository."""
    path = posixpath.normpath(f"{folder}/{relative}" if folder else relative)
    if path.startswith(("..", "/")) and (path == ".." or path[:3] == "../" or path[0] == "/"):
        return None
    return "" if path == "." else path


def upward(folder: str) -> Iterable[str]:
    """A folder and all that hold it, the root last."""
    while folder:
        yield folder
        folder = folder.rpartition("/")[0]
    yield ""


def holds(outer: str, inner: str) -> bool:
    """Whether a folder is another or holds it."""
    return not outer or outer == inner or inner.startswith(outer + "/")


def nearest(paths: Sequence[str], folder: str) -> str:
    """The path with the longest way in common with a folder, then the shortest."""
    if len(paths) == 1:
        return paths[0]
    if len(paths) > MOST_ALIKE:
        paths = _around(sorted(paths), folder)
    parts = folder.split("/")
    return min(paths, key=lambda path: (-_shared(parts, path.split("/")), path.count("/"), path))


def _around(paths: list[str], folder: str) -> list[str]:
    """Of many paths in order, some of those that share the longest way with a folder."""
    for up in upward(folder):
        first = bisect_left(paths, f"{up}/" if up else "")
        found = paths[first : first + MOST_ALIKE]
        if found and holds(up, found[0]):
            return [path for path in found if holds(up, path)]
    return paths[:MOST_ALIKE]


def _shared(one: list[str], other: list[str]) -> int:
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def quoted(text: str) -> str:
    """The first quoted text of a statement; empty when there is none."""
    found = _QUOTED.search(text)
    return found[2] if found else ""


def renamed(part: str, word: str = "as") -> tuple[str, str]:
    """`a as b` gives the name there and the name here, which are the same for `a`."""
    words = part.split()
    if len(words) >= 3 and words[-2] == word:
        return words[-3], words[-1]
    return (words[-1], words[-1]) if words else ("", "")

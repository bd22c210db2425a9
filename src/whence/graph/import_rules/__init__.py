"""Import rules, one module per language family; here is what all of them use: bindings, and the paths of the repository."""

from __future__ import annotations

import json
import posixpath
import re
from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache

#: Nobody writes a longer configuration file by hand.
MAX_CONFIGURATION = 2_000_000
#: A dotted name with more parts, or a statement with more imported names, was not written for a reader.
MAX_PARTS = 40
MAX_NAMES = 2_000
#: How many paths are compared one by one to find the nearest.
MAX_COMPARED = 100
#: The symbol of a binding that makes the members of a file's types visible: `import static a.B.*`.
MEMBERS = "*"
_QUOTED = re.compile(r"""(["'`])([^"'`]*)\1""")
# A JSON string or a comment; one that is never closed extends to the end, so nothing is read twice.
_STRING_OR_COMMENT = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"?|//[^\n]*|/\*(?:.*?\*/|.*)', re.DOTALL)
_STRING_OR_COMMA = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"?|,(?=\s*[}\]])', re.DOTALL)


@dataclass(frozen=True, slots=True)
class Binding:
    """A name that a file uses for something in another file. Several for one local name are alternatives."""

    local: str  # the name in this file; "" if every name of the other file becomes visible, or none does
    files: tuple[str, ...]  # where it may come from: one file, or all source files of a package's folder
    symbol: str  # the name there, `default` for a default export; "" if the local name is the module, package or file itself


class Rule(ABC):
    """How one family of languages finds what a statement imports."""

    def __init__(self, tree: PathTree) -> None:
        self._tree = tree

    @abstractmethod
    def bindings(self, path: str, statement: str) -> Iterable[Binding]:
        """What a statement in the file at `path` binds; the statement is on one line."""


class PathTree:
    """All files of a repository. Folders have no trailing slash; the root is the empty string."""

    def __init__(self, paths: Sequence[str], read_text: Callable[[str], str | None]) -> None:
        self.paths = sorted(paths)
        self.files = frozenset(self.paths)
        self.in_folder: dict[str, list[str]] = {}
        self.folders: set[str] = set()
        self._read_text = read_text
        self.sources, self.text = cache(self._sources), cache(self._text)
        for path in self.paths:
            self.in_folder.setdefault(folder_of(path), []).append(path)
        for folder in self.in_folder:
            self.folders.update(up for up in upward(folder) if up)
        self._files_by_tail = _by_tail(self.paths)
        self._folders_by_tail = _by_tail(sorted(self.folders))

    def ending(self, tail: str) -> list[str]:
        """The files whose path is `tail` or ends with it, part by part."""
        return _ending(self._files_by_tail, tail)

    def folders_ending(self, tail: str) -> list[str]:
        """The folders whose path is `tail` or ends with it, part by part."""
        return _ending(self._folders_by_tail, tail)

    def _sources(self, folder: str, extensions: tuple[str, ...]) -> tuple[str, ...]:
        """The files directly in a folder that have one of the extensions."""
        return tuple(path for path in self.in_folder.get(folder, ()) if path.endswith(extensions))

    def beneath(self, folder: str, extension: str) -> tuple[str, ...]:
        """The files at any depth in a folder that have the extension."""
        first = bisect_left(self.paths, folder + "/")
        last = bisect_left(self.paths, folder + "0")  # the character after the slash
        return tuple(path for path in self.paths[first:last] if path.endswith(extension))

    def first(self, candidates: Iterable[str]) -> tuple[str, ...]:
        """The first candidate that is a file, as a tuple of one; empty if none is."""
        return next(((path,) for path in candidates if path in self.files), ())

    def _text(self, path: str) -> str:
        """The text of a configuration file; empty if there is none."""
        text = (self._read_text(path) or "") if path in self.files else ""
        return text if len(text) <= MAX_CONFIGURATION else ""


def _by_tail(paths: Iterable[str]) -> dict[str, list[str]]:
    """Paths by their last part, and by their last two."""
    table: dict[str, list[str]] = {}
    for path in paths:
        head, _, last = path.rpartition("/")
        table.setdefault(last, []).append(path)
        if head:
            table.setdefault(f"{head.rpartition('/')[2]}/{last}", []).append(path)
    return table


def _ending(table: dict[str, list[str]], tail: str) -> list[str]:
    length = len(tail)
    head, _, last = tail.rpartition("/")
    found = table.get(f"{head.rpartition('/')[2]}/{last}" if head else last, ())
    return [path for path in found if path.endswith(tail) and (len(path) == length or path[-length - 1] == "/")]


def folder_of(path: str) -> str:
    """The folder of a path."""
    return path.rpartition("/")[0]


def joined(folder: str, relative: str) -> str | None:
    """A path written in a file of `folder`, from the root; None if it leads out of the repository."""
    path = posixpath.normpath(f"{folder}/{relative}" if folder else relative)
    if path == ".." or path.startswith(("../", "/")):
        return None
    return "" if path == "." else path


def upward(folder: str) -> Iterable[str]:
    """A folder and all folders above it, the root last."""
    while folder:
        yield folder
        folder = folder.rpartition("/")[0]
    yield ""


def contains(outer: str, inner: str) -> bool:
    """Whether a folder is another or contains it."""
    return not outer or outer == inner or inner.startswith(outer + "/")


def nearest(paths: Sequence[str], folder: str) -> str:
    """The path that shares most parts with a folder; of several, the shortest."""
    if len(paths) == 1:
        return paths[0]
    if len(paths) > MAX_COMPARED:
        paths = _around(sorted(paths), folder)
    parts = folder.split("/")
    return min(paths, key=lambda path: (-_shared(parts, path.split("/")), path.count("/"), path))


def _around(paths: list[str], folder: str) -> list[str]:
    """Of many sorted paths, some that share most parts with a folder."""
    for up in upward(folder):
        first = bisect_left(paths, f"{up}/" if up else "")
        found = paths[first : first + MAX_COMPARED]
        if found and contains(up, found[0]):
            return [path for path in found if contains(up, path)]
    return paths[:MAX_COMPARED]


def _shared(one: list[str], other: list[str]) -> int:
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def quoted(text: str) -> str:
    """The first quoted text of a statement; empty if there is none."""
    return found[2] if (found := _QUOTED.search(text)) else ""


def aliased(part: str) -> tuple[str, str]:
    """The name there and the name here: `a as b` gives `a` and `b`, `a` gives `a` twice."""
    words = part.split()
    if len(words) >= 3 and words[-2] == "as":
        return words[-3], words[-1]
    return (words[-1], words[-1]) if words else ("", "")


def parse_json(text: str) -> object:
    """The value of JSON as people write it, with comments and trailing commas; None if it cannot be parsed."""
    for read in (str, _without_comments):
        try:
            value: object = json.loads(read(text))
            return value
        except (ValueError, RecursionError):
            continue
    return None


def _without_comments(text: str) -> str:
    text = _STRING_OR_COMMENT.sub(lambda found: found[0] if found[0][0] == '"' else " ", text.removeprefix("\ufeff"))
    return _STRING_OR_COMMA.sub(lambda found: found[0] if found[0][0] == '"' else "", text)

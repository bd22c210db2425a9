"""Imports of Java, Kotlin and Scala."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from whence.graph.builder.import_rules.binding import Binding
from whence.graph.builder.import_rules.tree import PathTree

EXTENSIONS = (".java", ".kt", ".kts", ".scala", ".sc", ".groovy")
WILDCARDS = frozenset({"*", "_", "given"})
_NAME = re.compile(r"[^\s.`;{}(),]+")
#: Names that are a package of the language and, as often, the folder that sources lie in.
_AMBIGUOUS = frozenset({"java", "kotlin", "scala", "groovy"})
_UNSURE_ROOTS = frozenset({"", "src", "main", "test", "common", "jvm"})
_SOURCE_ROOTS = _AMBIGUOUS | _UNSURE_ROOTS | {"classes"}
#: Packages that are never of this repository when only the end of their way is here.
_OUTSIDE = frozenset({"java", "javax", "kotlin", "scala", "android", "androidx", "jakarta"})
MOST_NAMES = 40
MOST_LEAVES = 2_000


class Jvm:
    """`import a.b.C`: files and folders whose way ends with the package, in any source root."""

    def __init__(self, tree: PathTree, *, loose: bool = False) -> None:
        self._tree = tree
        self._loose = loose  # packages may leave out the beginning that all have in common, as in Kotlin
        self._folders: dict[tuple[str, ...], tuple[str, ...]] = {}

    def bindings(self, path: str, statement: str) -> Iterator[Binding]:
        """What an import declaration makes known."""
        del path
        text = statement.removeprefix("import").strip().removeprefix("static ")
        for names, local in islice(_leaves(text), MOST_LEAVES):
            if names:
                yield from self._leaf(names, local)

    def _leaf(self, names: tuple[str, ...], local: str) -> Iterator[Binding]:
        wild = names[-1] in WILDCARDS
        names = names[:-1] if wild else names
        for start in range(len(names) - 1 if self._loose and names and names[0] not in _OUTSIDE else 1):
            found = self._resolved(names[start:], package=wild, least=2 if start else 1)
            if found:
                files, left = found
                yield Binding("" if wild else local, files, "" if wild else left)
                return

    def _resolved(self, names: tuple[str, ...], *, package: bool, least: int) -> tuple[tuple[str, ...], str] | None:
        """The files that may define what a name means, and its last component; that is empty for a package."""
        if package and (files := self._package(names)):
            return files, ""
        for size in range(len(names), max(least, len(names) - 3) - 1, -1):
            files = self._class(names[:size]) if size == len(names) or names[size - 1][0].isupper() else ()
            if files:
                return files, names[-1]
            inside = size == len(names) - 1 or (size < len(names) and names[size][0].isupper())  # else that is a package too
            files = self._package(names[:size]) if inside else ()
            files = tuple(path for path in files if not path.endswith(".java"))  # Java's would be named after what is imported
            if files:
                return files, names[-1]
        if files := self._package(names):  # Scala imports packages by name
            return files, ""
        return None

    def _class(self, names: tuple[str, ...]) -> tuple[str, ...]:
        tail = "/".join(names)
        found = [path for extension in EXTENSIONS for path in self._tree.ending(tail + extension)]
        return tuple(_rooted(names, found))

    def _package(self, names: tuple[str, ...]) -> tuple[str, ...]:
        known = self._folders.get(names)
        if known is None:
            folders = self._tree.folders_ending("/".join(names)) if names else []
            found = [self._tree.sources(folder, EXTENSIONS) for folder in _rooted(names, folders)]
            known = self._folders[names] = tuple(path for files in found for path in files)
        return known


def _rooted(names: tuple[str, ...], paths: list[str]) -> list[str]:
    """The ways that begin where sources do, or else all: `org/a/b` is not the package `a.b` when that is there too.

    A way that ends in `java/util` may be a source root with a folder in it, which is no package of the language.
    """
    if not paths:
        return paths
    before = [(path.rsplit("/", len(names))[0].rpartition("/")[2] if path.count("/") >= len(names) else "", path) for path in paths]
    rooted = [path for root, path in before if root in _SOURCE_ROOTS]
    if names[0] in _AMBIGUOUS:
        return [path for root, path in before if not root or root in _SOURCE_ROOTS - _UNSURE_ROOTS]
    return rooted or paths


def _leaves(text: str) -> Iterator[tuple[tuple[str, ...], str]]:
    """`a.b.{C, D => E, _}` and `a.B, c.D` give every name, with what it is called here."""
    depth, start = 0, 0
    for found in re.finditer(r"[{},]", text):
        depth += (found[0] == "{") - (found[0] == "}")
        if found[0] == "," and depth <= 0:
            yield from _group(text[start : found.start()])
            start = found.end()
    yield from _group(text[start:])


def _group(text: str) -> Iterator[tuple[tuple[str, ...], str]]:
    head, braced, inside = text.partition("{")
    if not braced:
        yield _leaf((), head)
        return
    prefix = tuple(_NAME.findall(head))[:MOST_NAMES]
    for part in inside.replace("}", " ").split(","):
        yield _leaf(prefix, part)


def _leaf(prefix: tuple[str, ...], text: str) -> tuple[tuple[str, ...], str]:
    there, _, here = text.replace("=>", " as ").partition(" as ")
    names = (*prefix, *_NAME.findall(there.split("//", 1)[0]))[:MOST_NAMES]
    return names, here.strip(" ;`") or (names[-1] if names else "")

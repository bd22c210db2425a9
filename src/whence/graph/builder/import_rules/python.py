"""Imports of Python."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from whence.graph.builder.import_rules.binding import Binding
from whence.graph.builder.import_rules.tree import PathTree, folder_of, joined, nearest, renamed, upward

_IMPORT = re.compile(r"(?<=[\s.])import\b")
#: Folders that are put on the path of a program rather than being packages themselves.
_SOURCE_FOLDERS = frozenset({"src", "lib", "python"})


@dataclass(frozen=True, slots=True)
class _Candidates:
    """The files that could be a module, by the folder that would have to be searched for it."""

    roots: dict[str, str]  # folders that are no packages themselves
    elsewhere: list[str]  # those of them that are searched for files outside them, too
    inside: dict[str, str]  # folders that are packages: the module has a longer name, or is a neighbour


class Python:
    """`import a.b` and `from .a import b`: modules by package root, by relation, by a way that ends like no other."""

    def __init__(self, tree: PathTree) -> None:
        self._tree = tree
        self._known: dict[str, _Candidates] = {}

    def bindings(self, path: str, statement: str) -> Iterator[Binding]:
        """What `import` or `from ... import` makes known."""
        folder = folder_of(path)
        if statement.startswith("import"):
            for part in statement[6:].split(","):
                yield from self._whole(folder, *renamed(part))
        elif statement.startswith("from") and (found := _IMPORT.search(statement, 4)):
            module = "".join(statement[4 : found.start()].split()).replace("\\", "")
            names = statement[found.end() :].replace("(", " ").replace(")", " ").replace("\\", " ")
            for part in names.split(","):
                yield from self._part(folder, module, *renamed(part))

    def _whole(self, folder: str, module: str, local: str) -> Iterator[Binding]:
        files = self._module(folder, module)
        top, dotted, _ = local.partition(".")
        if files:  # of `a.b.c`, `c` is what stands before a name where it is used
            yield Binding(local.rpartition(".")[2], files, "")
        if dotted and (files := self._module(folder, top)):
            yield Binding(top, files, "")

    def _part(self, folder: str, module: str, name: str, local: str) -> Iterator[Binding]:
        files = self._module(folder, module)
        if name == "*":
            if files:
                yield Binding("", files, "")
            return
        if not name.isidentifier():
            return
        if not files or files[0].endswith(("/__init__.py", "/__init__.pyi")):
            inner = self._module(folder, module + name if module.endswith(".") else f"{module}.{name}")
            if inner:
                yield Binding(local, inner, "")
        if files:
            yield Binding(local, files, name)

    def _module(self, folder: str, module: str) -> tuple[str, ...]:
        name = module.lstrip(".")
        level = len(module) - len(name)
        if not level:
            return self._absolute(folder, name)
        start = joined(folder, "../" * (level - 1) + name.replace(".", "/"))
        if start is None:
            return ()
        inside = f"{start}/__init__.py" if start else "__init__.py"
        return self._tree.first((inside, inside + "i", f"{start}.py", f"{start}.pyi") if name else (inside, inside + "i"))

    def _absolute(self, folder: str, module: str) -> tuple[str, ...]:
        found = self._known.get(module)
        if found is None:
            found = self._known[module] = self._candidates(module)
        for up in upward(folder) if found.roots else ():
            if up in found.roots:
                return (found.roots[up],)
        if found.elsewhere:
            return (found.roots[nearest(found.elsewhere, folder)],)
        if "." in module:
            return tuple(found.inside.values()) if len(found.inside) == 1 else ()
        return (found.inside[folder],) if folder in found.inside and module not in sys.stdlib_module_names else ()

    def _candidates(self, module: str) -> _Candidates:
        tail = module.replace(".", "/")
        found: dict[str, str] = {}
        for ending in ("/__init__.py", ".py", "/__init__.pyi", ".pyi"):
            for path in self._tree.ending(tail + ending):
                found.setdefault(path[: -len(tail + ending)].rstrip("/"), path)
        inside = {root: path for root, path in found.items() if f"{root}/__init__.py" in self._tree.files}
        roots = {root: path for root, path in found.items() if root not in inside}
        return _Candidates(roots, [root for root, path in roots.items() if _on_the_path(module, root, path)], inside)


def _on_the_path(module: str, root: str, path: str) -> bool:
    """Whether a file outside a root, too, would import this module from there."""
    top = module.partition(".")[0]
    if top in sys.stdlib_module_names:
        return False
    return top != module or path.endswith(("/__init__.py", "/__init__.pyi")) or root.rpartition("/")[2] in _SOURCE_FOLDERS

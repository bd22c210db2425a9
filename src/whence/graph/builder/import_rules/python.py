"""Imports of Python."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from whence.graph.builder.import_rules.rule import Binding, PathTree, aliased, folder_of, joined, nearest, upward

_IMPORT = re.compile(r"(?<=[\s.])import\b")
#: Folders that are usually on `sys.path` rather than packages.
_SOURCE_FOLDERS = frozenset({"src", "lib", "python"})


@dataclass(frozen=True, slots=True)
class _Candidates:
    """The files that could be a module, by the folder that would have to be on `sys.path`."""

    roots: dict[str, str]  # folders that are not packages
    shared_roots: list[str]  # those from which files outside them import too
    packages: dict[str, str]  # folders that are packages: the module's full name is longer, or it is a sibling


class Python:
    """`import a.b` and `from .a import b`: modules by package root, relative to the file, or by a unique path ending."""

    def __init__(self, tree: PathTree) -> None:
        self._tree = tree
        self._known: dict[str, _Candidates] = {}

    def bindings(self, path: str, statement: str) -> Iterator[Binding]:
        """What `import` or `from ... import` binds."""
        folder = folder_of(path)
        if statement.startswith("import"):
            for part in statement[6:].split(","):
                yield from self._import(folder, *aliased(part))
        elif statement.startswith("from") and (found := _IMPORT.search(statement, 4)):
            module = "".join(statement[4 : found.start()].split()).replace("\\", "")
            names = statement[found.end() :].replace("(", " ").replace(")", " ").replace("\\", " ")
            for part in names.split(","):
                yield from self._from_import(folder, module, *aliased(part))

    def _import(self, folder: str, module: str, local: str) -> Iterator[Binding]:
        files = self._module(folder, module)
        top, dotted, _ = local.partition(".")
        if files:  # of `a.b.c`, references have `c` as their receiver
            yield Binding(local.rpartition(".")[2], files, "")
        if dotted and (files := self._module(folder, top)):
            yield Binding(top, files, "")

    def _from_import(self, folder: str, module: str, name: str, local: str) -> Iterator[Binding]:
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
        if found.shared_roots:
            return (found.roots[nearest(found.shared_roots, folder)],)
        if "." in module:
            return tuple(found.packages.values()) if len(found.packages) == 1 else ()
        return (found.packages[folder],) if folder in found.packages and module not in sys.stdlib_module_names else ()

    def _candidates(self, module: str) -> _Candidates:
        tail = module.replace(".", "/")
        found: dict[str, str] = {}
        for ending in ("/__init__.py", ".py", "/__init__.pyi", ".pyi"):
            for path in self._tree.ending(tail + ending):
                found.setdefault(path[: -len(tail + ending)].rstrip("/"), path)
        packages = {root: path for root, path in found.items() if f"{root}/__init__.py" in self._tree.files}
        roots = {root: path for root, path in found.items() if root not in packages}
        return _Candidates(roots, [root for root, path in roots.items() if _is_shared(module, root, path)], packages)


def _is_shared(module: str, root: str, path: str) -> bool:
    """Whether files outside a root would import this module from there too."""
    top = module.partition(".")[0]
    if top in sys.stdlib_module_names:
        return False
    return top != module or path.endswith(("/__init__.py", "/__init__.pyi")) or root.rpartition("/")[2] in _SOURCE_FOLDERS

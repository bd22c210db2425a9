"""Imports that name a file, or a module that is a path in another spelling: Python, C, Ruby, Lua, Dart, Elixir and Swift."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from functools import cache, cached_property

from whence.graph.import_rules import MAX_PARTS, Binding, PathTree, Rule, aliased, contains, folder_of, joined, nearest, quoted, upward

_PYTHON_IMPORT = re.compile(r"(?<=[\s.])import\b")
#: Folders that are usually on `sys.path` rather than packages.
_SOURCE_FOLDERS = frozenset({"src", "lib", "python"})
_INCLUDE = re.compile(r"""\s*#\s*(?:include|import|include_next)\s*(["<])([^">\n]*)""")
_UP = re.compile(r"\A(?:\.\./)+")
_HEADERS = (".h", ".hpp", ".hh", ".hxx", ".h++")
_IMPLEMENTATIONS = (".c", ".cc", ".cpp", ".cxx", ".c++", ".cu", ".m", ".mm")
#: Folders that a compiler usually searches for `#include <...>`.
_INCLUDE_FOLDERS = frozenset({"", "include", "includes", "inc", "src", "public", "Public"})
#: Folders that are usually on the load path.
_LOAD_FOLDERS = frozenset({"", "lib", "app", "test", "spec", "ext"})
_AUTOLOAD = re.compile(r"\bautoload\b\W{1,3}([A-Z]\w*)")
_PUB_NAME = re.compile(r"""^name:[ \t]*["']?(\w+)""", re.MULTILINE)
_DART_CLAUSE = re.compile(r"\b(as|show|hide)\s+([^;]*?)(?=\s(?:as|show|hide)\s|;|$)")
_ELIXIR_NAME = re.compile(r"[A-Z][\w.]*")
_ELIXIR_AS = re.compile(r"\bas:\s*([A-Z]\w*)")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_SWIFT = re.compile(r"\bimport\s+(?:(?:class|struct|enum|protocol|func|var|let|typealias)\s+)?(\w+)")


class Python(Rule):
    """`import a.b` and `from .a import b`: modules by package root, relative to the file, or by a unique path ending."""

    def __init__(self, tree: PathTree) -> None:
        super().__init__(tree)
        self._candidates = cache(self._find_candidates)

    def bindings(self, path: str, statement: str) -> Iterator[Binding]:
        """What `import` or `from ... import` binds."""
        folder = folder_of(path)
        if statement.startswith("import"):
            for part in statement[6:].split(","):
                yield from self._import(folder, *aliased(part))
        elif statement.startswith("from") and (found := _PYTHON_IMPORT.search(statement, 4)):
            module = "".join(statement[4 : found.start()].split()).replace("\\", "")
            names = statement[found.end() :].replace("(", " ").replace(")", " ").replace("\\", " ")
            for part in names.split(","):
                yield from self._from_import(folder, module, *aliased(part))

    def _import(self, folder: str, module: str, local: str) -> Iterator[Binding]:
        files = self._module(folder, module)
        top, dotted, _ = local.partition(".")
        if files:
            yield Binding(local, files, "")
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
        roots, shared_roots, packages = self._candidates(module)
        for up in upward(folder) if roots else ():
            if up in roots:
                return (roots[up],)
        if shared_roots:
            return (roots[nearest(shared_roots, folder)],)
        if "." in module:
            return tuple(packages.values()) if len(packages) == 1 else ()
        return (packages[folder],) if folder in packages and module not in sys.stdlib_module_names else ()

    def _find_candidates(self, module: str) -> tuple[dict[str, str], list[str], dict[str, str]]:
        """The files that could be a module, by the folder that would have to be on `sys.path`.

        First by folders that are no packages; then those of these folders from which files outside them import too; last by
        folders that are packages: the module's full name is longer, or it is a sibling.
        """
        tail = module.replace(".", "/")
        found: dict[str, str] = {}
        for ending in ("/__init__.py", ".py", "/__init__.pyi", ".pyi"):
            for path in self._tree.ending(tail + ending):
                found.setdefault(path[: -len(tail + ending)].rstrip("/"), path)
        packages = {root: path for root, path in found.items() if f"{root}/__init__.py" in self._tree.files}
        roots = {root: path for root, path in found.items() if root not in packages}
        return roots, [root for root, path in roots.items() if _is_shared(module, root, path)], packages


def _is_shared(module: str, root: str, path: str) -> bool:
    """Whether files outside a root would import this module from there too."""
    top = module.partition(".")[0]
    if top in sys.stdlib_module_names:
        return False
    return top != module or path.endswith(("/__init__.py", "/__init__.pyi")) or root.rpartition("/")[2] in _SOURCE_FOLDERS


class C(Rule):
    """`#include`: relative to the file, or else any path that ends so, with the source file of a header."""

    def bindings(self, path: str, statement: str) -> Iterator[Binding]:
        """The header, and the source file beside it that defines what it declares."""
        found = _INCLUDE.match(statement)
        header = self._header(folder_of(path), found[2].strip(), is_system=found[1] == "<") if found else ""
        if header:
            stem, dot, extension = header.rpartition(".")
            beside = _IMPLEMENTATIONS if dot + extension in _HEADERS else ()
            yield Binding("", (header, *(stem + one for one in beside if stem + one in self._tree.files)), "")

    def _header(self, folder: str, name: str, *, is_system: bool) -> str:
        relative = joined(folder, name) if not is_system else None
        if relative in self._tree.files:
            return relative
        tail = joined("", _UP.sub("", name))
        matches = self._tree.ending(tail) if tail else []
        if is_system and tail:
            matches = [one for one in matches if one[: -len(tail)].rstrip("/").rpartition("/")[2] in _INCLUDE_FOLDERS]
        return nearest(matches, folder) if matches else ""


class Ruby(Rule):
    """`require` on the load path, `require_relative` relative to the file, `autoload` for one constant."""

    def bindings(self, path: str, statement: str) -> Iterator[Binding]:
        """Every name of the required file."""
        name = quoted(statement)
        if not name:
            return
        folder = folder_of(path)
        name = name if name.endswith((".rb", ".rake")) else name + ".rb"
        is_relative = statement.startswith("require_relative") or name.startswith(("./", "../"))
        files = self._tree.first((joined(folder, name) or "",)) if is_relative else self._on_load_path(folder, name)
        constant = _AUTOLOAD.match(statement)
        if files:
            yield Binding(constant[1], files, constant[1]) if constant else Binding("", files, "")

    def _on_load_path(self, folder: str, name: str) -> tuple[str, ...]:
        matches = self._tree.ending(name)
        roots = {path[: -len(name)].rstrip("/"): path for path in matches}
        likely = [path for root, path in roots.items() if root.rpartition("/")[2] in _LOAD_FOLDERS]
        matches = likely or (matches if "/" in name else [])
        return (nearest(matches, folder),) if matches else ()


class Lua(Rule):
    """`require "a.b"`: a path with dots. The statement has no local name; that is usually the last part."""

    def bindings(self, path: str, statement: str) -> Iterator[Binding]:
        """The required file."""
        name = quoted(statement)
        tail = name.replace(".", "/").strip("/")
        matches = (self._tree.ending(f"{tail}.lua") or self._tree.ending(f"{tail}/init.lua")) if tail else []
        if matches:
            yield Binding(tail.rpartition("/")[2], (nearest(matches, folder_of(path)),), "")


class Dart(Rule):
    """`import`, `export` and `part`: a path, or a path in the `lib` of a package of this repository."""

    def bindings(self, path: str, statement: str) -> Iterator[Binding]:
        """The file by its prefix, the names that `show` lists, or every name."""
        files = self._files(folder_of(path), quoted(statement))
        if not files:
            return
        clauses = {found[1]: found[2] for found in _DART_CLAUSE.finditer(statement)}
        if "as" in clauses:
            yield Binding(clauses["as"].strip(), files, "")
        elif "show" in clauses:
            yield from (Binding(name.strip(), files, name.strip()) for name in clauses["show"].split(",") if name.strip())
        else:
            yield Binding("", files, "")

    def _files(self, folder: str, name: str) -> tuple[str, ...]:
        if name.startswith("package:"):
            package, _, rest = name[8:].partition("/")
            root = self._packages.get(package)
            return () if root is None else self._tree.first((joined(root, f"lib/{rest}") or "",))
        return self._tree.first((joined(folder, name) or "",)) if name and ":" not in name else ()

    @cached_property
    def _packages(self) -> dict[str, str]:
        """The folder of each package, by the name in its pubspec."""
        texts = [(folder_of(path), self._tree.text(path)) for path in self._tree.ending("pubspec.yaml")]
        return {found[1]: folder for folder, text in texts if (found := _PUB_NAME.search(text))}


class Elixir(Rule):
    """`alias A.B.{C, D}`, `import`, `use`, `require`: a module is in a file named after it, with underscores."""

    def bindings(self, path: str, statement: str) -> Iterator[Binding]:
        """The file of each module; `import` makes all of its functions visible."""
        found = _ELIXIR_NAME.search(statement)
        if found is None:
            return
        name, rest = found[0], statement[found.end() :]
        names = [name]
        if name.endswith("."):
            names = [name + inner for inner in _ELIXIR_NAME.findall(rest.strip("{ ").partition("}")[0])]
        renamed = _ELIXIR_AS.search(rest)
        for module in names:
            files = self._files(folder_of(path), module)
            if files:
                local = renamed[1] if renamed and len(names) == 1 else module.rpartition(".")[2]
                yield Binding("" if statement.startswith("import") else local, files, "")

    def _files(self, folder: str, module: str) -> tuple[str, ...]:
        if module.count(".") > MAX_PARTS:
            return ()
        stem = "/".join(_HUMP.sub("_", part).lower() for part in module.split("."))
        matches = self._tree.ending(f"{stem}.ex") or self._tree.ending(f"{stem}.exs")
        if "." not in module:
            matches = [path for path in matches if folder_of(path).rpartition("/")[2] in _LOAD_FOLDERS]
        return (nearest(matches, folder),) if matches else ()


class Swift(Rule):
    """`import Module`: all files of the target, a folder in `Sources` or `Tests`."""

    def bindings(self, path: str, statement: str) -> Iterator[Binding]:
        """Every name of every file of the module."""
        found = _SWIFT.search(statement)
        for folder in self._tree.folders_ending(found[1]) if found else ():
            if folder.split("/")[-2:-1] in (["Sources"], ["Tests"]) and not contains(folder, folder_of(path)):
                yield Binding("", self._tree.beneath(folder, ".swift"), "")
                return

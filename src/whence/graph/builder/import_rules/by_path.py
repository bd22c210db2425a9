"""Imports of languages that name the file itself, or a module that is a path in another spelling."""

from __future__ import annotations

import re
from collections.abc import Iterator

from whence.graph.builder.import_rules.binding import Binding
from whence.graph.builder.import_rules.tree import PathTree, folder_of, holds, joined, nearest, quoted

MOST_NAMES = 40
_INCLUDE = re.compile(r"""\s*#\s*(?:include|import|include_next)\s*(["<])([^">\n]*)""")
_UP = re.compile(r"\A(?:\.\./)+")
_HEADERS = (".h", ".hpp", ".hh", ".hxx", ".h++")
_IMPLEMENTATIONS = (".c", ".cc", ".cpp", ".cxx", ".c++", ".cu", ".m", ".mm")
#: Folders that a compiler is told to look in for what stands in angle brackets.
_INCLUDED = frozenset({"", "include", "includes", "inc", "src", "public", "Public"})
#: Folders whose files are found by what comes after.
_LOADED = frozenset({"", "lib", "app", "test", "spec", "ext"})
_AUTOLOAD = re.compile(r"\bautoload\b\W{1,3}([A-Z]\w*)")
_PUB_NAME = re.compile(r"""^name:[ \t]*["']?(\w+)""", re.MULTILINE)
_DART_PART = re.compile(r"\b(as|show|hide)\s+([^;]*?)(?=\s(?:as|show|hide)\s|;|$)")
_ELIXIR_NAME = re.compile(r"[A-Z][\w.]*")
_ELIXIR_AS = re.compile(r"\bas:\s*([A-Z]\w*)")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_SWIFT = re.compile(r"\bimport\s+(?:(?:class|struct|enum|protocol|func|var|let|typealias)\s+)?(\w+)")


class C:
    """`#include`: beside the file, else wherever a path ends so; and the source that goes with a header."""

    def __init__(self, tree: PathTree) -> None:
        self._tree = tree

    def bindings(self, path: str, statement: str) -> Iterator[Binding]:
        """The header, and the file beside it that defines what it declares."""
        found = _INCLUDE.match(statement)
        header = self._header(folder_of(path), found[2].strip(), system=found[1] == "<") if found else ""
        if header:
            yield Binding("", (header, *self._implementations(header)), "")

    def _header(self, folder: str, name: str, *, system: bool) -> str:
        beside = joined(folder, name) if not system else None
        if beside in self._tree.files:
            return beside
        tail = joined("", _UP.sub("", name))
        matches = self._tree.ending(tail) if tail else []
        if system and tail:
            matches = [one for one in matches if one[: -len(tail)].rstrip("/").rpartition("/")[2] in _INCLUDED]
        return nearest(matches, folder) if matches else ""

    def _implementations(self, header: str) -> Iterator[str]:
        stem, dot, extension = header.rpartition(".")
        if dot + extension in _HEADERS:
            yield from (stem + one for one in _IMPLEMENTATIONS if stem + one in self._tree.files)


class Ruby:
    """`require` along the load path, `require_relative` beside the file, `autoload` for one constant."""

    def __init__(self, tree: PathTree) -> None:
        self._tree = tree

    def bindings(self, path: str, statement: str) -> Iterator[Binding]:
        """The required file, whose every name becomes visible."""
        name = quoted(statement)
        if not name:
            return
        folder = folder_of(path)
        name = name if name.endswith((".rb", ".rake")) else name + ".rb"
        relative = statement.startswith("require_relative") or name.startswith(("./", "../"))
        files = self._tree.first((joined(folder, name) or "",)) if relative else self._loaded(folder, name)
        constant = _AUTOLOAD.match(statement)
        if files:
            yield Binding(constant[1], files, constant[1]) if constant else Binding("", files, "")

    def _loaded(self, folder: str, name: str) -> tuple[str, ...]:
        matches = self._tree.ending(name)
        roots = {path[: -len(name)].rstrip("/"): path for path in matches}
        likely = [path for root, path in roots.items() if root.rpartition("/")[2] in _LOADED]
        matches = likely or (matches if "/" in name else [])
        return (nearest(matches, folder),) if matches else ()


class Lua:
    """`require "a.b"`: a path with dots. What it is called here is not in the statement, and mostly its last word."""

    def __init__(self, tree: PathTree) -> None:
        self._tree = tree

    def bindings(self, path: str, statement: str) -> Iterator[Binding]:
        """The required file."""
        name = quoted(statement)
        tail = name.replace(".", "/").strip("/")
        matches = (self._tree.ending(f"{tail}.lua") or self._tree.ending(f"{tail}/init.lua")) if tail else []
        if matches:
            yield Binding(tail.rpartition("/")[2], (nearest(matches, folder_of(path)),), "")


class Dart:
    """`import`, `export` and `part`: a path, or a path in the `lib` of a package of this repository."""

    def __init__(self, tree: PathTree) -> None:
        self._tree = tree
        self._packages: dict[str, str] | None = None

    def bindings(self, path: str, statement: str) -> Iterator[Binding]:
        """The file: by its prefix, by the names that are shown of it, or all of it."""
        files = self._files(folder_of(path), quoted(statement))
        if not files:
            return
        said = {found[1]: found[2] for found in _DART_PART.finditer(statement)}
        if "as" in said:
            yield Binding(said["as"].strip(), files, "")
        elif "show" in said:
            yield from (Binding(name.strip(), files, name.strip()) for name in said["show"].split(",") if name.strip())
        else:
            yield Binding("", files, "")

    def _files(self, folder: str, name: str) -> tuple[str, ...]:
        if name.startswith("package:"):
            package, _, rest = name[8:].partition("/")
            home = self._homes().get(package)
            return () if home is None else self._tree.first((joined(home, f"lib/{rest}") or "",))
        return self._tree.first((joined(folder, name) or "",)) if name and ":" not in name else ()

    def _homes(self) -> dict[str, str]:
        if self._packages is None:
            texts = [(folder_of(path), self._tree.text(path)) for path in self._tree.ending("pubspec.yaml")]
            self._packages = {found[1]: folder for folder, text in texts if (found := _PUB_NAME.search(text))}
        return self._packages


class Elixir:
    """`alias A.B.{C, D}`, `import`, `use`, `require`: modules lie in files named after them, with underscores."""

    def __init__(self, tree: PathTree) -> None:
        self._tree = tree

    def bindings(self, path: str, statement: str) -> Iterator[Binding]:
        """The file of each module; `import` makes its functions visible."""
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
        if module.count(".") > MOST_NAMES:
            return ()
        way = "/".join(_HUMP.sub("_", part).lower() for part in module.split("."))
        matches = self._tree.ending(f"{way}.ex") or self._tree.ending(f"{way}.exs")
        if "." not in module:
            matches = [path for path in matches if folder_of(path).rpartition("/")[2] in _LOADED]
        return (nearest(matches, folder),) if matches else ()


class Swift:
    """`import Module`: all files of the target, which lies in `Sources` or `Tests`."""

    def __init__(self, tree: PathTree) -> None:
        self._tree = tree

    def bindings(self, path: str, statement: str) -> Iterator[Binding]:
        """Every file of the module, all of whose names become visible."""
        found = _SWIFT.search(statement)
        for folder in self._tree.folders_ending(found[1]) if found else ():
            if folder.split("/")[-2:-1] in (["Sources"], ["Tests"]) and not holds(folder, folder_of(path)):
                yield Binding("", self._tree.beneath(folder, ".swift"), "")
                return

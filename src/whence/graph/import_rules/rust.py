"""Imports of Rust."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache, cached_property
from itertools import islice

from whence.graph.import_rules import MAX_NAMES, MAX_PARTS, Binding, PathTree, Rule, contains, folder_of, joined, nearest, upward

_HEAD = re.compile(r"\s*(?:pub(?:\s*\([^)]*\))?\s+)?(use|mod|extern\s+crate)\b\s*")
#: The symbols of a use tree.
_TOKEN = re.compile(r"::|[{},*]|\bas\b|(?:r#)?[^\W\d]\w*")
_SECTION = re.compile(r"[ \t]*\[([^\]\n]*)\]")
_SETTING = re.compile(r"""[ \t]*(name|path)[ \t]*=[ \t]*["']([^"'\n]*)["']""")
_ROOTS = ("lib.rs", "main.rs")
#: Folders of a package in which every file is a crate root.
_CRATE_FOLDERS = ("tests", "examples", "benches", "src/bin")
#: Crates of the standard library; a package of such a name is another, except for files beside it.
_STANDARD = frozenset({"std", "core", "alloc", "proc_macro", "test"})
_TEST_FOLDERS = frozenset({"tests", "test", "testdata", "fixtures"})

Leaf = tuple[tuple[str, ...], str]  # the parts of a path, and the local name
Resolved = tuple[tuple[str, ...], tuple[str, ...]]  # the files of a module, and the parts of the path below it


class Rust(Rule):
    """`use`, `mod` and `extern crate`: modules by their files, crates by their manifests."""

    def __init__(self, tree: PathTree) -> None:
        super().__init__(tree)
        self._crate_of = cache(self._find_crate)

    def bindings(self, path: str, statement: str) -> Iterator[Binding]:
        """What a `use`, a `mod` without a body or an `extern crate` binds."""
        head = _HEAD.match(statement)
        if head is None:
            return
        rest = statement[head.end() :]
        if head[1] == "mod":
            name, (crate, modules) = rest.rstrip("; ").removeprefix("r#"), self._position(path)
            if name and (found := self._module_file(crate, (*modules, name))):
                yield Binding(name, found, "")
            return
        for names, local in islice(_leaves(rest), MAX_NAMES):
            yield from self._leaf(path, names, local)

    def _leaf(self, path: str, names: tuple[str, ...], local: str) -> Iterator[Binding]:
        for files, rest in self._resolve(path, names):
            if rest[-1:] == ("*",):
                yield Binding("", files, "")
            else:
                yield Binding(local, files, rest[-1] if rest else "")
            return

    def _resolve(self, path: str, names: tuple[str, ...]) -> Iterator[Resolved]:
        """The innermost module that a path names, and the rest of the path; the first result is the best."""
        crate, modules = self._position(path)
        first, rest = names[0], names[1:]
        if first == "crate":
            yield from self._descend(crate, (), rest, self._root_files(path, crate))
        elif first in ("self", "super"):
            while first in ("self", "super"):
                modules = modules[:-1] if first == "super" else modules
                first, rest = (rest[0], rest[1:]) if rest else ("", ())
            here = self._module_file(crate, modules) or self._root_files(path, crate)
            yield from self._descend(crate, modules, (first, *rest) if first else (), here)
        else:
            yield from self._resolve_name(path, crate, modules, names)

    def _resolve_name(self, path: str, crate: str, modules: tuple[str, ...], names: tuple[str, ...]) -> Iterator[Resolved]:
        """A path that begins with a name: of a child module, another crate, or a module at the crate's root (edition 2015)."""
        first, rest = names[0], names[1:]
        if files := self._module_file(crate, (*modules, first)):
            yield from self._descend(crate, (*modules, first), rest, files)
        packages = [root for root in self._crates.get(first, ()) if _is_usable(first, root, path)]
        if packages:
            root = nearest(packages, folder_of(path))
            yield from self._descend(folder_of(root), (), rest, (root,))
        if modules and (files := self._module_file(crate, (first,))):
            yield from self._descend(crate, (first,), rest, files)

    def _descend(self, crate: str, modules: tuple[str, ...], names: Sequence[str], files: tuple[str, ...]) -> Iterator[Resolved]:
        """Follow names as far as they are modules."""
        depth = len(modules)
        for name in names:
            inner = self._module_file(crate, (*modules, name))
            if not inner:
                break
            files, modules = inner, (*modules, name)
        if files:
            yield files, tuple(names[len(modules) - depth :])

    def _module_file(self, crate: str, modules: tuple[str, ...]) -> tuple[str, ...]:
        if not modules:
            return ()
        stem = "/".join((crate, *modules)).lstrip("/")
        return self._tree.first((f"{stem}.rs", f"{stem}/mod.rs"))

    def _root_files(self, path: str, crate: str) -> tuple[str, ...]:
        """The root file of a crate; two if a package has a library and a program."""
        if self._crate_of(path)[1] == path:
            return (path,)
        roots = [f"{crate}/{name}".lstrip("/") for name in _ROOTS]
        return tuple(root for root in roots if root in self._tree.files)

    def _position(self, path: str) -> tuple[str, tuple[str, ...]]:
        """The folder of a file's crate, and the modules from there down to the file."""
        crate, root = self._crate_of(path)
        if root == path:
            return crate, ()
        modules = path[len(crate) :].lstrip("/").removesuffix(".rs").split("/")
        if modules[-1] in ("mod", "lib", "main"):
            modules.pop()
        return crate, tuple(modules)

    def _find_crate(self, path: str) -> tuple[str, str]:
        """The folder of a file's crate, and the file itself if it is the crate's root."""
        folder = folder_of(path)
        package = next((up for up in upward(folder) if f"{up}/Cargo.toml".lstrip("/") in self._tree.files), None)
        for up in upward(folder):
            if any(f"{up}/{name}".lstrip("/") in self._tree.files for name in _ROOTS):
                return up, ""
            if package is not None and any(up == f"{package}/{name}".lstrip("/") for name in _CRATE_FOLDERS):
                return up, path if up == folder else ""
            if up == package:
                break
        if package is None:
            return folder, ""
        source = f"{package}/src".lstrip("/")
        return (source, "") if path.startswith(source + "/") else (folder, path)

    @cached_property
    def _crates(self) -> dict[str, list[str]]:
        """The root files of libraries, by the crate's name."""
        roots: dict[str, list[str]] = {}
        for path in self._tree.ending("Cargo.toml"):
            settings = _manifest(self._tree.text(path))
            name = settings.get("lib.name") or settings.get("package.name", "")
            root = joined(folder_of(path), settings.get("lib.path", "src/lib.rs"))
            if name and root in self._tree.files:
                roots.setdefault(name.replace("-", "_"), []).append(root)
        return roots


def _is_usable(name: str, root: str, path: str) -> bool:
    """Whether a file can mean the crate at `root`: it is not the standard library's, nor a fixture of other files' tests."""
    if name in _STANDARD:
        return contains(folder_of(folder_of(folder_of(root))), path)
    parts = root.split("/")
    return all(part not in _TEST_FOLDERS or path.startswith("/".join(parts[: at + 1])) for at, part in enumerate(parts))


def _manifest(text: str) -> dict[str, str]:
    """The `name` and `path` settings of the package and the library in a Cargo.toml."""
    found: dict[str, str] = {}
    section = ""
    for line in text.splitlines():
        if header := _SECTION.match(line):
            section = header[1].strip()
        elif section in ("package", "lib") and (setting := _SETTING.match(line)):
            found.setdefault(f"{section}.{setting[1]}", setting[2])
    return found


def _leaves(tree: str) -> Iterator[Leaf]:
    """Each path of `a::{b, c as d, e::*}`, with its local name."""
    stack: list[tuple[str, ...]] = []
    prefix: tuple[str, ...] = ()
    names: list[str] = []
    alias = ""
    symbols = [found[0] for found in _TOKEN.finditer(tree)]
    for at, symbol in enumerate([*symbols, ","]):
        if symbol == "{":
            stack.append(prefix)
            prefix, names = (*prefix, *names)[:MAX_PARTS], []
        elif symbol in (",", "}"):
            if names:
                yield _leaf((*prefix, *names)[:MAX_PARTS], alias)
            names, alias = [], ""
            if symbol == "}":
                prefix = stack.pop() if stack else ()
        elif at and symbols[at - 1] == "as":
            alias = symbol
        elif symbol not in ("::", "as"):
            names.append(symbol.removeprefix("r#"))


def _leaf(names: tuple[str, ...], alias: str) -> Leaf:
    if len(names) > 1 and names[-1] == "self":
        names = names[:-1]
    return names, alias or names[-1]

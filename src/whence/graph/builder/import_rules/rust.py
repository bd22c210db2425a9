"""Imports of Rust."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice

from whence.graph.builder.import_rules.binding import Binding
from whence.graph.builder.import_rules.tree import PathTree, folder_of, holds, joined, nearest, upward

_HEAD = re.compile(r"\s*(?:pub(?:\s*\([^)]*\))?\s+)?(use|mod|extern\s+crate)\b\s*")
#: What a use tree is made of.
_PIECE = re.compile(r"::|[{},*]|\bas\b|(?:r#)?[^\W\d]\w*")
_SECTION = re.compile(r"[ \t]*\[([^\]\n]*)\]")
_SETTING = re.compile(r"""[ \t]*(name|path)[ \t]*=[ \t]*["']([^"'\n]*)["']""")
#: A path with more names, or a tree with more leaves, was not written for a reader.
MOST_NAMES = 60
MOST_LEAVES = 2_000
_ROOTS = ("lib.rs", "main.rs")
#: Folders of a package in which every file is a crate.
_FOLDERS_OF_CRATES = ("tests", "examples", "benches", "src/bin")

#: Crates of the language; a package of such a name is another, unless it lies beside.
_STANDARD = frozenset({"std", "core", "alloc", "proc_macro", "test"})
_MADE_FOR_TESTS = frozenset({"tests", "test", "testdata", "fixtures"})

Leaf = tuple[tuple[str, ...], str]


class Rust:
    """`use`, `mod` and `extern crate`: modules by the files that hold them, crates by their manifests."""

    def __init__(self, tree: PathTree) -> None:
        self._tree = tree
        self._known_crates: dict[str, list[str]] | None = None
        self._homes: dict[str, tuple[str, str]] = {}

    def bindings(self, path: str, statement: str) -> Iterator[Binding]:
        """What a `use`, a `mod` without a body or an `extern crate` makes known."""
        head = _HEAD.match(statement)
        if head is None:
            return
        rest = statement[head.end() :]
        if head[1] == "mod":
            yield from self._child(path, rest.rstrip("; ").removeprefix("r#"))
            return
        for names, local in islice(leaves(rest), MOST_LEAVES):
            yield from self._leaf(path, names, local)

    def _child(self, path: str, name: str) -> Iterator[Binding]:
        crate, modules = self._place(path)
        found = self._module_file(crate, (*modules, name)) if name else ()
        if found:
            yield Binding(name, found, "")

    def _leaf(self, path: str, names: tuple[str, ...], local: str) -> Iterator[Binding]:
        for files, left in self._resolved(path, names):
            if left[-1:] == ("*",):
                yield Binding("", files, "")
            else:
                yield Binding(local, files, left[-1] if left else "")
            return

    def _resolved(self, path: str, names: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
        """The file of the innermost module that a path names, and what of the path is left."""
        crate, modules = self._place(path)
        first, rest = names[0], names[1:]
        if first == "crate":
            yield from self._descended(crate, (), rest, self._root_files(path, crate))
        elif first in ("self", "super"):
            while first in ("self", "super"):
                modules = modules[:-1] if first == "super" else modules
                first, rest = (rest[0], rest[1:]) if rest else ("", ())
            here = self._module_file(crate, modules) or self._root_files(path, crate)
            yield from self._descended(crate, modules, (first, *rest) if first else (), here)
        else:
            yield from self._from_a_name(path, crate, modules, names)

    def _from_a_name(
        self, path: str, crate: str, modules: tuple[str, ...], names: tuple[str, ...]
    ) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
        """A path that begins with a name: a module in here, another crate, a module of the crate's root (2015)."""
        first, rest = names[0], names[1:]
        if files := self._module_file(crate, (*modules, first)):
            yield from self._descended(crate, (*modules, first), rest, files)
        packages = [root for root in self._crates().get(first, ()) if _could_mean(first, root, path)]
        if packages:
            root = nearest(packages, folder_of(path))
            yield from self._descended(folder_of(root), (), rest, (root,))
        if modules and (files := self._module_file(crate, (first,))):
            yield from self._descended(crate, (first,), rest, files)

    def _descended(
        self, crate: str, modules: tuple[str, ...], names: Sequence[str], files: tuple[str, ...]
    ) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
        outside = len(modules)
        for name in names:
            inner = self._module_file(crate, (*modules, name))
            if not inner:
                break
            files, modules = inner, (*modules, name)
        if files:
            yield files, tuple(names[len(modules) - outside :])

    def _module_file(self, crate: str, modules: tuple[str, ...]) -> tuple[str, ...]:
        if not modules:
            return ()
        stem = "/".join((crate, *modules)).lstrip("/")
        return self._tree.first((f"{stem}.rs", f"{stem}/mod.rs"))

    def _root_files(self, path: str, crate: str) -> tuple[str, ...]:
        """The file a crate begins with; both where a package has a library and a program."""
        if self._homes[path][1] == path:
            return (path,)
        held = [f"{crate}/{name}".lstrip("/") for name in _ROOTS]
        return tuple(name for name in held if name in self._tree.files)

    def _place(self, path: str) -> tuple[str, tuple[str, ...]]:
        """The folder of a file's crate, and the modules that lead from there to the file."""
        home = self._homes.get(path)
        if home is None:
            home = self._homes[path] = self._home(path)
        crate, root = home
        if root == path:
            return crate, ()
        way = path[len(crate) :].lstrip("/").removesuffix(".rs").split("/")
        if way[-1] in ("mod", "lib", "main"):
            way.pop()
        return crate, tuple(way)

    def _home(self, path: str) -> tuple[str, str]:
        """The folder of a file's crate; and the file itself, when the crate begins with it."""
        folder = folder_of(path)
        package = next((up for up in upward(folder) if f"{up}/Cargo.toml".lstrip("/") in self._tree.files), None)
        for up in upward(folder):
            if any(f"{up}/{name}".lstrip("/") in self._tree.files for name in _ROOTS):
                return up, ""
            if package is not None and any(up == f"{package}/{name}".lstrip("/") for name in _FOLDERS_OF_CRATES):
                return up, path if up == folder else ""
            if up == package:
                break
        if package is None:
            return folder, ""
        source = f"{package}/src".lstrip("/")
        return (source, "") if path.startswith(source + "/") else (folder, path)

    def _crates(self) -> dict[str, list[str]]:
        """The file that the library of each package begins with, by the crate's name."""
        if self._known_crates is None:
            self._known_crates = {}
            for path in self._tree.ending("Cargo.toml"):
                settings = _manifest(self._tree.text(path))
                name = settings.get("lib.name") or settings.get("package.name", "")
                root = joined(folder_of(path), settings.get("lib.path", "src/lib.rs"))
                if name and root in self._tree.files:
                    self._known_crates.setdefault(name.replace("-", "_"), []).append(root)
        return self._known_crates


def _could_mean(name: str, root: str, path: str) -> bool:
    """Whether a file means the crate that begins with `root`: not one of the language's, not one made for other files' tests."""
    if name in _STANDARD:
        return holds(folder_of(folder_of(folder_of(root))), path)
    parts = root.split("/")
    return all(part not in _MADE_FOR_TESTS or path.startswith("/".join(parts[: at + 1])) for at, part in enumerate(parts))


def _manifest(text: str) -> dict[str, str]:
    """The names and paths that a manifest gives its package and its library."""
    found: dict[str, str] = {}
    section = ""
    for line in text.splitlines():
        if opened := _SECTION.match(line):
            section = opened[1].strip()
        elif section in ("package", "lib") and (setting := _SETTING.match(line)):
            found.setdefault(f"{section}.{setting[1]}", setting[2])
    return found


def leaves(tree: str) -> Iterator[Leaf]:
    """`a::{b, c as d, e::*}` gives every path with the name it gets here."""
    stack: list[tuple[str, ...]] = []
    prefix: tuple[str, ...] = ()
    names: list[str] = []
    alias = ""
    pieces = [found[0] for found in _PIECE.finditer(tree)]
    for at, piece in enumerate([*pieces, ","]):
        if piece == "{":
            stack.append(prefix)
            prefix, names = (*prefix, *names)[:MOST_NAMES], []
        elif piece in (",", "}"):
            if names:
                yield _leaf((*prefix, *names)[:MOST_NAMES], alias)
            names, alias = [], ""
            if piece == "}":
                prefix = stack.pop() if stack else ()
        elif at and pieces[at - 1] == "as":
            alias = piece
        elif piece not in ("::", "as"):
            names.append(piece.removeprefix("r#"))


def _leaf(names: tuple[str, ...], alias: str) -> Leaf:
    if len(names) > 1 and names[-1] == "self":
        names = names[:-1]
    return names, alias or names[-1]

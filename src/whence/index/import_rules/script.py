"""Imports of JavaScript and TypeScript."""

from __future__ import annotations

import re
from collections.abc import Iterator

from whence.index.import_rules.binding import Binding
from whence.index.import_rules.script_packages import ScriptPackages
from whence.index.import_rules.tree import Tree, folder_of, joined, renamed

_FROM = re.compile(r"""\bfrom\s*(["'])([^"']*)\1""")
_BARE = re.compile(r"""\s*import\s*(["'])([^"']*)\1""")
_CALL = re.compile(r"""\b(?:require|import)\s*\(\s*(["'`])([^"'`]*)\1\s*\)""")
_MEMBER = re.compile(r"\s*\.\s*([^\W\d]\w*)")
_IDENTIFIER = re.compile(r"[^\W\d][\w$]*|\$[\w$]*")
_SCRIPTS = (".ts", ".tsx", ".d.ts", ".js", ".jsx", ".mjs", ".cjs", ".mts", ".cts")
_EXTENSIONS = (*_SCRIPTS, ".vue", ".svelte", ".json")
#: What a written extension may stand for in the sources.
_WRITTEN_FOR = {".js": (".ts", ".tsx", ".d.ts", ".jsx"), ".jsx": (".tsx",), ".mjs": (".mts", ".d.mts"), ".cjs": (".cts", ".d.cts")}


class Script:
    """`import`, `export ... from`, `require` and `import()`: paths, aliases and workspaces."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._packages = ScriptPackages(tree)
        self._known: dict[tuple[str, str], tuple[str, ...]] = {}

    def bindings(self, path: str, statement: str) -> Iterator[Binding]:
        """What a statement makes known of the modules it names."""
        folder = folder_of(path)
        if statement.startswith(("import", "export")):
            found = _FROM.search(statement)
            if found:
                files = self._files(folder, found[2])
                yield from _clause(_without_comments(statement[6 : found.start()]), files) if files else ()
                return
            found = _BARE.match(statement)
            if found:
                files = self._files(folder, found[2])
                yield from [Binding("", files, "")] if files else []
                return
        upto = 0
        for found in _CALL.finditer(statement):
            files = self._files(folder, found[2])
            if files:
                member = _MEMBER.match(statement, found.end())
                yield from _assigned(statement[upto : found.start()], files, member[1] if member else "")
            upto = found.end()

    def _files(self, folder: str, name: str) -> tuple[str, ...]:
        known = self._known.get((folder, name))
        if known is None:
            known = self._known[folder, name] = self._found(folder, name.partition("?")[0])
        return known

    def _found(self, folder: str, name: str) -> tuple[str, ...]:
        if name.startswith(".") or not name:
            place = joined(folder, name) if name else None
            return () if place is None else self._file(place)
        if name.startswith("/"):
            return self._file(joined("", name.strip("/")) or "")
        for place in self._packages.places(folder, name):
            files = self._file(place)
            if files:
                return files
        return ()

    def _file(self, place: str) -> tuple[str, ...]:
        """The file that a path without an extension, or with the one it will have when built, stands for."""
        files = self._tree.files
        if place in files:
            return (place,)
        stem, dot, written = place.rpartition(".")
        if dot and (found := self._tree.first(stem + one for one in _WRITTEN_FOR.get(dot + written, ()))):
            return found
        found = self._tree.first(place + one for one in _EXTENSIONS)
        if found or (place and place not in self._tree.folders):
            return found
        inside = f"{place}/index" if place else "index"
        return self._tree.first(inside + one for one in _EXTENSIONS)


def _clause(text: str, files: tuple[str, ...]) -> Iterator[Binding]:
    """`type A, { b as c, type D }`, `* as e`, `*`: what stands between `import` and `from`."""
    text = text.strip()
    if text.startswith("type") and text[4:5] in (" ", "{", "*") and text[4:].strip():
        text = text[4:]
    before, _, braced = text.partition("{")
    for part in before.split(","):
        there, here = renamed(part)
        if there == "*":
            yield Binding("" if here == "*" else here, files, "")
        elif there:
            yield from _default(here, files)
    for part in braced.partition("}")[0].split(","):
        there, here = (name.strip("\"'") for name in renamed(part))
        if there == "default":
            yield from _default(here, files)
        elif there:
            yield Binding(here, files, there)


def _default(local: str, files: tuple[str, ...]) -> Iterator[Binding]:
    """A default export mostly has a name of its own, and it is mostly this one; a component or a table is its file."""
    if files[0].endswith(_SCRIPTS):
        yield Binding(local, files, "default")
        if local != "default":
            yield Binding(local, files, local)
    else:
        yield Binding(local, files, "")


def _assigned(before: str, files: tuple[str, ...], member: str) -> Iterator[Binding]:
    """`const a =`, `const { b, c: d } =`: what the value of a call is given to."""
    target = before.replace("=>", "  ").rpartition("=")[0]
    head, braced, inside = target.rpartition("{")
    if braced:
        for part in inside.replace("}", " ").split(","):
            there, _, here = part.partition(":")
            names = [_IDENTIFIER.search(one) for one in (there, here)]
            if names[0]:
                yield Binding((names[1] or names[0])[0], files, names[0][0])
        return
    names_there = _IDENTIFIER.findall((head or target).partition(":")[0])
    local = names_there[-1] if names_there else ""
    if not local or member:
        yield Binding(local or member, files, member)
        return
    yield Binding(local, files, "")
    yield Binding(local, files, local)  # a module may be the one thing it exports


def _without_comments(text: str) -> str:
    if "/*" not in text:
        return text
    pieces, upto = [], 0
    while (start := text.find("/*", upto)) >= 0:
        pieces.append(text[upto:start])
        end = text.find("*/", start + 2)
        upto = end + 2 if end >= 0 else len(text)
    return " ".join([*pieces, text[upto:]])

"""Imports of PHP."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from whence.graph.builder.import_rules.binding import Binding
from whence.graph.builder.import_rules.tree import PathTree, folder_of, joined, nearest, quoted, renamed
from whence.text.json_comments import parse_json

MOST_NAMES = 40
MOST_LEAVES = 2_000


class Php:
    r"""`use A\B\C` by the folders that composer.json gives to namespaces, and `require` by path."""

    def __init__(self, tree: PathTree) -> None:
        self._tree = tree
        self._given: dict[str, list[str]] | None = None

    def bindings(self, path: str, statement: str) -> Iterator[Binding]:
        """What a `use` or a `require` makes known."""
        if not statement.startswith("use"):
            files = self._included(path, statement)
            if files:
                yield Binding("", files, "")
            return
        for name, local, function in islice(_leaves(statement[3:]), MOST_LEAVES):
            if name.count("\\") <= MOST_NAMES and "/" not in name:
                yield from self._used(name, local, function=function)

    def _used(self, name: str, local: str, *, function: bool) -> Iterator[Binding]:
        last = name.rpartition("\\")[2]
        files = () if function else self._type(name)
        if files:
            yield Binding(local, files, last)
            return
        files = self._namespace(name.rpartition("\\")[0] if function else name)
        if files:
            yield Binding(local, files, last if function else "")

    def _type(self, name: str) -> tuple[str, ...]:
        files = self._tree.first(f"{way}.php" for way in self._ways(name))
        if files:
            return files
        tail = name.replace("\\", "/") + ".php"
        while "/" in tail:
            found = self._tree.ending(tail)
            if found:
                return tuple(found)
            if self._namespaces():  # composer.json says where things are: what is not there is outside
                return ()
            tail = tail.partition("/")[2]
        return ()

    def _namespace(self, name: str) -> tuple[str, ...]:
        for way in self._ways(name) if name else ():
            files = self._tree.sources(way, (".php",))
            if files:
                return files
        return ()

    def _ways(self, name: str) -> Iterator[str]:
        """Where composer.json puts a name, the longest prefix first."""
        given = self._namespaces()
        prefix = name
        while given:
            for folder in given.get(prefix, ()):
                yield f"{folder}/{name[len(prefix) :].strip(chr(92)).replace(chr(92), '/')}".strip("/")
            if not prefix:
                return
            prefix = prefix.rpartition("\\")[0]

    def _namespaces(self) -> dict[str, list[str]]:
        if self._given is None:
            self._given = {}
            for path in self._tree.ending("composer.json"):
                for prefix, folder in _mapped(parse_json(self._tree.text(path))):
                    place = joined(folder_of(path), folder or ".")
                    if place is not None:
                        self._given.setdefault(prefix.strip("\\"), []).append(place)
        return self._given

    def _included(self, path: str, statement: str) -> tuple[str, ...]:
        folder = folder_of(path)
        name = quoted(statement).lstrip("/")
        if not name:
            return ()
        up = statement.count("dirname") - ("__FILE__" in statement)
        place = joined(folder, "../" * max(0, up) + name)
        found = self._tree.first(way for way in (place, joined("", name)) if way is not None)
        matches = [] if found or name.startswith("..") else self._tree.ending(name.removeprefix("./"))
        return found or ((nearest(matches, folder),) if matches else ())


def _mapped(manifest: object) -> Iterator[tuple[str, str]]:
    for section in ("autoload", "autoload-dev"):
        rules = manifest.get(section) if isinstance(manifest, dict) else None
        table = rules.get("psr-4") if isinstance(rules, dict) else None
        for prefix, folders in table.items() if isinstance(table, dict) else ():
            for folder in folders if isinstance(folders, list) else [folders]:
                if isinstance(folder, str):
                    yield prefix, folder


def _leaves(text: str) -> Iterator[tuple[str, str, bool]]:
    r"""`A\{B, C as D}` and `A, B as C` give every name, what it is called here, and whether it is a function or a constant."""
    text = text.replace(";", " ").strip()
    kind = text.partition(" ")[0] if text.startswith(("function ", "const ")) else ""
    head, braced, inside = text[len(kind) :].partition("{")
    prefix = head.strip() if braced else ""
    for part in (inside.replace("}", " ") if braced else head).split(","):
        name, local = renamed(part)
        function = bool(kind) or part.split()[:1] in (["function"], ["const"])
        name = (prefix + name).strip("\\")
        if name and name != prefix:
            yield name, local.rpartition("\\")[2], function

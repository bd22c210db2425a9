"""Imports of C#."""

from __future__ import annotations

from collections.abc import Iterator

from whence.graph.builder.import_rules.binding import Binding
from whence.graph.builder.import_rules.tree import PathTree

#: Namespaces that are never of this repository when only the end of their way is here.
_OUTSIDE = frozenset({"System", "Microsoft", "Windows"})
MOST_NAMES = 40


class CSharp:
    """`using A.B`: folders whose way, with dots for slashes, ends with the namespace, or with its end."""

    def __init__(self, tree: PathTree) -> None:
        self._tree = tree
        self._found: dict[str, tuple[str, ...]] = {}
        self._by_last: dict[str, list[tuple[str, str]]] = {}
        self._components: set[str] = set()
        for folder, held in tree.in_folder.items():
            projects = [path for path in held if path.endswith(".csproj")]
            self._components.update(part for path in projects for part in path.rpartition("/")[2].split("."))
            if any(path.endswith(".cs") for path in held):
                dotted = folder.replace("/", ".")
                self._components.update(dotted.split("."))
                self._by_last.setdefault(dotted.rpartition(".")[2], []).append((dotted, folder))

    def bindings(self, path: str, statement: str) -> Iterator[Binding]:
        """What a using directive makes known."""
        del path
        text = statement.replace(";", " ").removeprefix("global ").strip().removeprefix("using").strip()
        static = text.startswith("static ")
        alias, equals, name = text.removeprefix("static ").partition("=")
        name = "".join((name if equals else alias).partition("<")[0].split()).replace("global::", "")
        if not name or name.count(".") > MOST_NAMES:
            return
        files = () if static else self._namespace(name)
        if files:
            yield Binding(alias.strip() if equals else "", files, "")
        elif static or equals:
            files, last = self._type(name)
            if files:
                yield Binding("" if static else alias.strip(), files, "" if static else last)

    def _type(self, name: str) -> tuple[tuple[str, ...], str]:
        """The file that is named after a type, or all of its namespace."""
        namespace, _, last = name.rpartition(".")
        files = self._namespace(namespace) if namespace else ()
        return tuple(path for path in files if path.endswith(f"/{last}.cs")) or files, last

    def _namespace(self, name: str) -> tuple[str, ...]:
        known = self._found.get(name)
        if known is None:
            known = self._found[name] = self._files(name)
        return known

    def _files(self, name: str) -> tuple[str, ...]:
        top = name.partition(".")[0]
        ending = name
        while ending:
            folders = [folder for dotted, folder in self._by_last.get(ending.rpartition(".")[2], ()) if _ends(dotted, ending)]
            if folders:
                return tuple(path for folder in folders for path in self._tree.sources(folder, (".cs",)))
            ending = ending.partition(".")[2]
            if top in _OUTSIDE or (top not in self._components and "." not in ending):
                return ()
        return ()


def _ends(dotted: str, name: str) -> bool:
    return dotted == name or dotted.endswith("." + name)

"""Imports of Go."""

from __future__ import annotations

import re
from collections.abc import Iterator

from whence.graph.builder.import_rules.binding import Binding
from whence.graph.builder.import_rules.tree import PathTree, folder_of, quoted

_MODULE = re.compile(r"""^[ \t]*module[ \t]+["`]?([^\s"`]+)""", re.MULTILINE)
_VERSION = re.compile(r"v[0-9]+")
_DOTTED_VERSION = re.compile(r"\.v[0-9]+\Z")


class Go:
    """`alias "module/folder"`: the folder, by the module that every go.mod declares."""

    def __init__(self, tree: PathTree) -> None:
        self._tree = tree
        self._declared: dict[str, str] | None = None

    def bindings(self, path: str, statement: str) -> Iterator[Binding]:
        """What one import specification makes known."""
        del path
        package = quoted(statement)
        files = self._files(package) if package else ()
        if not files:
            return
        words = statement.replace('"', ' "').replace("`", ' "').split()
        alias = next((word for word in words if word != "import" and not word.startswith('"')), "") if len(words) > 1 else ""
        local = "" if alias == "." else alias if alias and alias != f'"{package}' else _package_name(package)
        yield Binding(local, files, "")

    def _files(self, package: str) -> tuple[str, ...]:
        for folder in self._folders(package):
            files = tuple(path for path in self._tree.sources(folder, (".go",)) if not path.endswith("_test.go"))
            if files:
                return files
        return ()

    def _folders(self, package: str) -> Iterator[str]:
        declared = self._modules()
        prefix = package
        while prefix:
            if prefix in declared:
                yield f"{declared[prefix]}{package[len(prefix) :]}".lstrip("/")
            prefix = prefix.rpartition("/")[0]
        yield f"vendor/{package}"
        if not declared and "." in package.partition("/")[0]:  # host, owner and name of the repository stand first
            yield "/".join(package.split("/")[3:])

    def _modules(self) -> dict[str, str]:
        if self._declared is None:
            self._declared = {}
            for path in self._tree.ending("go.mod"):
                found = _MODULE.search(self._tree.text(path))
                if found:
                    self._declared.setdefault(found[1], folder_of(path))
        return self._declared


def _package_name(package: str) -> str:
    """The name a package most likely declares: its folder's, without a version and without `go-`."""
    parts = package.rsplit("/", 2)
    last = parts[-2] if len(parts) > 1 and _VERSION.fullmatch(parts[-1]) else parts[-1]
    last = _DOTTED_VERSION.sub("", last)
    return last.removeprefix("go-").removesuffix("-go").replace("-", "")

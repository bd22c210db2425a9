"""Imports that name a package or namespace, which is a folder: Go, Java, Kotlin, Scala, C# and PHP."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, cached_property
from itertools import islice

from whence.graph.import_rules import (
    MAX_NAMES,
    MAX_PARTS,
    MEMBERS,
    Binding,
    PathTree,
    Rule,
    aliased,
    folder_of,
    joined,
    nearest,
    parse_json,
    quoted,
)

Leaf = tuple[tuple[str, ...], str]  # the parts of an imported name, and the local name

_GO_MODULE = re.compile(r"""^[ \t]*module[ \t]+["`]?([^\s"`]+)""", re.MULTILINE)
_GO_VERSION = re.compile(r"v[0-9]+")
_GO_DOTTED_VERSION = re.compile(r"\.v[0-9]+\Z")

_JVM_EXTENSIONS = (".java", ".kt", ".kts", ".scala", ".sc", ".groovy")
_JVM_WILDCARDS = frozenset({"*", "_", "given"})
_JVM_NAME = re.compile(r"[^\s.`;{}(),]+")
#: Names of standard packages that are just as often the folder of a source root.
_JVM_AMBIGUOUS = frozenset({"java", "kotlin", "scala", "groovy"})
_JVM_LIKELY_ROOTS = frozenset({"", "src", "main", "test", "common", "jvm"})
_JVM_ROOTS = _JVM_AMBIGUOUS | _JVM_LIKELY_ROOTS | {"classes"}
#: Namespaces that are external even if a folder here has the last part of their name.
_JVM_EXTERNAL = frozenset({"java", "javax", "kotlin", "scala", "android", "androidx", "jakarta"})
_CSHARP_EXTERNAL = frozenset({"System", "Microsoft", "Windows"})


class Go(Rule):
    """`alias "module/folder"`: the folder, by the module that each go.mod declares."""

    def bindings(self, path: str, statement: str) -> Iterator[Binding]:
        """The package, by its alias or its own name."""
        del path
        package = quoted(statement)
        files = self._files(package) if package else ()
        if not files:
            return
        words = statement.replace('"', ' "').replace("`", ' "').split()
        alias = next((word for word in words if word != "import" and not word.startswith('"')), "") if len(words) > 1 else ""
        local = "" if alias == "." else alias if alias and alias != f'"{package}' else _go_package_name(package)
        yield Binding(local, files, "")

    def _files(self, package: str) -> tuple[str, ...]:
        for folder in self._folders(package):
            files = tuple(path for path in self._tree.sources(folder, (".go",)) if not path.endswith("_test.go"))
            if files:
                return files
        return ()

    def _folders(self, package: str) -> Iterator[str]:
        prefix = package
        while prefix:
            if prefix in self._modules:
                yield f"{self._modules[prefix]}{package[len(prefix) :]}".lstrip("/")
            prefix = prefix.rpartition("/")[0]
        yield f"vendor/{package}"
        if not self._modules and "." in package.partition("/")[0]:  # `host/owner/repository/folder`
            yield "/".join(package.split("/")[3:])

    @cached_property
    def _modules(self) -> dict[str, str]:
        """The folder of each module, by the name that its go.mod declares."""
        found = [(_GO_MODULE.search(self._tree.text(path)), folder_of(path)) for path in self._tree.ending("go.mod")]
        return {module[1]: folder for module, folder in reversed(found) if module}


def _go_package_name(package: str) -> str:
    """The name a package most likely declares: its folder's, without a version and without `go-`."""
    parts = package.rsplit("/", 2)
    last = parts[-2] if len(parts) > 1 and _GO_VERSION.fullmatch(parts[-1]) else parts[-1]
    return _GO_DOTTED_VERSION.sub("", last).removeprefix("go-").removesuffix("-go").replace("-", "")


class Jvm(Rule):
    """`import a.b.C`: files and folders whose path ends with the package, in any source root."""

    def __init__(self, tree: PathTree, *, is_loose: bool = False) -> None:
        super().__init__(tree)
        self._is_loose = is_loose  # folders may leave out the prefix that all packages share, as in Kotlin
        self._package = cache(self._package_files)

    def bindings(self, path: str, statement: str) -> Iterator[Binding]:
        """Each imported name, or for a wildcard the whole package."""
        del path
        text = statement.removeprefix("import").strip().removeprefix("static ")
        for names, local in islice(_jvm_leaves(text), MAX_NAMES):
            if names:
                yield from self._leaf(names, local)

    def _leaf(self, names: tuple[str, ...], local: str) -> Iterator[Binding]:
        is_wildcard = names[-1] in _JVM_WILDCARDS
        names = names[:-1] if is_wildcard else names
        for start in range(len(names) - 1 if self._is_loose and names and names[0] not in _JVM_EXTERNAL else 1):
            found = self._resolve(names[start:], is_package=is_wildcard, least=2 if start else 1)
            if found:
                files, symbol = found
                yield Binding("" if is_wildcard else local, files, (MEMBERS if symbol else "") if is_wildcard else symbol)
                return

    def _resolve(self, names: tuple[str, ...], *, is_package: bool, least: int) -> tuple[tuple[str, ...], str] | None:
        """The files that may define a name, and its last part, which is empty for a package."""
        if is_package and (files := self._package(names)):
            return files, ""
        for size in range(len(names), max(least, len(names) - 3) - 1, -1):
            files = self._class(names[:size]) if size == len(names) or names[size - 1][0].isupper() else ()
            if files:
                return files, names[-1]
            is_member = size == len(names) - 1 or (size < len(names) and names[size][0].isupper())
            files = self._package(names[:size]) if is_member else ()
            files = tuple(path for path in files if not path.endswith(".java"))  # a Java file is named after its class
            if files:
                return files, names[-1]
        if files := self._package(names):  # Scala imports packages by name
            return files, ""
        return None

    def _class(self, names: tuple[str, ...]) -> tuple[str, ...]:
        found = [path for extension in _JVM_EXTENSIONS for path in self._tree.ending("/".join(names) + extension)]
        return tuple(_in_source_root(names, found))

    def _package_files(self, names: tuple[str, ...]) -> tuple[str, ...]:
        folders = self._tree.folders_ending("/".join(names)) if names else []
        return tuple(path for folder in _in_source_root(names, folders) for path in self._tree.sources(folder, _JVM_EXTENSIONS))


def _in_source_root(names: tuple[str, ...], paths: list[str]) -> list[str]:
    """The paths whose package begins in a source root, or else all: `org/a/b` is not package `a.b` if that exists too.

    A path that ends in `java/util` may be a source root with a folder in it, not a package of the standard library.
    """
    if not paths:
        return paths
    roots = [(path.rsplit("/", len(names))[0].rpartition("/")[2] if path.count("/") >= len(names) else "", path) for path in paths]
    if names[0] in _JVM_AMBIGUOUS:
        return [path for root, path in roots if not root or root in _JVM_ROOTS - _JVM_LIKELY_ROOTS]
    return [path for root, path in roots if root in _JVM_ROOTS] or paths


def _jvm_leaves(text: str) -> Iterator[Leaf]:
    """Each name of `a.b.{C, D => E, _}` or `a.B, c.D`."""
    depth, start = 0, 0
    for found in re.finditer(r"[{},]", text):
        depth += (found[0] == "{") - (found[0] == "}")
        if found[0] == "," and depth <= 0:
            yield from _jvm_group(text[start : found.start()])
            start = found.end()
    yield from _jvm_group(text[start:])


def _jvm_group(text: str) -> Iterator[Leaf]:
    head, brace, inside = text.partition("{")
    if not brace:
        yield _jvm_leaf((), head)
        return
    prefix = tuple(_JVM_NAME.findall(head))[:MAX_PARTS]
    for part in inside.replace("}", " ").split(","):
        yield _jvm_leaf(prefix, part)


def _jvm_leaf(prefix: tuple[str, ...], text: str) -> Leaf:
    there, _, here = text.replace("=>", " as ").partition(" as ")
    names = (*prefix, *_JVM_NAME.findall(there.split("//", 1)[0]))[:MAX_PARTS]
    return names, here.strip(" ;`") or (names[-1] if names else "")


class CSharp(Rule):
    """`using A.B`: folders whose path, with dots for slashes, ends with the namespace or with its end."""

    def __init__(self, tree: PathTree) -> None:
        super().__init__(tree)
        self._namespace = cache(self._files)
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
        """A namespace, whose every name becomes visible, or a type by an alias."""
        del path
        text = statement.replace(";", " ").removeprefix("global ").strip().removeprefix("using").strip()
        is_static = text.startswith("static ")
        alias, equals, name = text.removeprefix("static ").partition("=")
        name = "".join((name if equals else alias).partition("<")[0].split()).replace("global::", "")
        if not name or name.count(".") > MAX_PARTS:
            return
        files = () if is_static else self._namespace(name)
        if files:
            yield Binding(alias.strip() if equals else "", files, "")
        elif is_static or equals:
            files, last = self._type(name)
            if files:
                yield Binding("" if is_static else alias.strip(), files, MEMBERS if is_static else last)

    def _type(self, name: str) -> tuple[tuple[str, ...], str]:
        """The file named after a type, or all of its namespace."""
        namespace, _, last = name.rpartition(".")
        files = self._namespace(namespace) if namespace else ()
        return tuple(path for path in files if path.endswith(f"/{last}.cs")) or files, last

    def _files(self, name: str) -> tuple[str, ...]:
        top, ending = name.partition(".")[0], name
        while ending:
            candidates = self._by_last.get(ending.rpartition(".")[2], ())
            folders = [folder for dotted, folder in candidates if f".{dotted}".endswith(f".{ending}")]
            if folders:
                return tuple(path for folder in folders for path in self._tree.sources(folder, (".cs",)))
            ending = ending.partition(".")[2]
            if top in _CSHARP_EXTERNAL or (top not in self._components and "." not in ending):
                return ()
        return ()


class Php(Rule):
    r"""`use A\B\C` by the folders that composer.json maps namespaces to, and `require` by path."""

    def bindings(self, path: str, statement: str) -> Iterator[Binding]:
        """What a `use` or a `require` binds."""
        if not statement.startswith("use"):
            files = self._required(path, statement)
            if files:
                yield Binding("", files, "")
            return
        for name, local, is_function in islice(_php_leaves(statement[3:]), MAX_NAMES):
            if name.count("\\") <= MAX_PARTS and "/" not in name:
                yield from self._used(name, local, is_function=is_function)

    def _used(self, name: str, local: str, *, is_function: bool) -> Iterator[Binding]:
        last = name.rpartition("\\")[2]
        files = () if is_function else self._type(name)
        if files:
            yield Binding(local, files, last)
            return
        files = self._namespace(name.rpartition("\\")[0] if is_function else name)
        if files:
            yield Binding(local, files, last if is_function else "")

    def _type(self, name: str) -> tuple[str, ...]:
        files = self._tree.first(f"{path}.php" for path in self._mapped_paths(name))
        if files:
            return files
        tail = name.replace("\\", "/") + ".php"
        while "/" in tail:
            found = self._tree.ending(tail)
            if found:
                return tuple(found)
            if self._namespaces:  # composer.json maps everything of the repository: the rest is external
                return ()
            tail = tail.partition("/")[2]
        return ()

    def _namespace(self, name: str) -> tuple[str, ...]:
        folders = self._mapped_paths(name) if name else ()
        return next((files for folder in folders if (files := self._tree.sources(folder, (".php",)))), ())

    def _mapped_paths(self, name: str) -> Iterator[str]:
        """Where composer.json puts a name, the longest prefix first."""
        prefix = name
        while self._namespaces:
            for folder in self._namespaces.get(prefix, ()):
                yield f"{folder}/{name[len(prefix) :].strip(chr(92)).replace(chr(92), '/')}".strip("/")
            if not prefix:
                return
            prefix = prefix.rpartition("\\")[0]

    @cached_property
    def _namespaces(self) -> dict[str, list[str]]:
        """The folders of each namespace prefix."""
        folders: dict[str, list[str]] = {}
        for path in self._tree.ending("composer.json"):
            for prefix, folder in _psr4(parse_json(self._tree.text(path))):
                place = joined(folder_of(path), folder or ".")
                if place is not None:
                    folders.setdefault(prefix.strip("\\"), []).append(place)
        return folders

    def _required(self, path: str, statement: str) -> tuple[str, ...]:
        folder = folder_of(path)
        name = quoted(statement).lstrip("/")
        if not name:
            return ()
        up = statement.count("dirname") - ("__FILE__" in statement)
        place = joined(folder, "../" * max(0, up) + name)
        found = self._tree.first(way for way in (place, joined("", name)) if way is not None)
        matches = [] if found or name.startswith("..") else self._tree.ending(name.removeprefix("./"))
        return found or ((nearest(matches, folder),) if matches else ())


def _psr4(manifest: object) -> Iterator[tuple[str, str]]:
    """(prefix, folder) of the autoload sections of a composer.json."""
    for section in ("autoload", "autoload-dev"):
        rules = manifest.get(section) if isinstance(manifest, dict) else None
        table = rules.get("psr-4") if isinstance(rules, dict) else None
        for prefix, folders in table.items() if isinstance(table, dict) else ():
            for folder in folders if isinstance(folders, list) else [folders]:
                if isinstance(folder, str):
                    yield prefix, folder


def _php_leaves(text: str) -> Iterator[tuple[str, str, bool]]:
    r"""Each name of `A\{B, C as D}` or `A, B as C`, its local name, and whether it is a function or constant."""
    text = text.replace(";", " ").strip()
    kind = text.partition(" ")[0] if text.startswith(("function ", "const ")) else ""
    head, brace, inside = text[len(kind) :].partition("{")
    prefix = head.strip() if brace else ""
    for part in (inside.replace("}", " ") if brace else head).split(","):
        name, local = aliased(part)
        is_function = bool(kind) or part.split()[:1] in (["function"], ["const"])
        name = (prefix + name).strip("\\")
        if name and name != prefix:
            yield name, local.rpartition("\\")[2], is_function

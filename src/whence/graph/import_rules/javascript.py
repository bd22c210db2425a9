"""Imports of JavaScript and TypeScript: paths, aliases of tsconfig.json, packages of the workspace."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property

from whence.graph.import_rules import Binding, PathTree, Rule, aliased, folder_of, joined, parse_json, upward

#: Folders that a build writes; the sources are in `src`.
_BUILD_FOLDERS = frozenset({"dist", "build", "lib", "out", "es", "esm", "cjs", "types"})
_BUILD_EXTENSIONS = (".d.ts", ".d.mts", ".d.cts", ".js", ".mjs", ".cjs")
_CONFIGURATION = re.compile(r"jsconfig\.json|tsconfig.*\.json", re.DOTALL)
_ENTRY_FIELDS = ("source", "types", "typings", "module", "main")
#: At most so many values of a map of exports are read, and so many tsconfig files that extend one another.
MAX_TARGETS = 50
MAX_EXTENDED = 20


@dataclass(frozen=True, slots=True)
class _Aliases:
    """`baseUrl` and `paths` of a tsconfig.json."""

    base: str | None = None
    patterns: tuple[tuple[str, tuple[str, ...]], ...] = ()  # `@/*` and the paths it stands for, longest prefix first


class _Packages:
    """The aliases and workspace packages of a repository."""

    def __init__(self, tree: PathTree) -> None:
        self._tree = tree
        self._aliases_in, self._manifest = cache(self._find_aliases), cache(self._read_manifest)

    def candidates(self, folder: str, name: str) -> Iterator[str]:
        """The paths that a module name may stand for, likeliest first; extensions may be missing."""
        if name.startswith("#"):
            yield from self._subpath_imports(folder, name)
        for aliases in self._aliases_for(folder):
            for pattern, places in aliases.patterns:
                if (middle := _middle(pattern, name)) is not None:
                    yield from (place.replace("*", middle, 1) for place in places)
        yield from self._in_workspace(name)
        for aliases in self._aliases_for(folder):
            path = joined(aliases.base, name) if aliases.base is not None else None
            if path is not None:
                yield path

    # Aliases.
    def _aliases_for(self, folder: str) -> tuple[_Aliases, ...]:
        """The aliases of the nearest folder that has a configuration with any."""
        return next((found for up in upward(folder) if (found := self._aliases_in(up))), ())

    def _find_aliases(self, folder: str) -> tuple[_Aliases, ...]:
        paths = [path for path in self._tree.sources(folder, (".json",)) if _CONFIGURATION.fullmatch(path.rpartition("/")[2])]
        paths.sort(key=lambda path: (not path.endswith(("tsconfig.json", "jsconfig.json")), path))
        found = [self._read_aliases(path, set()) for path in paths]
        return tuple(one for one in dict.fromkeys(found) if one.patterns or one.base is not None)

    def _read_aliases(self, path: str, seen: set[str]) -> _Aliases:
        if path in seen or len(seen) >= MAX_EXTENDED:
            return _Aliases()
        seen.add(path)
        configuration = _table(parse_json(self._tree.text(path)))
        options = _table(configuration.get("compilerOptions"))
        inherited = _Aliases()
        for other in self._extended(path, configuration.get("extends")):
            above = self._read_aliases(other, seen)
            inherited = _Aliases(inherited.base if above.base is None else above.base, above.patterns or inherited.patterns)
        folder = folder_of(path)
        base_url = options.get("baseUrl")
        base = joined(folder, base_url) if isinstance(base_url, str) else inherited.base
        paths = options.get("paths")
        if not isinstance(paths, dict):
            return _Aliases(base, inherited.patterns)
        return _Aliases(base, _patterns(paths, base if isinstance(base_url, str) and base is not None else folder))

    def _extended(self, path: str, value: object) -> Iterator[str]:
        for name in value if isinstance(value, list) else [value]:
            if not isinstance(name, str) or not name:
                continue
            candidates = [joined(folder_of(path), name)] if name.startswith(".") else list(self._in_workspace(name))
            for one in candidates:
                found = self._tree.first((f"{one}", f"{one}.json", f"{one}/tsconfig.json".lstrip("/")))
                if found:
                    yield found[0]
                    break

    # Packages.
    def _in_workspace(self, name: str) -> Iterator[str]:
        parts = name.split("/", 2 if name.startswith("@") else 1)
        size = 2 if name.startswith("@") else 1
        package, rest = "/".join(parts[:size]), "/".join(parts[size:])
        folder = self._package_folders.get(package)
        if folder is None:
            return
        manifest = self._manifest(folder)
        exports = _table(manifest.get("exports"))
        if not any(key.startswith(".") for key in exports):  # one path, or conditions, for the whole package
            exports = {".": manifest.get("exports")}
        targets = list(_mapped(exports, f"./{rest}" if rest else "."))
        if not rest:
            targets += [value for field in _ENTRY_FIELDS if isinstance(value := manifest.get(field), str)]
        usual = (rest, f"src/{rest}", f"lib/{rest}") if rest else ("index", "src/index", "lib/index")
        paths = (joined(folder, target) for target in (*_with_sources(targets), *usual))
        yield from (path for path in paths if path is not None)

    def _subpath_imports(self, folder: str, name: str) -> Iterator[str]:
        """`#name`, by the `imports` map of the package that the folder is in."""
        for up in upward(folder):
            if f"{up}/package.json".lstrip("/") in self._tree.files:
                table = _table(self._manifest(up).get("imports"))
                paths = (joined(up, target) for target in _with_sources(_mapped(table, name)))
                yield from (path for path in paths if path is not None)
                return

    @cached_property
    def _package_folders(self) -> dict[str, str]:
        """The folder of each package of the workspace, by name."""
        folders: dict[str, str] = {}
        for path in sorted(self._tree.ending("package.json"), key=lambda path: (path.count("/"), path)):
            name = self._manifest(folder_of(path)).get("name")
            if isinstance(name, str) and name:
                folders.setdefault(name, folder_of(path))
        return folders

    def _read_manifest(self, folder: str) -> dict[str, object]:
        return _table(parse_json(self._tree.text(f"{folder}/package.json".lstrip("/"))))


def _table(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}


def _patterns(paths: dict[object, object], folder: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
    found = []
    for pattern, targets in paths.items():
        relative = [target for target in targets if isinstance(target, str)] if isinstance(targets, list) else []
        places = [place for target in relative if (place := joined(folder, target)) is not None]
        if isinstance(pattern, str) and places:
            found.append((pattern, tuple(places)))
    found.sort(key=lambda one: (-len(one[0].partition("*")[0]), one[0]))
    return tuple(found)


def _middle(pattern: str, name: str) -> str | None:
    """What the star of a pattern stands for in a name; None if the name does not match."""
    before, star, after = pattern.partition("*")
    if not star:
        return "" if name == pattern else None
    fits = len(name) >= len(before) + len(after) and name.startswith(before) and name.endswith(after)
    return name[len(before) : len(name) - len(after)] if fits else None


def _mapped(table: dict[str, object], key: str) -> Iterator[str]:
    """The paths that a map of exports or imports has for a key, under any condition."""
    for pattern, value in sorted(table.items(), key=lambda item: -len(item[0].partition("*")[0])):
        middle = _middle(pattern, key)
        if middle is not None:
            yield from (target.replace("*", middle) for target in _strings(value))


def _strings(value: object) -> Iterator[str]:
    left, count = [value], 0
    while left and count < MAX_TARGETS:
        one = left.pop()
        count += 1
        if isinstance(one, str):
            yield one
        elif isinstance(one, dict):
            left += list(one.values())[::-1]
        elif isinstance(one, list):
            left += one[::-1]


def _with_sources(paths: Iterable[str]) -> Iterator[str]:
    """Paths, each followed by the sources it may be built from."""
    for path in dict.fromkeys(paths):
        yield path
        parts = path.removeprefix("./").split("/")
        built = next((at for at, part in enumerate(parts) if part not in _BUILD_FOLDERS), len(parts))
        if 0 < built < len(parts):
            inside = "/".join(parts[built:])
            stem = next((inside.removesuffix(one) for one in _BUILD_EXTENSIONS if inside.endswith(one)), inside)
            yield from (f"src/{stem}", stem)


_FROM = re.compile(r"""\bfrom\s*(["'])([^"']*)\1""")
_BARE = re.compile(r"""\s*import\s*(["'])([^"']*)\1""")
_CALL = re.compile(r"""\b(?:require|import)\s*\(\s*(["'`])([^"'`]*)\1\s*\)""")
_MEMBER = re.compile(r"\s*\.\s*([^\W\d]\w*)")
_COMMENT = re.compile(r"/\*(?:.*?\*/|.*)", re.DOTALL)
_IDENTIFIER = re.compile(r"[^\W\d][\w$]*|\$[\w$]*")
_SCRIPTS = (".ts", ".tsx", ".d.ts", ".js", ".jsx", ".mjs", ".cjs", ".mts", ".cts")
_EXTENSIONS = (*_SCRIPTS, ".vue", ".svelte", ".json")
#: Source extensions that a written extension may stand for.
_SOURCE_EXTENSIONS = {".js": (".ts", ".tsx", ".d.ts", ".jsx"), ".jsx": (".tsx",), ".mjs": (".mts", ".d.mts"), ".cjs": (".cts", ".d.cts")}


class Script(Rule):
    """`import`, `export ... from`, `require` and `import()`: paths, aliases and workspaces."""

    def __init__(self, tree: PathTree) -> None:
        super().__init__(tree)
        self._packages = _Packages(tree)
        self._files = cache(self._find_files)

    def bindings(self, path: str, statement: str) -> Iterator[Binding]:
        """What a statement binds of the modules it names."""
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

    def _find_files(self, folder: str, name: str) -> tuple[str, ...]:
        name = name.partition("?")[0]
        if name.startswith(".") or not name:
            place = joined(folder, name) if name else None
            return () if place is None else self._file(place)
        if name.startswith("/"):
            return self._file(joined("", name.strip("/")) or "")
        return next((files for place in self._packages.candidates(folder, name) if (files := self._file(place))), ())

    def _file(self, place: str) -> tuple[str, ...]:
        """The file that a path means, which may lack its extension or have the one of the build."""
        files = self._tree.files
        if place in files:
            return (place,)
        stem, dot, extension = place.rpartition(".")
        if dot and (found := self._tree.first(stem + one for one in _SOURCE_EXTENSIONS.get(dot + extension, ()))):
            return found
        found = self._tree.first(place + one for one in _EXTENSIONS)
        if found or (place and place not in self._tree.folders):
            return found
        inside = f"{place}/index" if place else "index"
        return self._tree.first(inside + one for one in _EXTENSIONS)


def _clause(text: str, files: tuple[str, ...]) -> Iterator[Binding]:
    """What is between `import` and `from`: `type A, { b as c, type D }`, `* as e`, `*`."""
    text = text.strip()
    if text.startswith("type") and text[4:5] in (" ", "{", "*") and text[4:].strip():
        text = text[4:]
    before, _, braced = text.partition("{")
    for part in before.split(","):
        there, here = aliased(part)
        if there == "*":
            yield Binding("" if here == "*" else here, files, "")
        elif there:
            yield from _default(here, files)
    for part in braced.partition("}")[0].split(","):
        there, here = (name.strip("\"'") for name in aliased(part))
        if there == "default":
            yield from _default(here, files)
        elif there:
            yield Binding(here, files, there)


def _default(local: str, files: tuple[str, ...]) -> Iterator[Binding]:
    """A default export usually has the local name in its own file too; a component or a JSON file is the file itself."""
    if files[0].endswith(_SCRIPTS):
        yield Binding(local, files, "default")
        if local != "default":
            yield Binding(local, files, local)
    else:
        yield Binding(local, files, "")


def _assigned(before: str, files: tuple[str, ...], member: str) -> Iterator[Binding]:
    """The names that the value of a call is assigned to: `const a =`, `const { b, c: d } =`."""
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
    yield Binding(local, files, local)  # a module may export only that


def _without_comments(text: str) -> str:
    """A text with blanks for comments; one that is never closed extends to the end, so nothing is read twice."""
    return _COMMENT.sub(" ", text)

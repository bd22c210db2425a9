"""Where names that are no paths lead in JavaScript and TypeScript: aliases of tsconfig.json, packages of the workspace."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from whence.index.import_rules.json_text import read_json
from whence.index.import_rules.tree import Tree, folder_of, joined, upward

#: Folders that a build writes; their sources lie in `src`.
_BUILT = frozenset({"dist", "build", "lib", "out", "es", "esm", "cjs", "types"})
_BUILT_ENDINGS = (".d.ts", ".d.mts", ".d.cts", ".js", ".mjs", ".cjs")
_ENTRY_FIELDS = ("source", "types", "typings", "module", "main")
#: Values in a map of exports, and files that extend one another, beyond which nothing is looked at.
MOST_TARGETS = 50
MOST_EXTENDED = 20


@dataclass(frozen=True, slots=True)
class Aliases:
    """What one configuration says of names: a folder they may begin in, and patterns with their places."""

    base: str | None = None
    patterns: tuple[tuple[str, tuple[str, ...]], ...] = ()  # `@/*` and the paths it stands for, the longest beginning first


class ScriptPackages:
    """Aliases and workspace packages of a repository, read when the first name asks for them."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._aliases: dict[str, tuple[Aliases, ...]] = {}
        self._named: dict[str, str] | None = None
        self._manifests: dict[str, dict[str, object]] = {}

    def places(self, folder: str, name: str) -> Iterator[str]:
        """The paths that a name may stand for, the likeliest first; extensions may be missing."""
        if name.startswith("#"):
            yield from self._own_imports(folder, name)
        for aliases in self._configured(folder):
            yield from _substituted(aliases.patterns, name)
        yield from self._in_workspace(name)
        for aliases in self._configured(folder):
            place = joined(aliases.base, name) if aliases.base is not None else None
            if place is not None:
                yield place

    # Aliases.
    def _configured(self, folder: str) -> tuple[Aliases, ...]:
        known = self._aliases.get(folder)
        if known is None:
            held = [path for path in self._tree.sources(folder, (".json",)) if _is_configuration(path.rpartition("/")[2])]
            held.sort(key=lambda path: (not path.endswith(("tsconfig.json", "jsconfig.json")), path))
            found = [self._read(path, set()) for path in held]
            here = tuple(one for one in dict.fromkeys(found) if one.patterns or one.base is not None)
            known = here or (self._configured(folder_of(folder)) if folder else ())
            self._aliases[folder] = known
        return known

    def _read(self, path: str, seen: set[str]) -> Aliases:
        if path in seen or len(seen) >= MOST_EXTENDED:
            return Aliases()
        seen.add(path)
        written = _table(read_json(self._tree.text(path)))
        options = _table(written.get("compilerOptions"))
        inherited = Aliases()
        for other in self._extended(path, written.get("extends")):
            above = self._read(other, seen)
            inherited = Aliases(inherited.base if above.base is None else above.base, above.patterns or inherited.patterns)
        folder = folder_of(path)
        base = options.get("baseUrl")
        start = joined(folder, base) if isinstance(base, str) else inherited.base
        paths = options.get("paths")
        if not isinstance(paths, dict):
            return Aliases(start, inherited.patterns)
        return Aliases(start, _patterns(paths, start if isinstance(base, str) and start is not None else folder))

    def _extended(self, path: str, value: object) -> Iterator[str]:
        for name in value if isinstance(value, list) else [value]:
            if not isinstance(name, str) or not name:
                continue
            places = [joined(folder_of(path), name)] if name.startswith(".") else list(self._in_workspace(name))
            for place in places:
                found = self._tree.first((f"{place}", f"{place}.json", f"{place}/tsconfig.json".lstrip("/")))
                if found:
                    yield found[0]
                    break

    # Packages.
    def _in_workspace(self, name: str) -> Iterator[str]:
        parts = name.split("/", 2 if name.startswith("@") else 1)
        size = 2 if name.startswith("@") else 1
        package, rest = "/".join(parts[:size]), "/".join(parts[size:])
        folder = self._packages().get(package)
        if folder is None:
            return
        manifest = self._manifest(folder)
        exports = _table(manifest.get("exports"))
        if not any(key.startswith(".") for key in exports):  # one path, or conditions, for the package as a whole
            exports = {".": manifest.get("exports")}
        written = list(_mapped(exports, f"./{rest}" if rest else "."))
        if not rest:
            written += [value for field in _ENTRY_FIELDS if isinstance(value := manifest.get(field), str)]
        for place in (*_with_sources(written), *((rest, f"src/{rest}", f"lib/{rest}") if rest else ("index", "src/index", "lib/index"))):
            way = joined(folder, place)
            if way is not None:
                yield way

    def _own_imports(self, folder: str, name: str) -> Iterator[str]:
        for up in upward(folder):
            if f"{up}/package.json".lstrip("/") in self._tree.files:
                table = _table(self._manifest(up).get("imports"))
                ways = (joined(up, place) for place in _with_sources(_mapped(table, name)))
                yield from (way for way in ways if way is not None)
                return

    def _packages(self) -> dict[str, str]:
        if self._named is None:
            self._named = {}
            for path in sorted(self._tree.ending("package.json"), key=lambda path: (path.count("/"), path)):
                name = self._manifest(folder_of(path)).get("name")
                if isinstance(name, str) and name:
                    self._named.setdefault(name, folder_of(path))
        return self._named

    def _manifest(self, folder: str) -> dict[str, object]:
        known = self._manifests.get(folder)
        if known is None:
            known = self._manifests[folder] = _table(read_json(self._tree.text(f"{folder}/package.json".lstrip("/"))))
        return known


def _table(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}


def _is_configuration(name: str) -> bool:
    return name == "jsconfig.json" or (name.startswith("tsconfig") and name.endswith(".json"))


def _patterns(paths: dict[object, object], folder: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
    found = []
    for pattern, targets in paths.items():
        written = targets if isinstance(targets, list) else []
        places = [place for one in written if isinstance(one, str) and (place := joined(folder, one)) is not None]
        if isinstance(pattern, str) and places:
            found.append((pattern, tuple(places)))
    found.sort(key=lambda one: (-len(one[0].partition("*")[0]), one[0]))
    return tuple(found)


def _substituted(patterns: Iterable[tuple[str, tuple[str, ...]]], name: str) -> Iterator[str]:
    for pattern, places in patterns:
        middle = _middle(pattern, name)
        if middle is not None:
            yield from (place.replace("*", middle, 1) for place in places)


def _middle(pattern: str, name: str) -> str | None:
    """What the star of a pattern stands for in a name; None when the two do not fit."""
    before, star, after = pattern.partition("*")
    if not star:
        return "" if name == pattern else None
    fits = len(name) >= len(before) + len(after) and name.startswith(before) and name.endswith(after)
    return name[len(before) : len(name) - len(after)] if fits else None


def _mapped(table: dict[str, object], key: str) -> Iterator[str]:
    """The paths that a map of exports or imports gives a key, for whatever condition."""
    for pattern, value in sorted(table.items(), key=lambda item: -len(item[0].partition("*")[0])):
        middle = _middle(pattern, key)
        if middle is not None:
            yield from (target.replace("*", middle) for target in _strings(value))


def _strings(value: object) -> Iterator[str]:
    left, count = [value], 0
    while left and count < MOST_TARGETS:
        one = left.pop()
        count += 1
        if isinstance(one, str):
            yield one
        elif isinstance(one, dict):
            left += list(one.values())[::-1]
        elif isinstance(one, list):
            left += one[::-1]


def _with_sources(written: Iterable[str]) -> Iterator[str]:
    """Paths, each followed by the source that it is built from."""
    for path in dict.fromkeys(written):
        yield path
        parts = path.removeprefix("./").split("/")
        built = next((at for at, part in enumerate(parts) if part not in _BUILT), len(parts))
        if 0 < built < len(parts):
            inside = "/".join(parts[built:])
            stem = next((inside.removesuffix(one) for one in _BUILT_ENDINGS if inside.endswith(one)), inside)
            yield from (f"src/{stem}", stem)

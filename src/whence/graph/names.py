"""Which symbols a name means, and completion of names.

A name is looked up exactly as written, and ignoring case only if that finds
nothing. An unknown name is an error: it never gets another symbol's answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from heapq import nlargest

import numpy as np

from whence.core.errors import UsageError
from whence.graph.reader import Graph
from whence.storage.arrayfile import Array

#: How many candidates an error lists, and how many similar names.
MAX_LISTED = 20
MAX_SUGGESTIONS = 3
#: Bounds on the time a misspelt name takes: names compared letter by letter, and definitions of each.
_MAX_COMPARED, _MAX_DEFINITIONS = 400, 20
_MIN_SIMILARITY = 0.55
_WITH_LINE = re.compile(r"(?P<path>.+):(?P<line>[0-9]{1,9})", re.DOTALL)
_SEPARATORS = re.compile(r"::|\\")
#: The root of a crate in Rust, which is in no path.
_CRATE = "crate."
#: Languages that declare in headers what other files define.
_WITH_HEADERS = frozenset({"c", "cpp"})
_HEADERS = (".h", ".hh", ".hpp", ".hxx")
#: How many completions are offered.
MAX_COMPLETIONS = 20


@dataclass(frozen=True, slots=True)
class NamedSymbol:
    """All definitions of one qualified name in one file, or an endpoint."""

    key: str
    name: str  # as its language writes it; empty for code outside any definition
    kind: str
    path: str
    line: int
    nodes: tuple[int, ...]
    case_differs: bool = False  # it matches the given name only ignoring case


class SymbolNames:
    """Looks up names in one graph."""

    def __init__(self, graph: Graph) -> None:
        self._graph, self._symbols, self._snapshot = graph, graph.symbols, graph.symbols.snapshot

    def resolve(self, text: str) -> list[NamedSymbol]:
        """Every symbol that a name may mean, by path and line. UsageError with similar names if there is none."""
        found = self.find(text)
        if not found:
            near = self.similar(text)
            raise UsageError(f"no such symbol: {text!r}" + (f"; nearest: {', '.join(near)}" if near else ""))
        return found

    @staticmethod
    def single(text: str, found: Sequence[NamedSymbol]) -> NamedSymbol:
        """The one symbol found for a name. UsageError that lists them if there are several."""
        if len(found) > 1:
            raise UsageError(f"{len(found)} symbols are called {text!r}; write one of these:\n" + "\n".join(candidate_lines(found)))
        return found[0]

    def find(self, text: str) -> list[NamedSymbol]:
        """Every symbol that a name may mean; empty if there is none."""
        name = text.strip().removesuffix("()")
        if name in self._graph.endpoints:
            node = self._symbols.units + self._graph.endpoints.index(name)
            return [NamedSymbol(name, name, name.partition(":")[0], "", 0, (node,))]
        with_line = _WITH_LINE.fullmatch(name)
        if with_line and (files := self._files(with_line["path"])):
            return self._grouped(self._at_line(file, int(with_line["line"]), with_line["path"]) for file in files)
        path, mark, in_file = name.partition("#")
        if mark and (files := self._files(path)):
            return self._in_files(files, _dotted(in_file))
        for spelling in dict.fromkeys((_dotted(name), _dotted(name.replace("#", ".")))):
            found = self._anywhere(spelling)
            if found:
                return found
        return []

    # Where to look.
    def _files(self, path: str) -> list[int]:
        """The files with a path, or whose path ends so."""
        path = path.removeprefix("./").strip("/")
        rows = self._symbols.file_row
        return [rows[path]] if path in rows else [row for known, row in rows.items() if known.endswith("/" + path)]

    def _units(self, file: int) -> range:
        return range(int(self._snapshot.unit_starts[file]), int(self._snapshot.unit_starts[file + 1]))

    def _at_line(self, file: int, line: int, path: str) -> int:
        """The innermost unit at a line."""
        first, last = self._snapshot.column("units.first"), self._snapshot.column("units.last")
        around = [unit for unit in self._units(file) if first[unit] <= line <= last[unit]]
        if not around:
            raise UsageError(f"{path} has nothing at line {line}")
        return min(around, key=lambda unit: int(last[unit]) - int(first[unit]))

    def _in_files(self, files: Sequence[int], name: str) -> list[NamedSymbol]:
        """Symbols of some files by full name, else by the end of it, else ignoring case; no name means the code around them."""
        units = [unit for file in files for unit in self._units(file)]
        if not name:
            return self._grouped(unit for unit in units if not self._symbols.defines[unit])
        named = [(unit, _dotted(self._symbols.qualified_name(unit))) for unit in units if self._symbols.defines[unit]]
        found = [unit for unit, own in named if own == name] or [unit for unit, own in named if _ends_with(own, name)]
        if found:
            return self._grouped(found)
        folded = self._grouped(unit for unit, own in named if _ends_with(own.casefold(), name.casefold()))
        return [replace(one, case_differs=True) for one in folded]

    def _anywhere(self, name: str) -> list[NamedSymbol]:
        parts = name.split(".")
        ends = [end for at in range(len(parts)) if (end := ".".join(parts[at:]))]
        exact = [unit for end in ends for unit in self._snapshot.definitions(end).tolist() if self._matches(unit, name)]
        if exact:  # what is local to a function does not make the name of anything else ambiguous
            return self._grouped([unit for unit in exact if self._symbols.function[unit] < 0] or exact)
        folded = {end.casefold() for end in ends}
        spellings = sorted(known for known in self._all_names if known.casefold() in folded)
        units = [unit for spelling in spellings for unit in self._snapshot.definitions(spelling).tolist()]
        found = self._grouped(unit for unit in units if self._matches(unit, name, ignore_case=True))
        return [replace(one, case_differs=True) for one in found]

    def _matches(self, unit: int, name: str, *, ignore_case: bool = False) -> bool:
        """Whether a name is the end of a unit's full name: types around it, then its file, then folders."""
        own = _dotted(self._symbols.qualified_name(unit))
        if _ends_with(own, name):
            return True
        folder, _, file = self._snapshot.path(int(self._symbols.file[unit])).rpartition("/")
        folders = folder.replace("/", ".")
        full = (f"{folders}.{file.rpartition('.')[0]}.{own}", f"{folders}.{own}")
        return any(_ends_with(one.casefold(), name.casefold()) if ignore_case else _ends_with(one, name) for one in full)

    # Symbols from units.
    def _grouped(self, units: Iterable[int]) -> list[NamedSymbol]:
        groups: dict[str, list[int]] = {}
        for unit in sorted(set(units)):
            groups.setdefault(self._symbols.key(unit), []).append(unit)
        self._merge_constructors(groups)
        self._merge_declarations(groups)
        found = (_named_symbol(self._graph, key, rows) for key, rows in groups.items())
        return sorted(found, key=lambda one: (one.path, one.line, one.key))

    def _merge_constructors(self, groups: dict[str, list[int]]) -> None:
        """A constructor named after its type is not a second meaning of that name."""
        key_of = {unit: key for key, units in groups.items() for unit in units}
        for key, units in list(groups.items()):
            owner = key_of.get(int(self._symbols.owner[units[0]]), key)
            if owner != key and self._symbols.name[units[0]] == self._symbols.name[groups[owner][0]]:
                groups[owner] += groups.pop(key)

    def _merge_declarations(self, groups: dict[str, list[int]]) -> None:
        """A declaration in a header and its only definition are one symbol, with the key of the definition."""
        by_name: dict[str, list[str]] = {}
        for key, units in groups.items():
            if self._snapshot.languages[int(self._symbols.file[units[0]])] in _WITH_HEADERS:
                by_name.setdefault(key.partition("#")[2], []).append(key)
        for keys in by_name.values():
            headers = [key for key in keys if key.partition("#")[0].endswith(_HEADERS)]
            sources = [key for key in keys if key not in headers]
            if len(sources) == 1:
                for key in headers:
                    groups[sources[0]] += groups.pop(key)

    # Unknown names.
    @cached_property
    def _all_names(self) -> set[str]:
        """The name of every live definition."""
        return set(_definition_names(self._graph, self._symbols.defines).values())

    def similar(self, text: str) -> list[str]:
        """Names that are spelt like an unknown one."""
        from difflib import SequenceMatcher, get_close_matches  # noqa: PLC0415  -- only for an error

        name = _dotted(text.partition("#")[2] or text)
        last = name.rpartition(".")[2] or name
        close = get_close_matches(last, sorted(_with_common_pairs(last, self._all_names)), _MAX_DEFINITIONS, _MIN_SIMILARITY)
        ratings: dict[str, float] = {}
        for unit in (unit for one in close for unit in self._snapshot.definitions(one)[:_MAX_DEFINITIONS].tolist()):
            written = self._symbols.written_name(unit)
            own = written if "." in name else self._snapshot.unit_name(unit)
            ratings[written] = SequenceMatcher(None, name.casefold(), own.casefold()).ratio()
        return nlargest(MAX_SUGGESTIONS, ratings, key=lambda one: (ratings[one], -len(one)))


def candidate_lines(found: Sequence[NamedSymbol]) -> Iterator[str]:
    """Candidates as lines: key, kind, path and line."""
    width = max(len(one.key) for one in found[:MAX_LISTED])
    for one in found[:MAX_LISTED]:
        yield f"  {one.key:<{width}}  {one.kind:<9}  {one.path}:{one.line}"
    if len(found) > MAX_LISTED:
        yield f"  and {len(found) - MAX_LISTED} more"


def _named_symbol(graph: Graph, key: str, units: Sequence[int]) -> NamedSymbol:
    symbols, snapshot, first = graph.symbols, graph.symbols.snapshot, units[0]
    path, line = snapshot.path(int(symbols.file[first])), int(snapshot.column("units.first")[first])
    return NamedSymbol(key, symbols.written_name(first), snapshot.kind(first), path, line, tuple(units))


def _definition_names(graph: Graph, chosen: Array) -> dict[int, str]:
    """The names of some units by row."""
    every = [name for segment in graph.symbols.snapshot.segments for name in segment.unit_names.all()]
    return {row: every[row] for row in np.flatnonzero(chosen).tolist()}


def _dotted(name: str) -> str:
    """A name with dots between its parts, whatever its language writes."""
    return _SEPARATORS.sub(".", name).removeprefix(_CRATE).lstrip(".") if _SEPARATORS.search(name) else name


def _ends_with(full: str, name: str) -> bool:
    return f".{full}".endswith(f".{name}")


def _with_common_pairs(name: str, names: Iterable[str]) -> list[str]:
    """The names of similar length that share the most pairs of letters with one."""
    folded = name.casefold()
    pairs = {folded[at : at + 2] for at in range(max(len(folded) - 1, 1))}
    max_difference = max(2, len(folded) // 2)
    near = (one for one in names if abs(len(one) - len(folded)) <= max_difference)

    def shared(one: str) -> float:
        other = one.casefold()
        return sum(pair in other for pair in pairs) - abs(len(one) - len(folded)) / 4

    return nlargest(_MAX_COMPARED, near, key=shared)


class Completion:
    """Completes names in one graph."""

    def __init__(self, graph: Graph) -> None:
        self._graph, self._symbols = graph, graph.symbols

    def symbols(self, text: str, limit: int = MAX_COMPLETIONS) -> list[tuple[NamedSymbol, int]]:
        """Symbols outside tests whose name is a text, starts with it or contains it, in this order, each with its uses.

        Dots separate the parts of a name: `Cart.to` finds `Cart.total`. An empty text finds the most used symbols.
        """
        path, _, name = text.strip().casefold().rpartition("#")
        scope, _, last = name.rpartition(".")
        rows: Iterable[int] = self._folded_names if not last else (unit for unit, one in self._folded_names.items() if last in one)
        units = np.array([unit for unit in rows if not (scope or path) or self._is_in(unit, scope, path)], np.int64)
        names = [self._folded_names[unit] for unit in units.tolist()]
        fit = np.array([0 if one == last or not last else 1 if one.startswith(last) else 2 for one in names], np.int64)
        order = units[np.lexsort((units, -self._graph.referrers[units], fit))]
        return self._first(order.tolist(), limit)

    @cached_property
    def _folded_names(self) -> dict[int, str]:
        """The name of every live definition outside tests, case folded."""
        names = _definition_names(self._graph, self._symbols.defines & ~self._symbols.test[self._symbols.file])
        return {row: name.casefold() for row, name in names.items()}

    def _is_in(self, unit: int, scope: str, path: str) -> bool:
        file, _, name = self._symbols.key(unit).casefold().rpartition("#")
        return file.endswith(path) and f".{name}".rpartition(".")[0].endswith(f".{scope}" if scope else "")

    def _first(self, units: list[int], limit: int) -> list[tuple[NamedSymbol, int]]:
        """The first distinct symbols of some definitions."""
        found: dict[str, tuple[NamedSymbol, int]] = {}
        for unit in units:
            key = self._symbols.key(unit)
            if key not in found:
                found[key] = _named_symbol(self._graph, key, [unit]), round(float(self._graph.referrers[unit]))
            if len(found) == limit:
                break
        return list(found.values())

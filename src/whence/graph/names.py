"""Which symbol a name means: one, several, or none and what is written nearly so.

A name is looked for exactly as it is written, and only where nothing bears it
without regard to case. What nothing bears is refused: it never gets the answer
of something else.
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

#: How many candidates a message lists.
MAX_LISTED = 20
NEAREST = 3
#: Names that are compared letter by letter, and definitions of each that are looked at: a bound on the time of a wrong name.
_COMPARED, _LOOKED_AT = 400, 20
_FARTHEST = 0.55
_WITH_LINE = re.compile(r"(?P<path>.+):(?P<line>[0-9]{1,9})", re.DOTALL)
#: What stands between the parts of a name in one language or another.
_JOINTS = re.compile(r"::|\\")
#: Where the names of a crate begin, in Rust: it is in no path.
_ROOT = "crate."
#: Languages that declare in one file what they define in another.
_WITH_HEADERS = frozenset({"c", "cpp"})
_HEADERS = (".h", ".hh", ".hpp", ".hxx")


@dataclass(frozen=True, slots=True)
class NamedSymbol:
    """A symbol: all definitions of one qualified name in one file, or a node outside the source."""

    key: str
    name: str  # as its language writes it; empty for code outside of any definition
    kind: str
    path: str
    line: int
    nodes: tuple[int, ...]
    case_differs: bool = False  # it is written in other letters, small or capital, than it was asked for


class SymbolNames:
    """Looks up names in one graph."""

    def __init__(self, graph: Graph) -> None:
        self._graph, self._symbols, self._snapshot = graph, graph.symbols, graph.symbols.snapshot

    def resolve(self, text: str) -> list[NamedSymbol]:
        """Every symbol that a name may mean, by path and line; an error that names the nearest when there is none."""
        found = self.find(text)
        if not found:
            near = self.nearest(text)
            raise UsageError(f"no such symbol: {text!r}" + (f"; nearest: {', '.join(near)}" if near else ""))
        return found

    @staticmethod
    def single(text: str, found: Sequence[NamedSymbol]) -> NamedSymbol:
        """The one symbol that was found for a name; an error that lists them when there are several."""
        if len(found) > 1:
            raise UsageError(f"{len(found)} symbols are called {text!r}; write one of these:\n" + "\n".join(candidate_lines(found)))
        return found[0]

    def find(self, text: str) -> list[NamedSymbol]:
        """Every symbol that a name may mean; none when nothing bears it."""
        wanted = text.strip().removesuffix("()")
        if wanted in self._graph.endpoints:
            node = self._symbols.units + self._graph.endpoints.index(wanted)
            return [NamedSymbol(wanted, wanted, wanted.partition(":")[0], "", 0, (node,))]
        with_line = _WITH_LINE.fullmatch(wanted)
        if with_line and (files := self._files(with_line["path"])):
            return self._grouped(self._at_line(file, int(with_line["line"]), with_line["path"]) for file in files)
        path, mark, name = wanted.partition("#")
        if mark and (files := self._files(path)):
            return self._in_files(files, _joined(name))
        for spelling in dict.fromkeys((_joined(wanted), _joined(wanted.replace("#", ".")))):
            found = self._anywhere(spelling)
            if found:
                return found
        return []

    # Where a name may stand.
    def _files(self, path: str) -> list[int]:
        """The live files of a path, or of the end of one."""
        path = path.removeprefix("./").strip("/")
        same = [row for row, known in enumerate(self._snapshot.paths) if known == path and self._snapshot.alive[row]]
        ending = "/" + path
        return same or [row for row, known in enumerate(self._snapshot.paths) if known.endswith(ending) and self._snapshot.alive[row]]

    def _units(self, file: int) -> range:
        return range(int(self._snapshot.unit_starts[file]), int(self._snapshot.unit_starts[file + 1]))

    def _at_line(self, file: int, line: int, path: str) -> int:
        """The innermost unit that holds a line."""
        first, last = self._snapshot.column("units.first"), self._snapshot.column("units.last")
        holding = [unit for unit in self._units(file) if first[unit] <= line <= last[unit]]
        if not holding:
            raise UsageError(f"{path} has nothing at line {line}")
        return min(holding, key=lambda unit: int(last[unit]) - int(first[unit]))

    def _in_files(self, files: Sequence[int], name: str) -> list[NamedSymbol]:
        """Symbols of some files: the whole name first, then its end, then without regard to case; no name is the code around them."""
        units = [unit for file in files for unit in self._units(file)]
        if not name:
            return self._grouped(unit for unit in units if not self._symbols.defines[unit])
        bearing = [(unit, _joined(self._symbols.qualified_name(unit))) for unit in units if self._symbols.defines[unit]]
        found = [unit for unit, own in bearing if own == name] or [unit for unit, own in bearing if _ends(own, name)]
        if found:
            return self._grouped(found)
        loose = self._grouped(unit for unit, own in bearing if _ends(own.casefold(), name.casefold()))
        return [replace(one, case_differs=True) for one in loose]

    def _anywhere(self, name: str) -> list[NamedSymbol]:
        parts = name.split(".")
        ends = [end for at in range(len(parts)) if (end := ".".join(parts[at:]))]
        exact = [unit for end in ends for unit in self._snapshot.definitions(end).tolist() if self._fits(unit, name)]
        if exact:
            return self._grouped(exact)
        loose = {end.casefold() for end in ends}
        written = sorted(known for known in self._all_names if known.casefold() in loose)
        units = [unit for one in written for unit in self._snapshot.definitions(one).tolist()]
        return [replace(one, case_differs=True) for one in self._grouped(unit for unit in units if self._fits(unit, name, loosely=True))]

    def _fits(self, unit: int, name: str, *, loosely: bool = False) -> bool:
        """Whether a name is the end of a unit's: what is around it may be types, then the file or its folders."""
        own = _joined(self._symbols.qualified_name(unit))
        if _ends(own, name):
            return True
        folder, _, file = self._snapshot.path(int(self._symbols.file[unit])).rpartition("/")
        folders = folder.replace("/", ".")
        whole = (f"{folders}.{file.rpartition('.')[0]}.{own}", f"{folders}.{own}")
        return any(_ends(one.casefold(), name.casefold()) if loosely else _ends(one, name) for one in whole)

    # What was found.
    def _grouped(self, units: Iterable[int]) -> list[NamedSymbol]:
        groups: dict[str, list[int]] = {}
        for unit in sorted(set(units)):
            groups.setdefault(self._symbols.key(unit), []).append(unit)
        self._join_constructors(groups)
        self._join_declarations(groups)
        return sorted((self._named(key, rows) for key, rows in groups.items()), key=lambda one: (one.path, one.line, one.key))

    def _join_constructors(self, groups: dict[str, list[int]]) -> None:
        """A constructor that bears the name of its type is no second meaning of that name."""
        of_unit = {unit: key for key, units in groups.items() for unit in units}
        for key, units in list(groups.items()):
            owner = of_unit.get(int(self._symbols.owner[units[0]]), key)
            if owner != key and self._symbols.name[units[0]] == self._symbols.name[groups[owner][0]]:
                groups[owner] += groups.pop(key)

    def _join_declarations(self, groups: dict[str, list[int]]) -> None:
        """What a header declares and one other file defines is one symbol, by the name of the definition."""
        same: dict[str, list[str]] = {}
        for key, units in groups.items():
            if self._snapshot.languages[int(self._symbols.file[units[0]])] in _WITH_HEADERS:
                same.setdefault(key.partition("#")[2], []).append(key)
        for keys in same.values():
            headers = [key for key in keys if key.partition("#")[0].endswith(_HEADERS)]
            sources = [key for key in keys if key not in headers]
            if len(sources) == 1:
                for key in headers:
                    groups[sources[0]] += groups.pop(key)

    def _named(self, key: str, units: list[int]) -> NamedSymbol:
        first = units[0]
        path = self._snapshot.path(int(self._symbols.file[first]))
        line = int(self._snapshot.column("units.first")[first])
        return NamedSymbol(key, self._symbols.written_name(first), self._snapshot.kind(first), path, line, tuple(units))

    # What was not.
    @cached_property
    def _all_names(self) -> set[str]:
        """Every name that some live definition bears."""
        every = [name for segment in self._snapshot.segments for name in segment.unit_names.all()]
        return {every[row] for row in np.flatnonzero(self._symbols.defines).tolist()}

    def nearest(self, text: str) -> list[str]:
        """Names that are written much like one that nothing bears."""
        from difflib import SequenceMatcher, get_close_matches  # noqa: PLC0415  -- only where something is wrong

        wanted = _joined(text.partition("#")[2] or text)
        last = wanted.rpartition(".")[2] or wanted
        near = get_close_matches(last, sorted(_alike(last, self._all_names)), _LOOKED_AT, _FARTHEST)
        units = [unit for name in near for unit in self._snapshot.definitions(name)[:_LOOKED_AT].tolist()]
        rated: dict[str, float] = {}
        for unit in units:
            written = self._symbols.written_name(unit)
            own = written if "." in wanted else self._snapshot.unit_name(unit)
            rated[written] = SequenceMatcher(None, wanted.casefold(), own.casefold()).ratio()
        return nlargest(NEAREST, rated, key=lambda name: (rated[name], -len(name)))


def candidate_lines(found: Sequence[NamedSymbol]) -> Iterator[str]:
    """Candidates as lines: key, kind, path and line."""
    width = max(len(one.key) for one in found[:MAX_LISTED])
    for one in found[:MAX_LISTED]:
        yield f"  {one.key:<{width}}  {one.kind:<9}  {one.path}:{one.line}"
    if len(found) > MAX_LISTED:
        yield f"  and {len(found) - MAX_LISTED} more"


def _joined(name: str) -> str:
    """A name with points between its parts, whatever its language writes."""
    return _JOINTS.sub(".", name).removeprefix(_ROOT).lstrip(".") if _JOINTS.search(name) else name


def _ends(whole: str, name: str) -> bool:
    return f".{whole}".endswith(f".{name}")


def _alike(name: str, names: Iterable[str]) -> list[str]:
    """The names that share most pairs of letters with one, among those of about its length."""
    small = name.casefold()
    pairs = {small[at : at + 2] for at in range(max(len(small) - 1, 1))}
    room = max(2, len(small) // 2)
    near = (one for one in names if abs(len(one) - len(small)) <= room)

    def shared(one: str) -> float:
        folded = one.casefold()
        return sum(pair in folded for pair in pairs) - abs(len(one) - len(small)) / 4

    return nlargest(_COMPARED, near, key=shared)


MOST = 20


class Completion:
    """Completes names in one graph."""

    def __init__(self, graph: Graph) -> None:
        self._graph, self._symbols = graph, graph.symbols

    def symbols(self, text: str, most: int = MOST) -> list[tuple[NamedSymbol, int]]:
        """Symbols whose names are a text, begin with it or hold it, in this order and then the most used; each with its uses.

        Points stand between the parts of a name: `Cart.to` finds `Cart.total`. No text at all finds the most used.
        """
        path, _, name = text.strip().casefold().rpartition("#")
        around, _, last = name.rpartition(".")
        units = self._bearing(last)
        if around or path:
            units = np.array([unit for unit in units.tolist() if self._is_in(unit, around, path)], np.int64)
        fits = np.array([_fit(self._folded[unit], last) for unit in units.tolist()], np.int64)
        order = units[np.lexsort((units, -self._graph.referrers[units], fits))]
        return self._first(order.tolist(), most)

    @cached_property
    def _folded(self) -> dict[int, str]:
        """The name of every live definition outside tests, without regard to case."""
        symbols = self._symbols
        every = [name for segment in symbols.snapshot.segments for name in segment.unit_names.all()]
        return {row: every[row].casefold() for row in np.flatnonzero(symbols.defines & ~symbols.test[symbols.file]).tolist()}

    def _bearing(self, last: str) -> Array:
        """The definitions whose name holds a text."""
        found: Iterable[int] = self._folded if not last else (unit for unit, name in self._folded.items() if last in name)
        return np.fromiter(found, np.int64)

    def _is_in(self, unit: int, around: str, path: str) -> bool:
        own = self._symbols.key(unit).casefold()
        file, _, name = own.rpartition("#")
        return file.endswith(path) and f".{name}".rpartition(".")[0].endswith(f".{around}" if around else "")

    def _first(self, units: list[int], most: int) -> list[tuple[NamedSymbol, int]]:
        """The first symbols of some definitions, in their order."""
        found: dict[str, tuple[NamedSymbol, int]] = {}
        for unit in units:
            key = self._symbols.key(unit)
            if key not in found:
                found[key] = self._named(unit, key), round(float(self._graph.referrers[unit]))
            if len(found) == most:
                break
        return list(found.values())

    def _named(self, unit: int, key: str) -> NamedSymbol:
        symbols, snapshot = self._symbols, self._symbols.snapshot
        path, line = snapshot.path(int(symbols.file[unit])), int(snapshot.column("units.first")[unit])
        return NamedSymbol(key, symbols.written_name(unit), snapshot.kind(unit), path, line, (unit,))


def _fit(name: str, text: str) -> int:
    """How well a name fits: it is the text, begins with it, or holds it."""
    return 0 if name == text or not text else 1 if name.startswith(text) else 2

"""What the import statements of a file speak of, and whether they lead out of the repository."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from whence.core.types import EDGE_KINDS
from whence.graph.builder.resolve import OWN
from whence.graph.paths import edges_of
from whence.graph.reader import Graph
from whence.index.segment_writer import OF_RECEIVER, name_hash
from whence.index.symbols import scoped_key
from whence.parse.references import EXPRESSION, SUPER
from whence.storage.arrayfile import Array, unpack_strings
from whence.storage.rows import distinct, is_member
from whence.text.analyzer import WORD

_QUOTED = re.compile(r"[\"'<]([^\"'<>]+)[\"'>]")
#: Words with which statements begin, and those that mean the package at hand.
_KEYWORDS = frozenset(
    "import from use using require require_relative require_once include export package static pub type extern mod alias".split()
)
_HERE = frozenset({"crate", "self", "super"})


@dataclass(frozen=True, slots=True)
class ImportTargets:
    """The words of a file's import statements."""

    words: frozenset[str]
    inside: frozenset[str]  # those of statements that may lead to a file of the repository

    @classmethod
    def of(cls, statements: Iterable[str], places: frozenset[str]) -> ImportTargets:
        """Read statements; `places` are the names of the repository's folders and files, without case."""
        words: set[str] = set()
        inside: set[str] = set()
        for statement in statements:
            found = WORD.findall(statement)
            words.update(found)
            if _may_lead_inside(statement, found, places):
                inside.update(found)
        return cls(frozenset(words), frozenset(inside))

    def outside(self, word: str) -> bool:
        """Whether a word was imported, and from elsewhere."""
        return word in self.words and word not in self.inside


def _may_lead_inside(statement: str, words: list[str], places: frozenset[str]) -> bool:
    """Whether the module that a statement names could be here: by the end of its path, or by the first of its words."""
    quoted = _QUOTED.search(statement)
    if quoted:
        module = quoted[1]
        return module.startswith((".", "@/", "~/", "#")) or module.rstrip("/").rpartition("/")[2].partition(".")[0].casefold() in places
    first = next((word for word in words if word not in _KEYWORDS), "")
    return "from ." in statement or first in _HERE or first.casefold() in places


#: Calls that are told of one by one; the rest are counted.
MAX_SAMPLE = 1000
_CALLS = EDGE_KINDS.index("calls")


@dataclass(frozen=True, slots=True)
class UnresolvedCall:
    """A call that leads to no definition."""

    name: str
    receiver: str  # what stands before the name, or its type; empty where nothing does
    caller: str
    path: str
    line: int
    imported: bool  # an import statement of the file speaks of it
    external: bool  # and that statement leads out of the repository, as far as can be told
    definitions: int  # how many definitions of the repository bear the name

    @property
    def written(self) -> str:
        """The call as it stands in the source, nearly."""
        before = "(...)" if self.receiver == EXPRESSION else self.receiver
        return f"{before}.{self.name}" if before else self.name

    @property
    def reason(self) -> str:
        """Why it leads nowhere."""
        if self.imported:
            return "imported from outside" if self.external else "imported, and not found where it comes from"
        if self.definitions:
            return f"one of {self.definitions} of that name" if self.definitions > 1 else "may be the one of that name"
        return "not defined here"


@dataclass(frozen=True, slots=True)
class UnresolvedCalls:
    """Calls that lead nowhere: how many, how many of them out of the repository, and the first of them."""

    total: int = 0
    external: int = 0
    sample: tuple[UnresolvedCall, ...] = ()

    def without_external(self) -> UnresolvedCalls:
        """Without those that lead out of the repository: they are known to mean something else."""
        return UnresolvedCalls(self.total - self.external, 0, tuple(one for one in self.sample if not one.external))


@dataclass(frozen=True, slots=True)
class _Calls:
    """Calls as columns: the unit, the hash and the text of the name, what stands before it, the line."""

    unit: Array
    hashed: Array
    name: list[str]
    receiver: list[str]
    line: Array


class UnresolvedFinder:
    """The mentions of a snapshot that became no edge."""

    def __init__(self, graph: Graph) -> None:
        self._graph, self._symbols, self._snapshot = graph, graph.symbols, graph.symbols.snapshot
        self._imports: dict[int, ImportTargets] = {}

    def calls_of(self, units: Array) -> UnresolvedCalls:
        """What some units call that leads nowhere, by place."""
        calls = self._calls(distinct(units))
        return self._described(calls, np.flatnonzero(~self._settled(calls)).tolist())

    def calls_named(self, name: str, *, receiver: str = "") -> UnresolvedCalls:
        """Calls of a name, after one receiver or any, that lead nowhere, by place."""
        calls = self._calls(self._callers_by_name(name))
        wanted = [row for row in np.flatnonzero(~self._settled(calls)).tolist() if calls.name[row] == name]
        return self._described(calls, [row for row in wanted if receiver in ("", calls.receiver[row])])

    # Reading mentions.
    @cached_property
    def _names(self) -> list[list[str]]:
        return [unpack_strings(segment.arrays, "names").all() for segment in self._snapshot.segments]

    def _callers_by_name(self, name: str) -> Array:
        """The live units that call something of a name."""
        found = [np.empty(0, np.int64)]
        for segment, base, names in zip(self._snapshot.segments, self._snapshot.unit_bases, self._names, strict=True):
            if name in names:
                called = segment.arrays["relations.name"] == names.index(name)
                called &= (segment.arrays["relations.kind"] & ~np.uint8(OF_RECEIVER)) == _CALLS
                found.append(segment.arrays["relations.unit"][called].astype(np.int64) + base)
        units = distinct(np.concatenate(found))
        return np.asarray(units[self._snapshot.alive[self._symbols.file[units]]])

    def _calls(self, units: Array) -> _Calls:
        """All calls of some units, which must be in order."""
        columns: list[tuple[Array, Array]] = []
        name: list[str] = []
        receiver: list[str] = []
        for segment, base, names in zip(self._snapshot.segments, self._snapshot.unit_bases, self._names, strict=True):
            arrays = segment.arrays
            unit = arrays["relations.unit"].astype(np.int64) + base
            rows = np.flatnonzero(((arrays["relations.kind"] & ~np.uint8(OF_RECEIVER)) == _CALLS) & is_member(unit, units))
            columns.append((unit[rows], arrays["relations.line"][rows].astype(np.int64)))
            name += [names[row] for row in arrays["relations.name"][rows].tolist()]
            receiver += [names[row] for row in arrays["relations.receiver"][rows].tolist()]
        empty = np.empty(0, np.int64)
        unit, line = (np.concatenate(parts) for parts in zip((empty, empty), *columns, strict=True))
        return _Calls(unit, np.array([name_hash(one) for one in name], np.int64), name, receiver, line)

    def _settled(self, calls: _Calls) -> Array:
        """Which calls became edges: to something of their name, or, under another name, from their line."""
        graph, symbols = self._graph, self._symbols
        edges, _ = edges_of(graph.starts, distinct(calls.unit))
        edges = edges[(graph.kind[edges] == _CALLS) & (graph.target[edges] < symbols.units)]
        source, named = graph.source[edges], symbols.name[graph.target[edges]]
        said = scoped_key(calls.unit, calls.hashed)
        renamed = edges[~is_member(scoped_key(source, named), np.sort(said))]
        by_name = is_member(said, np.sort(scoped_key(source, named)))
        by_line = is_member(scoped_key(calls.unit, calls.line), np.sort(scoped_key(graph.source[renamed], graph.line[renamed])))
        own = OWN - {SUPER} | {""}
        itself = np.array([receiver in own for receiver in calls.receiver], bool) & (calls.hashed == symbols.name[calls.unit])
        return np.asarray(by_name | by_line | itself)

    # Telling of them.
    def _described(self, calls: _Calls, rows: list[int]) -> UnresolvedCalls:
        outside = [self._imports_of(calls, row).outside(self._spoken(calls, row)) for row in rows]
        order = sorted(range(len(rows)), key=lambda at: (outside[at], int(calls.unit[rows[at]]), int(calls.line[rows[at]])))[:MAX_SAMPLE]
        told = [self._open_call(calls, rows[at], outside=outside[at]) for at in order]
        return UnresolvedCalls(len(rows), sum(outside), tuple(sorted(told, key=lambda one: (one.path, one.line, one.written))))

    def _open_call(self, calls: _Calls, row: int, *, outside: bool) -> UnresolvedCall:
        unit = int(calls.unit[row])
        path = self._snapshot.path(int(self._symbols.file[unit]))
        caller, known = self._symbols.written_name(unit), self._definitions(int(calls.hashed[row]))
        imported = self._spoken(calls, row) in self._imports_of(calls, row).words
        return UnresolvedCall(calls.name[row], calls.receiver[row], caller, path, int(calls.line[row]), imported, outside, known)

    @staticmethod
    def _spoken(calls: _Calls, row: int) -> str:
        """The word of a call that an import statement may have made known."""
        return calls.name[row] if calls.receiver[row] in ("", EXPRESSION) else calls.receiver[row]

    @cached_property
    def _defined(self) -> Array:
        return np.sort(self._symbols.name[self._symbols.defines])

    def _definitions(self, hashed: int) -> int:
        return int(np.searchsorted(self._defined, hashed, side="right") - np.searchsorted(self._defined, hashed))

    def _imports_of(self, calls: _Calls, row: int) -> ImportTargets:
        file = int(self._symbols.file[calls.unit[row]])
        if file not in self._imports:
            self._imports[file] = ImportTargets.of(self._statements(file), self._places)
        return self._imports[file]

    def _statements(self, file: int) -> list[str]:
        """The import statements of a file."""
        base = 0
        for segment in self._snapshot.segments:
            if file < base + segment.files:
                ends, rows = segment.arrays["files.import_ends"], segment.arrays["files.import_rows"]
                texts = unpack_strings(segment.arrays, "imports")
                first = int(ends[file - base - 1]) if file > base else 0
                return [texts[row] for row in rows[first : int(ends[file - base])].tolist()]
            base += segment.files
        return []

    @cached_property
    def _places(self) -> frozenset[str]:
        """The names of all folders and files, without case and what follows the first point."""
        paths = (path for row, path in enumerate(self._snapshot.paths) if self._snapshot.alive[row])
        return frozenset(part.partition(".")[0].casefold() for path in paths for part in path.split("/"))

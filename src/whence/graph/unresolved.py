"""Calls that became no edge, and whether they lead out of the repository as far as import statements tell."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from whence.graph.reader import KIND_ROWS, Graph, edges_of
from whence.index.segment import OF_RECEIVER, name_hash
from whence.index.symbols import NameTable, scoped_key
from whence.parse.references import EXPRESSION, SELF_RECEIVERS, SUPER
from whence.storage.arrayfile import Array, unpack_strings
from whence.storage.postings import distinct, is_member
from whence.text.analyzer import WORD

#: At most so many calls are described; the rest are only counted.
MAX_SAMPLE = 1000
#: At most so many of the definitions that a call may mean are named.
MAX_CANDIDATES = 4
_QUOTED = re.compile(r"[\"'<]([^\"'<>]+)[\"'>]")
#: Words that import statements begin with, and those that mean the package itself.
_KEYWORDS = frozenset(
    "import from use using require require_relative require_once include export package static pub type extern mod alias".split()
)
_OWN_PACKAGE = frozenset({"crate", "self", "super"})
_CALLS = KIND_ROWS["calls"]


@dataclass(frozen=True, slots=True)
class _ImportedWords:
    """The words of a file's import statements."""

    all: frozenset[str]
    internal: frozenset[str]  # those of statements that may lead to a file of the repository

    @classmethod
    def of(cls, statements: Iterable[str], places: frozenset[str]) -> _ImportedWords:
        """Read statements; `places` are the names of the repository's folders and files, case folded."""
        every: set[str] = set()
        internal: set[str] = set()
        for statement in statements:
            words = WORD.findall(statement)
            every.update(words)
            if _may_be_internal(statement, words, places):
                internal.update(words)
        return cls(frozenset(every), frozenset(internal))


def _may_be_internal(statement: str, words: list[str], places: frozenset[str]) -> bool:
    """Whether the repository may have the module of a statement, by the end of its path or the first of its words."""
    quoted = _QUOTED.search(statement)
    if quoted:
        module = quoted[1]
        return module.startswith((".", "@/", "~/", "#")) or module.rstrip("/").rpartition("/")[2].partition(".")[0].casefold() in places
    first = next((word for word in words if word not in _KEYWORDS), "")
    return "from ." in statement or first in _OWN_PACKAGE or first.casefold() in places


@dataclass(frozen=True, slots=True)
class UnresolvedCall:
    """A call of something whose definition is unknown."""

    name: str
    receiver: str  # where what is before the name comes from, as `parse.values` writes it; may be empty
    caller: str
    path: str
    line: int
    imported: bool  # an import statement of the file has the word
    external: bool  # and that statement leads out of the repository, as far as can be told
    definitions: int  # how many definitions of the repository have the name
    candidates: tuple[str, ...]  # some of them, as path#name

    @property
    def written(self) -> str:
        """Roughly the call as written in the source."""
        before = "(...)" if self.receiver == EXPRESSION else self.receiver.lstrip("?:") if self.receiver != f"?{self.name}" else ""
        return f"{before}.{self.name}" if before else self.name

    @property
    def reason(self) -> str:
        """Why it is unresolved."""
        if self.external and not self.imported:
            return "defined outside"
        if self.imported:
            return "imported from outside" if self.external else "imported, and not found where it comes from"
        if self.definitions:
            some = ", ".join(self.candidates) + (", ..." if self.definitions > len(self.candidates) else "")
            return f"one of {self.definitions} of that name: {some}" if self.definitions > 1 else f"may be {some}"
        return "not defined here"


@dataclass(frozen=True, slots=True)
class UnresolvedCalls:
    """How many calls are unresolved, how many of them lead out of the repository, and some of them."""

    total: int = 0
    external: int = 0
    sample: tuple[UnresolvedCall, ...] = ()

    @property
    def open(self) -> int:
        """How many may mean something in the repository."""
        return self.total - self.external

    def without_external(self) -> UnresolvedCalls:
        """Those that lead out of the repository are counted, not described: they mean something else."""
        return UnresolvedCalls(self.total, self.external, tuple(one for one in self.sample if not one.external))


@dataclass(frozen=True, slots=True)
class _Calls:
    """Calls as columns."""

    unit: Array
    name_hash: Array
    name: list[str]
    receiver: list[str]
    line: Array

    def imported_word(self, row: int) -> str:
        """The word of a call that an import statement may have bound."""
        root = WORD.search(self.receiver[row])
        return root[0] if root else self.name[row]


class UnresolvedFinder:
    """Finds the calls of a snapshot that became no edge."""

    def __init__(self, graph: Graph) -> None:
        self._graph, self._symbols, self._snapshot = graph, graph.symbols, graph.symbols.snapshot
        self._imports: dict[int, _ImportedWords] = {}

    def calls_of(self, units: Array) -> UnresolvedCalls:
        """Unresolved calls in some units, by place."""
        calls = self._calls(distinct(units))
        return self._describe(calls, np.flatnonzero(~self._is_resolved(calls)).tolist())

    def calls_named(self, name: str, *, receiver: str = "") -> UnresolvedCalls:
        """Unresolved calls of a name, on one receiver or any, by place."""
        calls = self._calls(self._units_calling(name))
        rows = [row for row in np.flatnonzero(~self._is_resolved(calls)).tolist() if calls.name[row] == name]
        return self._describe(calls, [row for row in rows if receiver in ("", calls.receiver[row])])

    # Reading calls.
    @cached_property
    def _names(self) -> list[list[str]]:
        return [unpack_strings(segment.arrays, "names").all() for segment in self._snapshot.segments]

    def _units_calling(self, name: str) -> Array:
        """The live units that call something by a name."""
        found = [np.empty(0, np.int64)]
        for segment, base, names in zip(self._snapshot.segments, self._snapshot.unit_bases, self._names, strict=True):
            if name in names:
                is_call = segment.arrays["relations.name"] == names.index(name)
                is_call &= (segment.arrays["relations.kind"] & ~np.uint8(OF_RECEIVER)) == _CALLS
                found.append(segment.arrays["relations.unit"][is_call].astype(np.int64) + base)
        units = distinct(np.concatenate(found))
        return np.asarray(units[self._snapshot.alive[self._symbols.file[units]]])

    def _calls(self, units: Array) -> _Calls:
        """All calls in some units, which must be sorted."""
        unit, line = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        name: list[str] = []
        receiver: list[str] = []
        for segment, base, names in zip(self._snapshot.segments, self._snapshot.unit_bases, self._names, strict=True):
            arrays = segment.arrays
            in_unit = arrays["relations.unit"].astype(np.int64) + base
            rows = np.flatnonzero(((arrays["relations.kind"] & ~np.uint8(OF_RECEIVER)) == _CALLS) & is_member(in_unit, units))
            unit.append(in_unit[rows])
            line.append(arrays["relations.line"][rows].astype(np.int64))
            name += [names[row] for row in arrays["relations.name"][rows].tolist()]
            receiver += [names[row] for row in arrays["relations.receiver"][rows].tolist()]
        hashes = np.array([name_hash(one) for one in name], np.int64)
        return _Calls(np.concatenate(unit), hashes, name, receiver, np.concatenate(line))

    def _is_resolved(self, calls: _Calls) -> Array:
        """Which calls became edges: to something of their name or, under an alias, from their line."""
        graph, symbols = self._graph, self._symbols
        edges, _ = edges_of(graph.starts, distinct(calls.unit))
        edges = edges[(graph.kind[edges] == _CALLS) & (graph.target[edges] < symbols.units)]
        targets = scoped_key(graph.source[edges], symbols.name[graph.target[edges]])
        names = scoped_key(calls.unit, calls.name_hash)
        aliased = edges[~is_member(targets, np.sort(names))]
        by_name = is_member(names, np.sort(targets))
        by_line = is_member(scoped_key(calls.unit, calls.line), np.sort(scoped_key(graph.source[aliased], graph.line[aliased])))
        own = SELF_RECEIVERS - {SUPER} | {""}
        recursive = np.array([receiver in own for receiver in calls.receiver], bool) & (calls.name_hash == symbols.name[calls.unit])
        return np.asarray(by_name | by_line | recursive)

    # Describing them.
    def _describe(self, calls: _Calls, rows: list[int]) -> UnresolvedCalls:
        imports = ((self._imports_of(calls, row), calls.imported_word(row)) for row in rows)
        answered = is_member(scoped_key(calls.unit[rows], calls.name_hash[rows]), self._graph.outside_names).tolist()
        external = [
            away or (word in words.all and word not in words.internal) for away, (words, word) in zip(answered, imports, strict=True)
        ]
        order = sorted(range(len(rows)), key=lambda at: (external[at], int(calls.unit[rows[at]]), int(calls.line[rows[at]])))
        sample = [self._call(calls, rows[at], external=external[at]) for at in order[:MAX_SAMPLE]]
        return UnresolvedCalls(len(rows), sum(external), tuple(sorted(sample, key=lambda one: (one.path, one.line, one.written))))

    def _call(self, calls: _Calls, row: int, *, external: bool) -> UnresolvedCall:
        unit = int(calls.unit[row])
        path = self._snapshot.path(int(self._symbols.file[unit]))
        caller = self._symbols.written_name(unit)
        definitions, candidates = self._definitions(int(calls.name_hash[row]))
        imported = calls.imported_word(row) in self._imports_of(calls, row).all
        line = int(calls.line[row])
        return UnresolvedCall(calls.name[row], calls.receiver[row], caller, path, line, imported, external, definitions, candidates)

    @cached_property
    def _defined(self) -> NameTable:
        rows = np.flatnonzero(self._symbols.defines)
        return NameTable(self._symbols.name[rows], rows)

    @cache  # noqa: B019  -- the finder lives as long as its snapshot
    def _definitions(self, hashed: int) -> tuple[int, tuple[str, ...]]:
        """How many definitions have a name, and the keys of some."""
        _, rows = self._defined.pairs(np.array([hashed]))
        return len(rows), tuple(self._symbols.key(row) for row in rows[:MAX_CANDIDATES].tolist())

    def _imports_of(self, calls: _Calls, row: int) -> _ImportedWords:
        file = int(self._symbols.file[calls.unit[row]])
        if file not in self._imports:
            self._imports[file] = _ImportedWords.of(self._statements(file), self._places)
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
        """The names of all folders and files up to their first dot, case folded."""
        return frozenset(part.partition(".")[0].casefold() for path in self._symbols.file_row for part in path.split("/"))

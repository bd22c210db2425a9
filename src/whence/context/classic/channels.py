"""Three ways from the keywords of a task to symbols: by tiers of names (N1), by BM25 (N2), by folders (N4).

Each gives units, best first; the pipeline fuses them.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from weakref import WeakKeyDictionary

import numpy as np

from whence.context.classic.keywords import Keywords
from whence.core.profiles import ColumnWeights
from whence.core.settings import ClassicSettings
from whence.graph.reader import Graph
from whence.index.segment import IN_DIRECTORY, IN_STEM
from whence.index.snapshot import Snapshot
from whence.index.symbols import SymbolTable
from whence.parse import paths
from whence.query.concepts import name_key
from whence.query.plan import related_words
from whence.retrieval.lexical import FieldWeights, top
from whence.storage.arrayfile import Array, unpack_strings
from whence.storage.postings import ranges
from whence.text.analyzer import parts, stem
from whence.text.bm25 import idf

#: Keywords of a tier that are looked up: a pasted text has more.
MAX_KEYWORDS = 60
#: The lowest bits of a posting's code: how much of the term is in the name itself.
_IN_NAME = 7
#: Build output and copies, minified files, and support code of tests (N6).
_NOISY_PATH = re.compile(
    r"(?:^|/)(?:dist|build|vendor|node_modules|fixtures?|(?:[\w.]+[-_])?test[-_]?(?:utils?|helpers?|support))/"
    r"|\.(?:min|bundle)\.[^/]*$|(?:^|/)(?:conftest|fixtures?|test_?(?:utils?|helpers?|support))\.[^/]*$",
    re.IGNORECASE,
)
#: Mocks, by a word of their name or of their type's (N6).
_STAND_IN = re.compile(r"(?<![A-Za-z])(?:mock|fake|stub)|Mock|Fake|Stub")
SHORTEST_NAME = 3
#: Shorter names that still mean something.
SHORT_NAMES = frozenset("ID OK DB IP IO Go Do".split())
_LAST = "\U0010ffff"


class Texts:
    """Sorted texts, each with its rows."""

    def __init__(self, texts: list[str], rows: Array) -> None:
        self.all = sorted(set(texts))
        number = {text: at for at, text in enumerate(self.all)}
        place = np.array([number[text] for text in texts], np.int64)
        order = np.argsort(place, kind="stable")
        self._rows = rows[order]
        self._starts = np.searchsorted(place[order], np.arange(len(self.all) + 1))
        self._blob = "\n".join(self.all)
        self._begins = np.concatenate([[0], np.cumsum([len(text) + 1 for text in self.all])]).tolist()

    def equal(self, text: str) -> Array:
        """The rows of a text."""
        at = bisect_left(self.all, text)
        return self.rows_of(np.arange(at, at + (at < len(self.all) and self.all[at] == text)))[1]

    def beginning(self, text: str) -> Array:
        """The rows of all texts with a prefix, shortest texts first."""
        found = range(bisect_left(self.all, text), bisect_left(self.all, text + _LAST))
        return self.rows_of(np.array(sorted(found, key=lambda at: len(self.all[at])), np.int64))[1]

    def containing(self, text: str) -> Array:
        """The positions of all texts that contain one."""
        found: list[int] = []
        at = self._blob.find(text) if text else -1
        while at >= 0:
            number = bisect_right(self._begins, at) - 1
            found.append(number)
            at = self._blob.find(text, self._begins[number + 1])
        return np.array(found, np.int64)

    def rows_of(self, numbers: Array) -> tuple[Array, Array]:
        """(position in the list, row) for each row of some texts."""
        place, at = ranges(self._starts, numbers)
        return place, self._rows[at]


class NameTables:
    """The names of all live definitions, and the path segments of all live files."""

    def __init__(self, symbols: SymbolTable) -> None:
        snapshot, rows = symbols.snapshot, np.flatnonzero(symbols.defines)
        names, full = _written(symbols, rows)
        self.names = Texts([name.lower() for name in names], rows)
        self.qualified = Texts([name.lower() for name in full], rows)
        self.joined = Texts([name_key(name) for name in names], rows)
        self.noise = _noise(symbols, rows, names, full)
        files = np.flatnonzero(snapshot.alive)
        live = [snapshot.paths[file] for file in files.tolist()]
        self.stems = Texts([paths.stem(path).lower() for path in live], files)
        inside = [(folder.lower(), file) for file, path in zip(files.tolist(), live, strict=True) for folder in set(path.split("/")[:-1])]
        self.folders = Texts([folder for folder, _ in inside], np.array([file for _, file in inside], np.int64))


def _written(symbols: SymbolTable, rows: Array) -> tuple[list[str], list[str]]:
    """The names and the qualified names of some units."""
    names: list[str] = []
    scopes: list[str] = []
    for segment in symbols.snapshot.segments:
        known = unpack_strings(segment.arrays, "names").all()
        names += segment.unit_names.all()
        scopes += [known[at] for at in segment.arrays["units.scope"].tolist()]
    full = [f"{scopes[row]}.{names[row]}" if scopes[row] else names[row] for row in rows.tolist()]
    return [names[row] for row in rows.tolist()], full


def _noise(symbols: SymbolTable, rows: Array, names: list[str], full: list[str]) -> Array:
    """Units that are never returned: build output, copies, minified, test support, mocks, or meaningless names (N6)."""
    noisy = np.array([_NOISY_PATH.search(path) is not None for path in symbols.snapshot.paths], bool)
    found = noisy[symbols.file]
    for row, name, whole in zip(rows.tolist(), names, full, strict=True):
        if (len(name) < SHORTEST_NAME and name not in SHORT_NAMES) or _STAND_IN.search(whole):
            found[row] = True
    return found


_made: WeakKeyDictionary[SymbolTable, NameTables] = WeakKeyDictionary()


def tables_of(symbols: SymbolTable) -> NameTables:
    """The tables of a snapshot, built once per snapshot."""
    found = _made.get(symbols)
    if found is None:
        found = _made[symbols] = NameTables(symbols)
    return found


@dataclass(frozen=True)
class ClassicQuery:
    """A task with its keywords, and the graph and limits to search within."""

    task: str
    keywords: Keywords
    graph: Graph
    allowed: Array  # mask of the definitions that may be returned
    weights: FieldWeights
    fields: ColumnWeights
    limits: ClassicSettings

    @property
    def symbols(self) -> SymbolTable:
        """The units as symbols."""
        return self.graph.symbols

    @property
    def snapshot(self) -> Snapshot:
        """The snapshot to search."""
        return self.graph.symbols.snapshot

    @property
    def tables(self) -> NameTables:
        """The names of the index as text."""
        return tables_of(self.symbols)

    @cached_property
    def returnable(self) -> Array:
        """Which units may be returned, without noise (N6)."""
        return self.allowed & ~self.tables.noise

    @cached_property
    def components(self) -> list[str]:
        """The single words of the task in lower case, in order."""
        return _lowered(self.keywords.components)

    @cached_property
    def folder_words(self) -> list[str]:
        """Words that may name a folder."""
        return [word for word in self.components if word.isalpha() and len(word) >= self.limits.folder_letters]

    def by_importance(self, units: Array) -> Array:
        """The units that may be returned: most referenced first, tests last."""
        units = units[self.returnable[units]]
        return units[np.lexsort((-self.graph.referrers[units], self.symbols.test[self.symbols.file[units]]))]


def _lowered(words: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(word.lower() for word in words))[:MAX_KEYWORDS]


# N1: tiers of names.
class _RankedUnits:
    """Units in the order they were added, each once."""

    def __init__(self, query: ClassicQuery) -> None:
        self._query, self._units = query, dict[int, None]()

    def __len__(self) -> int:
        return len(self._units)

    def add(self, units: Array, most: int | None = None) -> None:
        for unit in self._query.by_importance(units).tolist():
            if most is not None and len(self._units) >= most:
                return
            self._units[unit] = None

    def units(self) -> Array:
        return np.array(list(self._units), np.int64)


def by_names(query: ClassicQuery) -> Array:
    """Units by tiers of names: equal, prefix, substring, path segment (N1)."""
    limits, tables = query.limits, query.tables
    found = _RankedUnits(query)
    primary = _lowered((*query.keywords.exact, *query.keywords.compounds))
    _by_name(query, primary, found)
    if len(found) < limits.components_below:
        _by_name(query, query.components, found)
    every = list(dict.fromkeys((*primary, *query.components)))
    if len(found) < limits.substring_below:
        for word in every:
            if len(word) >= limits.substring_letters:
                found.add(tables.qualified.rows_of(tables.qualified.containing(word))[1], limits.substring_most)
    if len(found) < limits.path_below:
        for word in every:
            if len(word) >= limits.path_letters:
                files = np.union1d(tables.folders.equal(word), tables.stems.equal(word))
                found.add(ranges(query.snapshot.unit_starts, files)[1], limits.path_most)
    return found.units()


def _by_name(query: ClassicQuery, words: list[str], found: _RankedUnits) -> None:
    for word in words:
        found.add(_named(query, word))
    if len(found) < query.limits.prefix_below:
        for word in words:
            table = query.tables.qualified if "." in word else query.tables.names
            found.add(table.beginning(word), query.limits.prefix_most)


def _named(query: ClassicQuery, word: str) -> Array:
    """Units with a name; a dotted one matches the end of a qualified name."""
    outer, _, name = word.rpartition(".")
    units = query.tables.names.equal(name)
    if not outer:
        return units
    full = [query.symbols.qualified_name(unit).lower() for unit in units.tolist()]
    return units[[one == word or one.endswith(f".{word}") for one in full]] if full else units


# N2: BM25.
class _Scores:
    """BM25 of every unit over the columns of I5, term after term."""

    def __init__(self, query: ClassicQuery) -> None:
        self._query, self._snapshot = query, query.snapshot
        self.total = np.zeros(query.snapshot.units, np.float32)

    def _add(self, units: Array, worth: Array | float, among: int, holding: int) -> None:
        k = self._query.fields.saturation
        self.total[units] += np.asarray(idf(among, holding) * worth / (worth + k), np.float32)

    def word(self, term: str, *, in_name: bool = False) -> None:
        """Score a term in all columns, or only in the name."""
        place = self._snapshot.find_term(term)
        rows, codes = self._snapshot.unit_postings(place)
        if in_name:
            rows, codes = rows[codes & _IN_NAME > 0], codes[codes & _IN_NAME > 0]
        worth = np.zeros(len(self.total), np.float32)
        worth[rows] = self._query.weights.worth[codes]
        if not in_name:
            files, where = self._snapshot.path_postings(place)
            at, units = ranges(self._snapshot.unit_starts, files.astype(np.int64))
            fields = self._query.fields
            bonus = np.where(where & IN_STEM, fields.stem, 0.0) + np.where(where & IN_DIRECTORY, fields.directory, 0.0)
            worth[units] += bonus[at].astype(np.float32)
        holding = np.flatnonzero(worth)
        self._add(holding, worth[holding], self._snapshot.live_units, len(holding))

    def phrase(self, text: str) -> bool:
        """Score names that contain a compound, ignoring case and underscores; returns whether there are any."""
        table, key = (self._query.tables.qualified, text) if "." in text else (self._query.tables.joined, name_key(text))
        numbers = table.containing(key)
        place, units = table.rows_of(numbers)
        share = np.array([len(key) / len(table.all[number]) for number in numbers.tolist()])
        if len(units):
            self._add(units, self._query.fields.name * share[place], self._snapshot.live_units, len(units))
        return len(units) > 0

    def path(self, word: str) -> None:
        """Score path segments that begin with a word."""
        tables, snapshot = self._query.tables, self._snapshot
        files = np.union1d(tables.folders.beginning(word), tables.stems.beginning(word))
        self._add(ranges(snapshot.unit_starts, files)[1], self._query.fields.directory, snapshot.live_files, len(files))


def by_words(query: ClassicQuery) -> Array:
    """Units by BM25 over compounds as phrases, words and related words, and prefixes of path segments (N2)."""
    scores = _Scores(query)
    for compound in {name_key(text): text for text in _lowered((*query.keywords.exact, *query.keywords.compounds))}.values():
        if not scores.phrase(compound):
            for part in dict.fromkeys(stem(part) for part in parts(compound.rpartition(".")[2])):
                scores.word(part, in_name=True)
    for left, right in pairwise(query.components):
        scores.phrase(left + right)
    said = dict.fromkeys(stem(word) for word in query.components)
    related = dict.fromkeys(other for word in said for other in sorted(related_words(word)) if other not in said)
    for term in (*said, *related):
        scores.word(term)
    for word in query.folder_words:
        scores.path(word)
    return top(scores.total, query.limits.bm25_most, query.returnable, query.snapshot.unit_order)[0]


# N4: folders.
def by_folders(query: ClassicQuery) -> Array:
    """Units in folders that the task names: types with members first, those whose members it mentions before all (N4)."""
    limits, symbols = query.limits, query.symbols
    mentioned = _members_in_task(query)
    found: dict[int, None] = {}
    for word in query.folder_words:
        files = np.unique(query.tables.folders.beginning(word))
        units = query.by_importance(ranges(query.snapshot.unit_starts, files)[1])
        types, others = units[symbols.container[units]], units[~symbols.container[units]]
        rich, lean = types[symbols.members[types] > 0], types[symbols.members[types] == 0]
        rich = rich[np.lexsort((-symbols.members[rich], -mentioned[rich]))]
        taken = (rich[: limits.folder_rich_types], lean[: limits.folder_lean_types], others[: limits.folder_others])
        found.update(dict.fromkeys(np.concatenate(taken).tolist()))
        if len(found) >= limits.folder_most:
            break
    return np.array(list(found)[: limits.folder_most], np.int64)


def _members_in_task(query: ClassicQuery) -> Array:
    """How many members of each type have a name part that begins with a word of the task."""
    known, symbols = query.snapshot.name_parts, query.symbols
    begins = np.zeros(len(known.names), bool)
    for word in query.components:
        if len(word) >= query.limits.path_letters:
            begins[bisect_left(known.names, word) : bisect_left(known.names, word + _LAST)] = True
    spoken = np.repeat(np.arange(symbols.units), np.diff(known.starts))[begins[known.parts]]
    owners = symbols.owner[np.unique(spoken)]
    return np.bincount(owners[owners >= 0], minlength=symbols.units)

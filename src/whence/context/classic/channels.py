"""Three ways from the keywords of a task to symbols: by tiers of names (N1), by BM25 (N2), by folders (N4).

Each gives units in its order, best first, and weighs nothing against the others: `seeds` does that.
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
from whence.core.settings_schema import ClassicSettings
from whence.graph.reader import Graph
from whence.index.segment_writer import IN_DIRECTORY, IN_STEM
from whence.index.snapshot import Snapshot
from whence.index.symbols import SymbolTable
from whence.parse import paths
from whence.query.concepts import name_key
from whence.query.vocabulary import related_words
from whence.retrieval.lexical import top
from whence.retrieval.term_statistics import FieldWeights
from whence.storage.arrayfile import Array, unpack_strings
from whence.storage.rows import ranges
from whence.text.analyzer import parts, stem
from whence.text.bm25 import idf

#: Of a pasted text only so many keywords of a tier are looked for.
MOST_ASKED = 60
#: The lowest bits of a posting's code: how much the name itself holds the term.
_IN_NAME = 7
#: Folders of what was built or copied, minified files, and what only serves tests (N6).
_NOISY_PATH = re.compile(
    r"(?:^|/)(?:dist|build|vendor|node_modules|fixtures?|(?:[\w.]+[-_])?test[-_]?(?:utils?|helpers?|support))/"
    r"|\.(?:min|bundle)\.[^/]*$|(?:^|/)(?:conftest|fixtures?|test_?(?:utils?|helpers?|support))\.[^/]*$",
    re.IGNORECASE,
)
#: Stand-ins, by a word of their name or of their type's (N6).
_STAND_IN = re.compile(r"(?<![A-Za-z])(?:mock|fake|stub)|Mock|Fake|Stub")
SHORTEST_NAME = 3
#: Names shorter than that which say something all the same.
SHORT_NAMES = frozenset("ID OK DB IP IO Go Do".split())
_LAST = "\U0010ffff"


class Texts:
    """Texts in order, each with the rows that bear it."""

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
        """The rows that bear a text."""
        at = bisect_left(self.all, text)
        return self.rows_of(np.arange(at, at + (at < len(self.all) and self.all[at] == text)))[1]

    def beginning(self, text: str) -> Array:
        """The rows whose text begins with one, the shortest texts first."""
        found = range(bisect_left(self.all, text), bisect_left(self.all, text + _LAST))
        return self.rows_of(np.array(sorted(found, key=lambda at: len(self.all[at])), np.int64))[1]

    def containing(self, text: str) -> Array:
        """The places, among all texts, of those that hold one somewhere."""
        found: list[int] = []
        at = self._blob.find(text) if text else -1
        while at >= 0:
            number = bisect_right(self._begins, at) - 1
            found.append(number)
            at = self._blob.find(text, self._begins[number + 1])
        return np.array(found, np.int64)

    def rows_of(self, numbers: Array) -> tuple[Array, Array]:
        """(place in the list, row) for each row of each of some texts."""
        place, at = ranges(self._starts, numbers)
        return place, self._rows[at]


class NameTables:
    """The names of all live definitions, and what the paths of all live files are made of."""

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
    """The name of each of some units, and the same with the names around it."""
    names: list[str] = []
    scopes: list[str] = []
    for segment in symbols.snapshot.segments:
        known = unpack_strings(segment.arrays, "names").all()
        names += segment.unit_names.all()
        scopes += [known[at] for at in segment.arrays["units.scope"].tolist()]
    full = [f"{scopes[row]}.{names[row]}" if scopes[row] else names[row] for row in rows.tolist()]
    return [names[row] for row in rows.tolist()], full


def _noise(symbols: SymbolTable, rows: Array, names: list[str], full: list[str]) -> Array:
    """The units that are never meant: built or copied, minified, made for tests, stand-ins, or with a name that says nothing (N6)."""
    noisy = np.array([_NOISY_PATH.search(path) is not None for path in symbols.snapshot.paths], bool)
    found = noisy[symbols.file]
    for row, name, whole in zip(rows.tolist(), names, full, strict=True):
        if (len(name) < SHORTEST_NAME and name not in SHORT_NAMES) or _STAND_IN.search(whole):
            found[row] = True
    return found


_made: WeakKeyDictionary[SymbolTable, NameTables] = WeakKeyDictionary()


def tables_of(symbols: SymbolTable) -> NameTables:
    """The tables of a snapshot, made when first asked for and kept as long as the snapshot is."""
    found = _made.get(symbols)
    if found is None:
        found = _made[symbols] = NameTables(symbols)
    return found


@dataclass(frozen=True)
class Sought:
    """What is looked for, and where."""

    task: str
    keywords: Keywords
    graph: Graph
    allowed: Array  # a mask over units: definitions that may be returned
    weights: FieldWeights
    fields: ColumnWeights
    limits: ClassicSettings

    @property
    def symbols(self) -> SymbolTable:
        """The units as symbols."""
        return self.graph.symbols

    @property
    def snapshot(self) -> Snapshot:
        """The index that is searched."""
        return self.graph.symbols.snapshot

    @property
    def tables(self) -> NameTables:
        """The names of the index as text."""
        return tables_of(self.symbols)

    @cached_property
    def returnable(self) -> Array:
        """What may be returned, without noise (N6)."""
        return self.allowed & ~self.tables.noise

    @cached_property
    def components(self) -> list[str]:
        """The single words of the task, lower-cased, in order."""
        return _lowered(self.keywords.components)

    @cached_property
    def folder_words(self) -> list[str]:
        """Words that may name a folder."""
        return [word for word in self.components if word.isalpha() and len(word) >= self.limits.folder_letters]

    def by_importance(self, units: Array) -> Array:
        """Those of some units that may be returned: tests last, else what most others refer to first."""
        units = units[self.returnable[units]]
        return units[np.lexsort((-self.graph.referrers[units], self.symbols.test[self.symbols.file[units]]))]


def _lowered(words: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(word.lower() for word in words))[:MOST_ASKED]


# N1: tiers of names.
class _Ranked:
    """Units in the order in which they were found, each once."""

    def __init__(self, sought: Sought) -> None:
        self._sought, self._units = sought, dict[int, None]()

    def __len__(self) -> int:
        return len(self._units)

    def add(self, units: Array, most: int | None = None) -> None:
        for unit in self._sought.by_importance(units).tolist():
            if most is not None and len(self._units) >= most:
                return
            self._units[unit] = None

    def units(self) -> Array:
        return np.array(list(self._units), np.int64)


def by_names(sought: Sought) -> Array:
    """Units by tiers of names: equal, by beginning, by a part, by a segment of their path (N1)."""
    limits, tables = sought.limits, sought.tables
    found = _Ranked(sought)
    primary = _lowered((*sought.keywords.exact, *sought.keywords.compounds))
    _by_name(sought, primary, found)
    if len(found) < limits.components_below:
        _by_name(sought, sought.components, found)
    every = list(dict.fromkeys((*primary, *sought.components)))
    if len(found) < limits.substring_below:
        for word in every:
            if len(word) >= limits.substring_letters:
                found.add(tables.qualified.rows_of(tables.qualified.containing(word))[1], limits.substring_most)
    if len(found) < limits.path_below:
        for word in every:
            if len(word) >= limits.path_letters:
                files = np.union1d(tables.folders.equal(word), tables.stems.equal(word))
                found.add(ranges(sought.snapshot.unit_starts, files)[1], limits.path_most)
    return found.units()


def _by_name(sought: Sought, words: list[str], found: _Ranked) -> None:
    for word in words:
        found.add(_named(sought, word))
    if len(found) < sought.limits.prefix_below:
        for word in words:
            table = sought.tables.qualified if "." in word else sought.tables.names
            found.add(table.beginning(word), sought.limits.prefix_most)


def _named(sought: Sought, word: str) -> Array:
    """Units of a name; one with dots is the end of a qualified name."""
    outer, _, name = word.rpartition(".")
    units = sought.tables.names.equal(name)
    if not outer:
        return units
    full = [sought.symbols.qualified_name(unit).lower() for unit in units.tolist()]
    return units[[one == word or one.endswith(f".{word}") for one in full]] if full else units


# N2: BM25.
class _Scores:
    """BM25 of every unit over the columns of I5, term after term."""

    def __init__(self, sought: Sought) -> None:
        self._sought, self._snapshot = sought, sought.snapshot
        self.total = np.zeros(sought.snapshot.units, np.float32)

    def _add(self, units: Array, worth: Array | float, among: int, holding: int) -> None:
        k = self._sought.fields.saturation
        self.total[units] += np.asarray(idf(among, holding) * worth / (worth + k), np.float32)

    def word(self, term: str, *, in_name: bool = False) -> None:
        """A term in any column, or in the name alone."""
        place = self._snapshot.find_term(term)
        rows, codes = self._snapshot.unit_postings(place)
        if in_name:
            rows, codes = rows[codes & _IN_NAME > 0], codes[codes & _IN_NAME > 0]
        worth = np.zeros(len(self.total), np.float32)
        worth[rows] = self._sought.weights.worth[codes]
        if not in_name:
            files, where = self._snapshot.path_postings(place)
            at, units = ranges(self._snapshot.unit_starts, files.astype(np.int64))
            fields = self._sought.fields
            bonus = np.where(where & IN_STEM, fields.stem, 0.0) + np.where(where & IN_DIRECTORY, fields.directory, 0.0)
            worth[units] += bonus[at].astype(np.float32)
        holding = np.flatnonzero(worth)
        self._add(holding, worth[holding], self._snapshot.live_units, len(holding))

    def phrase(self, text: str) -> bool:
        """A name that holds a compound, without regard to case and underscores; whether there is any."""
        table, key = (self._sought.tables.qualified, text) if "." in text else (self._sought.tables.joined, name_key(text))
        numbers = table.containing(key)
        place, units = table.rows_of(numbers)
        share = np.array([len(key) / len(table.all[number]) for number in numbers.tolist()])
        if len(units):
            self._add(units, self._sought.fields.name * share[place], self._snapshot.live_units, len(units))
        return len(units) > 0

    def path(self, word: str) -> None:
        """A word with which a segment of a path begins."""
        tables, snapshot = self._sought.tables, self._snapshot
        files = np.union1d(tables.folders.beginning(word), tables.stems.beginning(word))
        self._add(ranges(snapshot.unit_starts, files)[1], self._sought.fields.directory, snapshot.live_files, len(files))


def by_words(sought: Sought) -> Array:
    """Units by BM25 over compounds as phrases, words and what is related to them, and the beginnings of path segments (N2)."""
    scores = _Scores(sought)
    for compound in {name_key(text): text for text in _lowered((*sought.keywords.exact, *sought.keywords.compounds))}.values():
        if not scores.phrase(compound):
            for part in dict.fromkeys(stem(part) for part in parts(compound.rpartition(".")[2])):
                scores.word(part, in_name=True)
    for left, right in pairwise(sought.components):
        scores.phrase(left + right)
    said = dict.fromkeys(stem(word) for word in sought.components)
    related = dict.fromkeys(other for word in said for other in sorted(related_words(word)) if other not in said)
    for term in (*said, *related):
        scores.word(term)
    for word in sought.folder_words:
        scores.path(word)
    return top(scores.total, sought.limits.bm25_most, sought.returnable, sought.snapshot.unit_order)[0]


# N4: folders.
def by_folders(sought: Sought) -> Array:
    """Units in folders that the task names: types with members first, of these the ones whose members it speaks of (N4)."""
    limits, symbols = sought.limits, sought.symbols
    spoken = _members_spoken_of(sought)
    found: dict[int, None] = {}
    for word in sought.folder_words:
        files = np.unique(sought.tables.folders.beginning(word))
        units = sought.by_importance(ranges(sought.snapshot.unit_starts, files)[1])
        types, others = units[symbols.container[units]], units[~symbols.container[units]]
        rich, lean = types[symbols.members[types] > 0], types[symbols.members[types] == 0]
        rich = rich[np.lexsort((-symbols.members[rich], -spoken[rich]))]
        taken = (rich[: limits.folder_rich_types], lean[: limits.folder_lean_types], others[: limits.folder_others])
        found.update(dict.fromkeys(np.concatenate(taken).tolist()))
        if len(found) >= limits.folder_most:
            break
    return np.array(list(found)[: limits.folder_most], np.int64)


def _members_spoken_of(sought: Sought) -> Array:
    """How many members of each type have a name that begins, in one of its parts, with a word of the task."""
    known, symbols = sought.snapshot.name_parts, sought.symbols
    begins = np.zeros(len(known.names), bool)
    for word in sought.components:
        if len(word) >= sought.limits.path_letters:
            begins[bisect_left(known.names, word) : bisect_left(known.names, word + _LAST)] = True
    spoken = np.repeat(np.arange(symbols.units), np.diff(known.starts))[begins[known.parts]]
    owners = symbols.owner[np.unique(spoken)]
    return np.bincount(owners[owners >= 0], minlength=symbols.units)

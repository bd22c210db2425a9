"""What a file gets from other files: which files its import statements mean, and what their names stand for there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial

import numpy as np

from whence.graph.import_rules import MEMBERS, Binding, PathTree, Rule
from whence.graph.import_rules.by_namespace import CSharp, Go, Jvm, Php
from whence.graph.import_rules.by_path import C, Dart, Elixir, Lua, Python, Ruby, Swift
from whence.graph.import_rules.javascript import Script
from whence.graph.import_rules.rust import Rust
from whence.index.segment import name_hash
from whence.index.snapshot import Snapshot
from whence.index.symbols import NameTable, SymbolTable, scoped_key
from whence.storage.arrayfile import Array, unpack_strings
from whence.storage.postings import distinct, is_member
from whence.text.analyzer import WORD

#: A longer statement is cut, before its rule reads it and before its words are collected.
MAX_STATEMENT, MAX_WORDS_TEXT = 20_000, 2_000
#: Languages with JavaScript's modules, where a file may stand for the one thing it exports.
SCRIPTS = ("javascript", "typescript", "tsx", "vue", "svelte")
#: Languages in which a file can export what it imports: `__init__.py`, `index.ts`, `pub use`.
RE_EXPORTING = (*SCRIPTS, "python", "rust")
#: How many files in a row may re-export a name.
MAX_RE_EXPORTS = 5
#: A lookup that fans out to more files than this is dropped.
MAX_PLACES = 2_000_000
#: A name that a file defines more often is ambiguous.
MAX_NAMESAKES = 6
_DEFAULT, _MEMBERS = name_hash("default"), name_hash(MEMBERS)
#: What a statement's meaning depends on besides its text.
_NOTHING, _FOLDER, _FILE = range(3)

Pairs = tuple[Array, Array]  # (row of the query, definition)


#: Languages that import alike, their rule, and what it depends on.
_FAMILIES: tuple[tuple[tuple[str, ...], Callable[[PathTree], Rule], int], ...] = (
    (("python",), Python, _FOLDER),
    (SCRIPTS, Script, _FOLDER),
    (("go",), Go, _NOTHING),
    (("rust",), Rust, _FILE),
    (("java", "scala"), Jvm, _NOTHING),
    (("kotlin",), partial(Jvm, is_loose=True), _NOTHING),
    (("csharp",), CSharp, _NOTHING),
    (("ruby",), Ruby, _FOLDER),
    (("php",), Php, _FOLDER),
    (("c", "cpp"), C, _FOLDER),
    (("lua",), Lua, _FOLDER),
    (("dart",), Dart, _FOLDER),
    (("elixir",), Elixir, _FOLDER),
    (("swift",), Swift, _FOLDER),
)
_FAMILY_OF = {language: number for number, (languages, _, _) in enumerate(_FAMILIES) for language in languages}


class ImportResolver:
    """Finds the files of one repository that import statements mean."""

    def __init__(self, paths: Sequence[str], read_text: Callable[[str], str | None]) -> None:
        tree = PathTree(paths, read_text)
        self._rule = cache(lambda number: _FAMILIES[number][1](tree))
        self._known: dict[tuple[int, str, str], tuple[Binding, ...]] = {}

    def bindings(self, language: str, path: str, statement: str) -> tuple[Binding, ...]:
        """What a statement in the file at `path` binds; nothing for an import from outside the repository."""
        number = _FAMILY_OF.get(language)
        if number is None:
            return ()
        place = {_NOTHING: "", _FOLDER: path.rpartition("/")[0], _FILE: path}[_FAMILIES[number][2]]
        found = self._known.get((number, place, statement))
        if found is None:
            found = tuple(dict.fromkeys(self._rule(number).bindings(path, statement[:MAX_STATEMENT])))
            self._known[number, place, statement] = found
        if all(path not in binding.files for binding in found):
            return found
        # The importing file may itself be in the package or folder that it imports.
        others = [Binding(one.local, tuple(file for file in one.files if file != path), one.symbol) for one in found]
        return tuple(binding for binding in others if binding.files)


@dataclass(frozen=True, slots=True)
class ImportBindings:
    """What the import statements of a snapshot bind: (file, local name) -> (file, name there). Names are hashes."""

    table: NameTable  # (file, local name) -> row of the columns below; local name 0 for `import *`
    target: Array
    symbol: Array  # 0 where the local name stands for the file itself
    words: Array  # (file, word) of every word of an import statement, sorted
    external_words: Array  # those that no statement of the file binds to a file of the repository

    @classmethod
    def of(cls, snapshot: Snapshot, resolver: ImportResolver) -> ImportBindings:
        """Read and resolve the statements of all live files."""
        reader = _StatementReader(snapshot, resolver)
        for file, statement in _statements(snapshot):
            reader.add(file, statement)
        columns = np.array(reader.bound, np.int64).reshape(-1, 4)
        table = NameTable(scoped_key(columns[:, 0], columns[:, 1]), np.arange(len(columns)))
        words = distinct(np.array(reader.words, np.int64))
        return cls(table, columns[:, 2], columns[:, 3], words, words[~is_member(words, table.keys)])


class _StatementReader:
    """Collects bindings and words; what many files share is read once."""

    def __init__(self, snapshot: Snapshot, resolver: ImportResolver) -> None:
        self.bound: list[tuple[int, int, int, int]] = []
        self.words: list[int] = []
        self._snapshot, self._resolver = snapshot, resolver
        self._words_of = cache(lambda statement: [name_hash(word) for word in dict.fromkeys(WORD.findall(statement[:MAX_WORDS_TEXT]))])
        self._rows_of: dict[int, tuple[tuple[Binding, ...], list[tuple[int, int, int]]]] = {}

    def add(self, file: int, statement: str) -> None:
        self.words += [file << 32 | word for word in self._words_of(statement)]
        bindings = self._resolver.bindings(self._snapshot.languages[file], self._snapshot.paths[file], statement)
        if bindings:
            self.bound += [(file, *row) for row in self._rows(bindings)]

    def _rows(self, bindings: tuple[Binding, ...]) -> list[tuple[int, int, int]]:
        """(local name, file, name there) of bindings. The tuple is kept too, so that its id stays its own."""
        known = self._rows_of.get(id(bindings))
        if known is None:
            rows, file_row = [], self._snapshot.symbols.file_row
            for one in bindings:
                local, symbol = (name_hash(text) if text else 0 for text in (one.local, one.symbol))
                rows += [(local, file_row[path], symbol) for path in one.files if path in file_row]
            known = self._rows_of[id(bindings)] = (bindings, rows)
        return known[1]


def _statements(snapshot: Snapshot) -> list[tuple[int, str]]:
    found, base = [], 0
    for segment in snapshot.segments:
        texts = unpack_strings(segment.arrays, "imports").all()
        starts = np.concatenate([[0], segment.arrays["files.import_ends"]]).tolist()
        rows = segment.arrays["files.import_rows"].tolist()
        for file in range(segment.files):
            if snapshot.alive[base + file]:
                found += [(base + file, texts[row]) for row in rows[starts[file] : starts[file + 1]]]
        base += segment.files
    return found


class Exports:
    """Follows imported names to their definitions, through files that re-export them."""

    def __init__(self, symbols: SymbolTable, bindings: ImportBindings) -> None:
        self._symbols, self._bindings = symbols, bindings
        languages = symbols.snapshot.languages
        self._is_script = np.array([language in SCRIPTS for language in languages], bool)
        self._re_exports = np.array([language in RE_EXPORTING for language in languages], bool)

    def imported(self, file: Array, name: Array) -> Pairs:
        """The definitions of names that a file imports by name."""
        at, row = self._bindings.table.pairs(scoped_key(file, name))
        symbol = self._bindings.symbol[row]
        is_symbol = (symbol > 0) | self._is_script[file[at]]  # `const Cart = require("./cart")`
        at, row, symbol = at[is_symbol], row[is_symbol], symbol[is_symbol]
        found, target = self._definitions(at, self._bindings.target[row], np.where(symbol > 0, symbol, _DEFAULT), name[at])
        left = ~is_member(at, found)  # of a type in the file: `import static a.B.c`
        return self._with_members(found, target, at[left], self._bindings.target[row[left]], symbol[left])

    def _with_members(self, at: Array, target: Array, other: Array, file: Array, name: Array) -> Pairs:
        found, member = self._members.pairs_up_to(scoped_key(file, name), MAX_NAMESAKES)
        return np.concatenate([at, other[found]]), np.concatenate([target, member])

    @cached_property
    def _members(self) -> NameTable:
        """Members of types by (file, name)."""
        symbols = self._symbols
        rows = np.flatnonzero(symbols.defines & (symbols.owner >= 0) & ~symbols.container & (symbols.function < 0))
        return NameTable(scoped_key(symbols.file[rows], symbols.name[rows]), rows)

    def wildcard(self, file: Array, name: Array) -> Pairs:
        """The definitions that may come from a file whose every name is imported: `import *`, `#include`."""
        rows = np.flatnonzero(is_member(name, self._names))
        pair, back = np.unique(scoped_key(file[rows], name[rows]), return_inverse=True)
        at, row = self._bindings.table.pairs(pair >> 32 << 32)
        names = (pair & 0xFFFFFFFF)[at]
        is_static = self._bindings.symbol[row] == _MEMBERS
        found, target = self._definitions(at, self._bindings.target[row], names, names)
        at, target = self._with_members(found, target, at[is_static], self._bindings.target[row[is_static]], names[is_static])
        where, one = NameTable(at, np.arange(len(at))).pairs(back)
        return rows[where], target[one]

    def module_members(self, file: Array, receiver: Array, name: Array) -> Pairs:
        """The definitions of names behind the name of an imported module."""
        at, row = self._bindings.table.pairs(scoped_key(file, receiver))
        is_module = self._bindings.symbol[row] == 0
        at, row = at[is_module], row[is_module]
        return self._definitions(at, self._bindings.target[row], name[at], name[at])

    @cached_property
    def _names(self) -> Array:
        """Every name that a file defines or imports, sorted."""
        members = self._members.keys if (self._bindings.symbol == _MEMBERS).any() else np.empty(0, np.int64)
        return distinct(np.concatenate([self._symbols.in_file.keys, self._bindings.table.keys, members]) & 0xFFFFFFFF)

    @cached_property
    def _by_folded_name(self) -> NameTable:
        """Definitions by (file, name without case and underscores)."""
        rows = self._symbols.in_file.rows
        return NameTable(scoped_key(self._symbols.file[rows], self._symbols.sound[rows]), rows)

    def _definitions(self, at: Array, file: Array, name: Array, local: Array) -> Pairs:
        """Definitions that files have by a name, their own or re-exported; `local` is the name where it is used."""
        pairs = [np.empty(0, np.int64)]
        for _ in range(MAX_RE_EXPORTS):
            found, target = self._in_file(file, name, local)
            pairs.append(at[found] << 32 | target)
            left = self._re_exports[file]
            left[found] = False
            at, file, name, local = self._origins(at[left], file[left], name[left])
            if not len(at) or len(at) > MAX_PLACES:
                break
        pair = distinct(np.concatenate(pairs))
        return pair >> 32, pair & 0xFFFFFFFF

    def _in_file(self, file: Array, name: Array, local: Array) -> Pairs:
        """Definitions of files by name; a default export may be named as it is where it is used, or after its file."""
        found, target = self._symbols.in_file.pairs_up_to(scoped_key(file, name), MAX_NAMESAKES)
        parts = [(found, target)]
        stems = self._symbols.snapshot.column("files.stem").astype(np.int64)
        left = np.flatnonzero(name == _DEFAULT)
        left = left[~is_member(left, found)]
        for table, names in ((self._symbols.in_file, local), (self._by_folded_name, stems[file])):
            if len(left):
                at, target = table.pairs_up_to(scoped_key(file[left], names[left]), MAX_NAMESAKES)
                parts.append((left[at], target))
                left = left[~is_member(np.arange(len(left)), at)]
        return np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])

    def _origins(self, at: Array, file: Array, name: Array) -> tuple[Array, Array, Array, Array]:
        """Where files get names they do not define: from the statement that binds each, and from their `import *`."""
        bindings = self._bindings
        named, row = bindings.table.pairs(scoped_key(file, name))
        named, row = named[bindings.symbol[row] > 0], row[bindings.symbol[row] > 0]
        wildcard, every = bindings.table.pairs(scoped_key(file, np.zeros(len(file), np.int64)))
        return (
            np.concatenate([at[named], at[wildcard]]),
            np.concatenate([bindings.target[row], bindings.target[every]]),
            np.concatenate([bindings.symbol[row], name[wildcard]]),
            np.concatenate([name[named], name[wildcard]]),
        )

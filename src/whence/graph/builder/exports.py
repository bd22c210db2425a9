"""What a file knows by name from other files: by its import statements, and by those of the files it imports from."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from whence.graph.builder.references import ImportBindings
from whence.index.segment_writer import name_hash
from whence.index.symbols import NameTable, SymbolTable, scoped_key
from whence.storage.arrayfile import Array
from whence.storage.rows import distinct, is_member

#: Languages of one kind of module, in which a file may stand for the one thing it exports.
SCRIPTS = frozenset("javascript typescript tsx vue svelte".split())
#: Languages in which a file hands on what it imports: `__init__.py`, `index.ts`, `pub use`.
HANDING_ON = SCRIPTS | {"python", "rust"}
#: How often a name is handed on before it is given up.
MOST_HANDS = 5
#: A name that could come from more places than this is not followed.
MOST_PLACES = 2_000_000
#: A name that a file defines more often says nothing of which one is meant.
MOST_NAMESAKES = 6
_DEFAULT = name_hash("default")

Found = tuple[Array, Array]  # (place among the mentions asked for, definition)


class Exports:
    """Follows imported names to their definitions."""

    def __init__(self, symbols: SymbolTable, bindings: ImportBindings) -> None:
        self._symbols, self._bindings = symbols, bindings
        languages = symbols.snapshot.languages
        self._scripts = np.array([language in SCRIPTS for language in languages], bool)
        self._hands_on = np.array([language in HANDING_ON for language in languages], bool)

    def bound(self, file: Array, name: Array) -> Found:
        """What imported names stand for."""
        at, row = self._bindings.table.pairs(scoped_key(file, name))
        symbol = self._bindings.symbol[row]
        stands = (symbol > 0) | self._scripts[file[at]]  # `const Cart = require("./cart")`
        at, row, symbol = at[stands], row[stands], symbol[stands]
        return self._known(at, self._bindings.target[row], np.where(symbol > 0, symbol, _DEFAULT), name[at])

    def visible(self, file: Array, name: Array) -> Found:
        """What may come from files whose every name is visible."""
        asked = np.flatnonzero(is_member(name, self._names))
        pair, back = np.unique(scoped_key(file[asked], name[asked]), return_inverse=True)
        at, row = self._bindings.table.pairs(pair >> 32 << 32)
        wanted = (pair & 0xFFFFFFFF)[at]
        at, target = self._known(at, self._bindings.target[row], wanted, wanted)
        where, one = NameTable(at, np.arange(len(at))).pairs(back)
        return asked[where], target[one]

    def of_modules(self, file: Array, receiver: Array, name: Array) -> Found:
        """What is meant by names behind names of modules."""
        at, row = self._bindings.table.pairs(scoped_key(file, receiver))
        module = self._bindings.symbol[row] == 0
        at, row = at[module], row[module]
        return self._known(at, self._bindings.target[row], name[at], name[at])

    @cached_property
    def _names(self) -> Array:
        """Every name that a file defines or imports, in order."""
        return distinct(np.concatenate([self._symbols.in_file.keys, self._bindings.table.keys]) & 0xFFFFFFFF)

    @cached_property
    def _by_sound(self) -> NameTable:
        """Definitions by (file, name without case and underscores)."""
        rows = self._symbols.in_file.rows
        return NameTable(scoped_key(self._symbols.file[rows], self._symbols.sound[rows]), rows)

    def _known(self, at: Array, file: Array, name: Array, local: Array) -> Found:
        """Definitions that files know by a name, their own or from others; `local` is the name they have where they are used."""
        pairs = [np.empty(0, np.int64)]
        for _ in range(MOST_HANDS):
            found, target = self._defined(file, name, local)
            pairs.append(at[found] << 32 | target)
            left = self._hands_on[file]
            left[found] = False
            at, file, name, local = self._further(at[left], file[left], name[left])
            if not len(at) or len(at) > MOST_PLACES:
                break
        pair = distinct(np.concatenate(pairs))
        return pair >> 32, pair & 0xFFFFFFFF

    def _defined(self, file: Array, name: Array, local: Array) -> Found:
        """Definitions of files by name; the default one may also be called as it is called elsewhere, or as its file."""
        found, target = self._symbols.in_file.pairs_up_to(scoped_key(file, name), MOST_NAMESAKES)
        parts = [(found, target)]
        stems = self._symbols.snapshot.column("files.stem").astype(np.int64)
        open_ = np.flatnonzero(name == _DEFAULT)
        open_ = open_[~is_member(open_, found)]
        for table, wanted in ((self._symbols.in_file, local), (self._by_sound, stems[file])):
            if len(open_):
                again, target = table.pairs_up_to(scoped_key(file[open_], wanted[open_]), MOST_NAMESAKES)
                parts.append((open_[again], target))
                open_ = open_[~is_member(np.arange(len(open_)), again)]
        return np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])

    def _further(self, at: Array, file: Array, name: Array) -> tuple[Array, Array, Array, Array]:
        """Where files have names from that they do not define: the statement that binds each, or files they take everything of."""
        bindings = self._bindings
        named, row = bindings.table.pairs(scoped_key(file, name))
        named, row = named[bindings.symbol[row] > 0], row[bindings.symbol[row] > 0]
        wild, all_of = bindings.table.pairs(scoped_key(file, np.zeros(len(file), np.int64)))
        return (
            np.concatenate([at[named], at[wild]]),
            np.concatenate([bindings.target[row], bindings.target[all_of]]),
            np.concatenate([bindings.symbol[row], name[wild]]),
            np.concatenate([name[named], name[wild]]),
        )

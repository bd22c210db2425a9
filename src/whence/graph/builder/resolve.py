"""From names to edges: what every mention of a snapshot stands for (W2).

A name is looked for where its language would look: in the type that speaks and
its parents, in the file, in what the file imports, in its folder. Only then, and
only when few definitions bear it, is it taken by name alone, and each of them
gets its share of the confidence. What was imported from outside is outside: it is
never replaced by something of the same name in here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from whence.core.types import EDGE_KINDS
from whence.graph.builder.builtin_names import BUILTIN_NAMES
from whence.graph.builder.exports import Exports
from whence.graph.builder.references import ImportBindings, ReferenceColumns
from whence.index.segment_writer import KIND_NAMES, name_hash
from whence.index.symbols import IS_CALLABLE, NameTable, SymbolTable, scoped_key
from whence.parse.references import EXPRESSION, SUPER
from whence.storage.arrayfile import Array
from whence.storage.rows import is_member

#: A name that more definitions bear says nothing of which one is meant.
MAX_BY_NAME = 6
MAX_TYPES_BY_NAME = 3
#: What an edge is worth that the parser found (W2), and one that was taken by name alone.
PARSED_CONFIDENCE = 0.7
BY_NAME = 0.6
#: How far up a line of parents a member is looked for, and how far out of types in types.
GENERATIONS = 6
ENCLOSING = 4
OWN = frozenset({"self", "this", "cls", "Self", SUPER, "base", "parent", "static", "__class__"})
#: Of OWN, those that are mere variables in every other language.
OWN_ONLY_IN = {"base": "csharp", "parent": "php"}
#: Of OWN, those that mean the parents and never the type itself.
ABOVE = frozenset({SUPER, "base", "parent"})
#: Languages in which a member is never meant by its mere name.
EXPLICIT = frozenset("python javascript typescript tsx vue svelte go rust php lua perl".split())
#: Of these, those in which what stands behind a value can only be a member.
MEMBERS_ONLY = frozenset("python go php".split())
#: Languages in which members can be given to a type from elsewhere, even to one that is not here.
EXTENSIBLE = frozenset("kotlin csharp swift scala".split())
#: Languages in which a module is opened again in every file that adds to it, and what begins with a capital is one, or a type.
REOPENING = frozenset({"ruby"})
#: Files of C that declare what others define.
HEADERS = (".h", ".hh", ".hpp", ".hxx")
_KIND = {kind: row for row, kind in enumerate(EDGE_KINDS)}
_MODULES = np.array([KIND_NAMES.index("module"), KIND_NAMES.index("namespace")])
_KIN = np.array([_KIND["extends"], _KIND["implements"]])
_NO_ROWS = np.empty(0, np.int64)

Tier = Callable[[Array, Array], tuple[Array, Array]]  # (file, name) of mentions -> (place among them, definition)


@dataclass(frozen=True, slots=True)
class EdgeColumns:
    """Edges between units, or from a unit to a node outside (numbered after the units)."""

    source: Array
    target: Array
    kind: Array
    confidence: Array
    line: Array


class Resolver:
    """Takes mentions tier by tier; what a tier settles, no later one sees."""

    def __init__(self, symbols: SymbolTable, said: ReferenceColumns, bindings: ImportBindings) -> None:
        self.symbols, self.said, self.bindings = symbols, said, bindings
        self.exports = Exports(symbols, bindings)
        self.file = symbols.file[said.unit] if len(said.unit) else said.unit
        self.family = symbols.family[self.file] if len(said.unit) else said.unit
        self.open = said.outside < 0
        self._found: list[tuple[Array, Array, Array]] = []  # (mention, target, worth)
        self._parents = self._extended = NameTable(_NO_ROWS, _NO_ROWS)
        self._plain = said.receiver == 0
        self._expression = said.receiver == name_hash(EXPRESSION)
        self._own = np.isin(said.receiver, _hashes(OWN))
        for word, language in OWN_ONLY_IN.items():
            self._own &= (said.receiver != name_hash(word)) | self._speaks(frozenset({language}))
        self._above = self._own & np.isin(said.receiver, _hashes(ABOVE))
        self._explicit = self._speaks(EXPLICIT)
        self._speaker = self._speakers()

    def _speaks(self, languages: frozenset[str]) -> Array:
        """Whether each mention stands in a file of one of some languages."""
        spoken = np.array([language in languages for language in self.symbols.snapshot.languages], bool)
        return spoken[self.file] if len(self.file) else np.zeros(0, bool)

    def resolve(self) -> EdgeColumns:
        """All edges, kin first: members are looked for along it."""
        kin = np.isin(self.said.kind, _KIN)
        self._resolve_kin(np.flatnonzero(kin & self.open))
        self.open &= ~kin
        self._own_members(np.flatnonzero(self.open & self._own))
        self.open &= ~self._own & (self.said.kind != _KIND["accesses_field"])
        self._through_receiver(np.flatnonzero(self.open & ~self._plain & ~self._expression))
        self._plain_names(np.flatnonzero(self.open & self._plain))
        rows = np.flatnonzero(self.open)
        self._by_name_alone(rows[~self._says_nothing(rows)])
        return self._edges()

    # Kin.
    def _resolve_kin(self, rows: Array) -> None:
        before = len(self._found)
        qualified = rows[~self._plain[rows] & ~self._expression[rows] & ~self.said.spoken_for[rows]]
        self._members_of_modules(qualified)
        self._members_of_types(qualified)
        outside = is_member(scoped_key(self.file[qualified], self.said.receiver[qualified]), self.bindings.foreign)
        rows = np.setdiff1d(rows, qualified[outside], assume_unique=True)
        for tier in self._type_tiers():
            rows = rows[self.open[rows]]
            at, target = tier(self.file[rows], self.said.name[rows])
            other = target != self._speaker[rows[at]]  # `class Cart(stock.Cart)` does not extend itself
            self._settle(rows, at[other], target[other])
        mention, target, _ = _joined(self._found[before:])
        child = self._speaker[mention]
        keep = (child >= 0) & (child != target)
        mention, child, target = mention[keep], child[keep], target[keep]
        self._parents = NameTable(child, target)
        extends = self.said.kind[mention] == _KIND["extends"]
        self._extended = NameTable(child[extends], target[extends])

    def _speakers(self) -> Array:
        """The unit that mentions; where a type speaks that is defined elsewhere, that type."""
        source = self.said.unit.copy()
        rows = np.flatnonzero(self.said.spoken_for)
        source[rows] = -1
        for tier in self._type_tiers()[:3]:
            left = rows[source[rows] < 0]
            at, target = tier(self.file[left], self.said.receiver[left])
            source[left[at[::-1]]] = target[::-1]  # the first of several
        return source

    def _type_tiers(self) -> list[Tier]:
        """Where a type is looked for that a mention names, the surest place first."""
        symbols = self.symbols

        def anywhere(file: Array, name: Array) -> tuple[Array, Array]:
            inside = np.flatnonzero(~is_member(scoped_key(file, name), self.bindings.spoken))
            at, target = symbols.types.pairs_up_to(scoped_key(symbols.family[file[inside]], name[inside]), MAX_TYPES_BY_NAME)
            return inside[at], target

        def types_only(tier: Tier) -> Tier:
            def found(file: Array, name: Array) -> tuple[Array, Array]:
                at, target = tier(file, name)
                keep = symbols.container[target]
                return at[keep], target[keep]

            return found

        return [types_only(tier) for tier in (self._in_file, self.exports.bound, self._in_folder, self.exports.visible, anywhere)]

    def _in_file(self, file: Array, name: Array) -> tuple[Array, Array]:
        return self.symbols.in_file.pairs_up_to(scoped_key(file, name), MAX_BY_NAME)

    def _in_folder(self, file: Array, name: Array) -> tuple[Array, Array]:
        """What lies beside a file; what the file has from outside is not that."""
        here = np.flatnonzero(~is_member(scoped_key(file, name), self.bindings.foreign))
        at, target = self.symbols.in_folder.pairs_up_to(scoped_key(self.symbols.folder[file[here]], name[here]), MAX_BY_NAME)
        return here[at], target

    # Members.
    def _own_members(self, rows: Array) -> None:
        unit = self.said.unit[rows]
        owner = np.where(self.symbols.container[unit], unit, self.symbols.owner[unit])
        known = owner >= 0
        rows, owner = rows[known], owner[known]
        own = ~self._above[rows]
        self._members(rows[own], owner[own], np.ones(int(own.sum())))
        for parents in (self._extended, self._parents):  # an interface is asked when no class has it
            left = np.flatnonzero(~own & self.open[rows])
            at, parent = parents.pairs(owner[left])
            self._members(rows[left[at]], parent, np.ones(len(at)))

    def _members(self, mention: Array, of: Array, worth: Array) -> None:
        """Look for members in types, then in their parents, generation by generation."""
        for _ in range(GENERATIONS):
            if not len(mention):
                return
            at, target = self.symbols.of_type.first_pairs(scoped_key(of, self.said.name[mention]), MAX_BY_NAME)
            # Who speaks of a type means the type and not what makes it, though they have one name.
            meant = (self.said.kind[mention[at]] == _KIND["calls"]) | (self.symbols.name[target] != self.symbols.name[of[at]])
            at, target = at[meant], target[meant]
            self._note(mention[at], target, worth[at] / np.maximum(np.bincount(at, minlength=len(mention))[at], 1))
            left = self.open[mention]
            mention, of, worth = mention[left], of[left], worth[left]
            at, parent = self._parents.pairs(of)
            mention, of, worth = mention[at], parent, worth[at]

    def _through_receiver(self, rows: Array) -> None:
        """A receiver is an imported module, or a type, or a variable that is named after its type."""
        self._members_of_modules(rows)
        self._members_of_types(rows)
        left = rows[self.open[rows]]
        left = left[~is_member(scoped_key(self.file[left], self.said.receiver[left]), self.bindings.spoken)]
        at, of = self.symbols.types_by_folded_name.pairs_up_to(scoped_key(self.family[left], self.said.sound[left]), MAX_TYPES_BY_NAME)
        self._members(left[at], of, np.full(len(at), BY_NAME) / np.maximum(np.bincount(at, minlength=len(left))[at], 1))

    def _members_of_modules(self, rows: Array) -> None:
        at, target = self.exports.of_modules(self.file[rows], self.said.receiver[rows], self.said.name[rows])
        self._settle(rows, at, target)

    def _members_of_types(self, rows: Array) -> None:
        for tier in self._type_tiers():
            rows = rows[self.open[rows]]
            at, of = tier(self.file[rows], self.said.receiver[rows])
            self._members(rows[at], of, 1 / np.maximum(np.bincount(at, minlength=len(rows))[at], 1))

    # Names that stand alone.
    def _plain_names(self, rows: Array) -> None:
        self._enclosing(rows)
        for tier in (self._in_file, self.exports.bound, self.exports.visible, self._in_folder):
            rows = rows[self.open[rows]]
            self._settle(rows, *tier(self.file[rows], self.said.name[rows]))

    def _enclosing(self, rows: Array) -> None:
        """What the types and modules around a mention hold; where members need a receiver, only modules."""
        symbols = self.symbols
        owner = symbols.owner[self.said.unit[rows]]
        reopening = self._speaks(REOPENING)
        for _ in range(ENCLOSING):
            inside = (owner >= 0) & self.open[rows]
            rows, owner = rows[inside], owner[inside]
            free = ~self._explicit[rows] | np.isin(symbols.snapshot.kinds[owner], _MODULES)
            self._members(rows[free], owner[free], np.ones(int(free.sum())))
            again = reopening[rows] & self.open[rows]
            keys = _in_scope(self.family[rows[again]], symbols.full[owner[again]], self.said.name[rows[again]])
            self._settle(rows[again], *self._reopened.pairs_up_to(keys, MAX_BY_NAME))
            owner = symbols.owner[owner]

    def _settle(self, rows: Array, at: Array, target: Array) -> None:
        """Note what was found for rows that are open, where it is not too much to say anything."""
        left = self.open[rows[at]]
        at, target = at[left], target[left]
        size = np.bincount(at, minlength=len(rows))[at]
        few = size <= MAX_BY_NAME
        self._note(rows[at[few]], target[few], 1 / size[few])

    def _says_nothing(self, rows: Array) -> Array:
        """Mentions of what an import statement names and no file here has, of types that are not here, and everyday names."""
        name, receiver = self.said.name[rows], self.said.receiver[rows]
        spoken = np.where(self._plain[rows] | self._expression[rows], name, receiver)
        outside = is_member(scoped_key(self.file[rows], spoken), self.bindings.spoken)
        typed = self.said.typed[rows] >= np.where(self._speaks(REOPENING)[rows], 1, 2)
        unknown = typed & ~self._speaks(EXTENSIBLE)[rows] & ~is_member(scoped_key(self.family[rows], receiver), self.symbols.types.keys)
        return outside | unknown | np.isin(name, _hashes(BUILTIN_NAMES))

    def _by_name_alone(self, rows: Array) -> None:
        table = self.symbols.anywhere
        held = (self.symbols.owner[table.rows] >= 0) & ~np.isin(self.symbols.snapshot.kinds[self.symbols.owner[table.rows]], _MODULES)
        method = held & IS_CALLABLE[self.symbols.snapshot.kinds[table.rows]]
        alone = self._plain[rows] & self._explicit[rows]
        behind = ~self._plain[rows] & self._speaks(MEMBERS_ONLY)[rows]
        for chosen, kept in ((alone, ~method), (behind, held), (~alone & ~behind, np.ones(len(table.rows), bool))):
            self._take_by_name(rows[chosen], NameTable(table.keys[kept], table.rows[kept]))

    def _take_by_name(self, rows: Array, table: NameTable) -> None:
        most = np.where(self.said.kind[rows] == _KIND["calls"], MAX_BY_NAME, MAX_TYPES_BY_NAME)
        at, target = table.pairs_up_to(scoped_key(self.family[rows], self.said.name[rows]), most)
        self._note(rows[at], target, BY_NAME / np.bincount(at, minlength=len(rows))[at])

    def _note(self, mention: Array, target: Array, worth: Array) -> None:
        if len(mention):
            self._found.append((mention, target, worth))
            self.open[mention] = False

    def _edges(self) -> EdgeColumns:
        outside = np.flatnonzero(self.said.outside >= 0)
        self._found.append((outside, self.symbols.units + self.said.outside[outside], np.ones(len(outside))))
        mention, target, worth = self._with_definitions(*_joined(self._found))
        source = self._speaker[mention]
        keep = (source >= 0) & (source != target)
        mention, target, worth, source = mention[keep], target[keep], worth[keep], source[keep]
        return EdgeColumns(source, target, self.said.kind[mention], (PARSED_CONFIDENCE * worth).astype(np.float32), self.said.line[mention])

    def _with_definitions(self, mention: Array, target: Array, worth: Array) -> tuple[Array, Array, Array]:
        """Who means what a header declares means also the one definition of it."""
        snapshot, symbols = self.symbols.snapshot, self.symbols
        header = np.array([path.endswith(HEADERS) for path in snapshot.paths], bool)
        if not header.any():
            return mention, target, worth
        defined = np.flatnonzero(symbols.defines & IS_CALLABLE[snapshot.kinds] & ~header[symbols.file])
        table = NameTable(scoped_key(symbols.family[symbols.file[defined]], symbols.full[defined]), defined)
        inside = np.flatnonzero(target < symbols.units)
        rows = inside[header[symbols.file[target[inside]]] & IS_CALLABLE[snapshot.kinds[target[inside]]]]
        at, definition = table.pairs_up_to(scoped_key(symbols.family[symbols.file[target[rows]]], symbols.full[target[rows]]), 1)
        return _joined([(mention, target, worth), (mention[rows[at]], definition, worth[rows[at]])])

    @cached_property
    def _reopened(self) -> NameTable:
        """What modules hold, by the module's name: it may stand in many files."""
        symbols = self.symbols
        rows = np.flatnonzero(symbols.owner >= 0)
        rows = rows[np.isin(symbols.snapshot.kinds[symbols.owner[rows]], _MODULES)]
        return NameTable(_in_scope(symbols.family[symbols.file[rows]], symbols.scope[rows], symbols.name[rows]), rows)


def _in_scope(family: Array, scope: Array, name: Array) -> Array:
    """One number for a name in a scope of a family of languages."""
    return scoped_key(family, (scope * 0x9E3779B1 ^ name) & 0xFFFFFFFF)


def _joined(found: list[tuple[Array, Array, Array]]) -> tuple[Array, Array, Array]:
    parts = [(_NO_ROWS, _NO_ROWS, np.empty(0)), *found]
    return (
        np.concatenate([part[0] for part in parts]),
        np.concatenate([part[1] for part in parts]),
        np.concatenate([part[2] for part in parts]),
    )


def _hashes(words: frozenset[str]) -> Array:
    return np.array([name_hash(word) for word in words], np.int64)

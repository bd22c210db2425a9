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

import numpy as np

from whence.index.arrayfile import Array, unpack_strings
from whence.index.digest import KIND_NAMES, name_hash
from whence.index.imports import Imports
from whence.index.relations import OF_RECEIVER
from whence.index.rows import distinct, member, spread
from whence.index.snapshot import Snapshot
from whence.index.symbols import Symbols, Table, keyed
from whence.parse.mentions import EXPRESSION, SUPER
from whence.parse.tokens import WORD, joined
from whence.types import EDGE_KINDS

#: A name that more definitions bear says nothing of which one is meant.
MOST_BY_NAME = 6
MOST_TYPES_BY_NAME = 3
#: What an edge is worth that the parser found (W2), and one that was taken by name alone.
CONFIDENCE = 0.7
BY_NAME = 0.6
#: How far up a line of parents a member is looked for.
GENERATIONS = 6
OWN = frozenset({"self", "this", "cls", "Self", SUPER, "base", "parent", "static", "__class__"})
#: Languages in which a member is never meant by its mere name.
EXPLICIT = frozenset("python javascript typescript tsx vue svelte go rust php lua perl".split())
#: Of OWN, those that mean the parents and never the type itself.
ABOVE = frozenset({SUPER, "base", "parent"})
#: Names that stand for something outside the source: a node without a place.
OUTSIDE = ("route:", "env:", "process:")
_KIND = {kind: row for row, kind in enumerate(EDGE_KINDS)}
_MODULES = np.array([KIND_NAMES.index("module"), KIND_NAMES.index("namespace")])
_KIN = np.array([_KIND["extends"], _KIND["implements"]])


@dataclass(frozen=True, slots=True)
class Mentions:
    """All mentions of the live units of a snapshot, as columns."""

    unit: Array
    kind: Array
    name: Array  # hashes
    receiver: Array
    sound: Array  # of the receiver, without case and underscores
    line: Array
    spoken_for: Array  # whether the receiver is the type that speaks, and no unit around the mention
    outside: Array  # row of `nodes`, or -1
    nodes: list[str]

    @classmethod
    def of(cls, snapshot: Snapshot) -> Mentions:
        """Read them from the segments."""
        columns: dict[str, list[Array]] = {name: [] for name in ("unit", "kind", "name", "receiver", "sound", "line", "outside")}
        nodes: dict[str, int] = {}
        for segment, base in zip(snapshot.segments, snapshot.unit_bases, strict=False):
            arrays = segment.arrays
            names = unpack_strings(arrays, "names").all()
            hashes = np.array([name_hash(text) if text else 0 for text in names], np.int64)
            sounds = np.array([name_hash(joined(text)) if text else 0 for text in names], np.int64)
            places = np.array([nodes.setdefault(text, len(nodes)) if text.startswith(OUTSIDE) else -1 for text in names], np.int64)
            name, receiver = arrays["relations.name"], arrays["relations.receiver"]
            columns["unit"].append(arrays["relations.unit"].astype(np.int64) + base)
            columns["kind"].append(arrays["relations.kind"])
            columns["name"].append(hashes[name])
            columns["receiver"].append(hashes[receiver])
            columns["sound"].append(sounds[receiver])
            columns["line"].append(arrays["relations.line"].astype(np.int64))
            columns["outside"].append(places[name])
        whole = {name: np.concatenate(parts) if parts else np.empty(0, np.int64) for name, parts in columns.items()}
        live = snapshot.alive[snapshot.file_of_unit[whole["unit"]]] if len(whole["unit"]) else np.zeros(0, bool)
        whole = {name: column[live] for name, column in whole.items()}
        kind = whole.pop("kind").astype(np.int64)
        return cls(kind=kind & ~OF_RECEIVER, spoken_for=(kind & OF_RECEIVER) > 0, nodes=list(nodes), **whole)


@dataclass(frozen=True, slots=True)
class Bindings:
    """What the import statements of all files bind: (file, local name) -> (file, name there)."""

    table: Table  # (file, local) -> row of the columns below
    target: Array
    symbol: Array  # 0 where the local name stands for the file itself
    spoken: Array  # (file, word) of every word of an import statement, in order
    foreign: Array  # those of them that no statement of the file binds to a file here

    @classmethod
    def of(cls, snapshot: Snapshot, imports: Imports) -> Bindings:
        """Read and resolve the statements of all live files."""
        row_of = {path: row for row, path in enumerate(snapshot.paths) if snapshot.alive[row]}
        found: list[tuple[int, int, int, int]] = []
        spoken: list[int] = []
        for file, statement in _statements(snapshot):
            path = snapshot.paths[file]
            for binding in imports.bindings(snapshot.languages[file], path, statement):
                local, symbol = (name_hash(text) if text else 0 for text in (binding.local, binding.symbol))
                found += [(file, local, row_of[target], symbol) for target in binding.files if target in row_of]
            spoken += [file << 32 | name_hash(word) for word in WORD.findall(statement[:2000])]
        columns = np.array(found, np.int64).reshape(-1, 4)
        table = Table(keyed(columns[:, 0], columns[:, 1]), np.arange(len(columns)))
        words = distinct(np.array(spoken, np.int64))
        return cls(table, columns[:, 2], columns[:, 3], words, words[~member(words, table.keys)])


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


@dataclass(frozen=True, slots=True)
class Resolved:
    """Edges between units, or from a unit to a node outside (numbered after the units)."""

    source: Array
    target: Array
    kind: Array
    confidence: Array
    line: Array


class Resolver:
    """Takes mentions tier by tier; what a tier settles, no later one sees."""

    def __init__(self, symbols: Symbols, said: Mentions, bindings: Bindings) -> None:
        self.symbols, self.said, self.bindings = symbols, said, bindings
        self.file = symbols.file[said.unit] if len(said.unit) else said.unit
        self.family = symbols.family[self.file] if len(said.unit) else said.unit
        self.open = said.outside < 0
        self._found: list[tuple[Array, Array, Array]] = []  # (mention, target, worth)
        self._parents = Table(np.empty(0, np.int64), np.empty(0, np.int64))
        own = np.array([name_hash(word) for word in OWN], np.int64)
        self._own = np.isin(said.receiver, own)
        self._above = np.isin(said.receiver, np.array([name_hash(word) for word in ABOVE], np.int64))
        self._plain = said.receiver == 0
        self._receivers_needed = np.array([language in EXPLICIT for language in symbols.snapshot.languages], bool)
        self._expression = said.receiver == name_hash(EXPRESSION)

    def resolve(self) -> Resolved:
        """All edges, kin first: members are looked for along it."""
        kin = np.isin(self.said.kind, _KIN)
        self._resolve_kin(np.flatnonzero(kin & self.open))
        self.open &= ~kin
        self._own_members(np.flatnonzero(self.open & self._own))
        self.open &= ~self._own & (self.said.kind != _KIND["accesses_field"])
        self._through_receiver(np.flatnonzero(self.open & ~self._plain & ~self._expression))
        self._plain_names(np.flatnonzero(self.open & self._plain))
        self._by_name_alone(np.flatnonzero(self.open & ~self._from_outside()))
        return self._edges()

    # Kin.
    def _resolve_kin(self, rows: Array) -> None:
        before = len(self._found)
        self._settle(rows, self._types_named(rows, self.said.name[rows]), lambda mention, target: (mention, target))
        pairs = self._found[before:]
        mention = np.concatenate([pair[0] for pair in pairs]) if pairs else np.empty(0, np.int64)
        target = np.concatenate([pair[1] for pair in pairs]) if pairs else np.empty(0, np.int64)
        child = self._speaker()[mention]
        keep = (child >= 0) & (child != target)
        self._parents = Table(child[keep], target[keep])

    def _speaker(self) -> Array:
        """The unit that mentions; where a type speaks that is defined elsewhere, that type."""
        source = self.said.unit.copy()
        rows = np.flatnonzero(self.said.spoken_for)
        if len(rows):
            source[rows] = -1
            for place, table in ((self.file, self.symbols.in_file), (self.symbols.folder[self.file], self.symbols.in_folder)):
                low, high = table.find(keyed(place[rows], self.said.receiver[rows]))
                known = (high > low) & (source[rows] < 0)
                source[rows[known]] = table.rows[low[known]]
        return source

    def _types_named(self, rows: Array, name: Array) -> list[tuple[Array, Array]]:
        """Candidates for the types that mentions name, tier by tier: (place in rows, type)."""
        symbols, place = self.symbols, self.file[rows]
        tiers = [symbols.in_file.pairs(keyed(place, name))]
        tiers.append(self._bound(place, name))
        here = np.flatnonzero(~member(keyed(place, name), self.bindings.foreign))
        at, target = symbols.in_folder.pairs(keyed(symbols.folder[place[here]], name[here]))
        tiers.append((here[at], target))
        tiers.append(self._wildcard(place, name))
        inside = np.flatnonzero(~member(keyed(place, name), self.bindings.spoken))
        at, target = self._few(symbols.types, keyed(symbols.family[place[inside]], name[inside]), MOST_TYPES_BY_NAME)
        tiers.append((inside[at], target))
        return [(at[keep], target[keep]) for at, target in tiers for keep in (symbols.container[target],)]

    @staticmethod
    def _few(table: Table, keys: Array, most: int) -> tuple[Array, Array]:
        low, high = table.find(keys)
        high = np.where(high - low <= most, high, low)
        at, place = spread(low, high)
        return at, table.rows[place]

    def _bound(self, file: Array, name: Array) -> tuple[Array, Array]:
        """What an imported name stands for: a definition of another file."""
        at, row = self.bindings.table.pairs(keyed(file, name))
        symbol = self.bindings.symbol[row]
        at, row, symbol = at[symbol > 0], row[symbol > 0], symbol[symbol > 0]
        again, target = self.symbols.in_file.pairs(keyed(self.bindings.target[row], symbol))
        return at[again], target

    def _wildcard(self, file: Array, name: Array) -> tuple[Array, Array]:
        """What may come from files whose every name is visible."""
        at, row = self.bindings.table.pairs(keyed(file, np.zeros(len(file), np.int64)))
        again, target = self.symbols.in_file.pairs(keyed(self.bindings.target[row], name[at]))
        return at[again], target

    # Members.
    def _own_members(self, rows: Array) -> None:
        unit = self.said.unit[rows]
        owner = np.where(self.symbols.container[unit], unit, self.symbols.owner[unit])
        known = owner >= 0
        rows, owner = rows[known], owner[known]
        own = ~self._above[rows]
        self._members(rows[own], owner[own], np.ones(int(own.sum())))
        at, parent = self._parents.pairs(owner[~own])
        self._members(rows[~own][at], parent, np.ones(len(at)))

    def _members(self, mention: Array, of: Array, worth: Array) -> None:
        """Look for members in types, then in their parents, generation by generation."""
        for _ in range(GENERATIONS):
            if not len(mention):
                return
            at, target = self.symbols.of_type.pairs(keyed(of, self.said.name[mention]))
            self._note(mention[at], target, worth[at] / np.maximum(np.bincount(at, minlength=len(mention))[at], 1))
            left = self.open[mention]
            mention, of, worth = mention[left], of[left], worth[left]
            at, parent = self._parents.pairs(of)
            mention, of, worth = mention[at], parent, worth[at]

    def _through_receiver(self, rows: Array) -> None:
        """A receiver is an imported module, or a type, or a variable that is named after its type."""
        file, receiver = self.file[rows], self.said.receiver[rows]
        at, row = self.bindings.table.pairs(keyed(file, receiver))
        module = self.bindings.symbol[row] == 0
        again, target = self.symbols.in_file.pairs(keyed(self.bindings.target[row[module]], self.said.name[rows[at[module]]]))
        self._note(rows[at[module][again]], target, np.ones(len(again)))
        for at, of in self._types_named(rows, receiver):
            left = self.open[rows[at]]
            share = 1 / np.maximum(np.bincount(at, minlength=len(rows))[at], 1)
            self._members(rows[at[left]], of[left], share[left])
        left = rows[self.open[rows]]
        left = left[~member(keyed(self.file[left], self.said.receiver[left]), self.bindings.spoken)]
        at, of = self._few(self.symbols.types_by_sound, keyed(self.family[left], self.said.sound[left]), MOST_TYPES_BY_NAME)
        self._members(left[at], of, np.full(len(at), BY_NAME) / np.maximum(np.bincount(at, minlength=len(left))[at], 1))

    def _plain_names(self, rows: Array) -> None:
        unit = self.said.unit[rows]
        owner = self.symbols.owner[unit]
        # Where members need a receiver, only what stands in a module may be called by its mere name.
        free = ~self._receivers_needed[self.file[rows]] | np.isin(self.symbols.snapshot.kinds[owner], _MODULES)
        inside = (owner >= 0) & free
        self._members(rows[inside], owner[inside], np.ones(int(inside.sum())))
        tiers: list[Callable[[Array, Array], tuple[Array, Array]]] = [
            lambda file, name: self.symbols.in_file.pairs(keyed(file, name)),
            self._bound,
            self._wildcard,
            lambda file, name: self.symbols.in_folder.pairs(keyed(self.symbols.folder[file], name)),
        ]
        for tier in tiers:
            rows = rows[self.open[rows]]
            if tier is tiers[-1]:  # what a file imports is not what lies beside it
                rows = rows[~member(keyed(self.file[rows], self.said.name[rows]), self.bindings.foreign)]
            self._settle(rows, [tier(self.file[rows], self.said.name[rows])], lambda mention, target: (mention, target))

    def _settle(self, rows: Array, tiers: list[tuple[Array, Array]], pick: Callable[[Array, Array], tuple[Array, Array]]) -> None:
        for place, found in tiers:
            at, target = pick(place, found)
            left = self.open[rows[at]]
            at, target = at[left], target[left]
            size = np.bincount(at, minlength=len(rows))[at]
            few = size <= MOST_BY_NAME
            self._note(rows[at[few]], target[few], 1 / size[few])

    def _from_outside(self) -> Array:
        """Mentions of what an import statement names and no file here has: they stay outside."""
        name = np.where(self._plain | self._expression, self.said.name, self.said.receiver)
        return member(keyed(self.file, name), self.bindings.spoken)

    def _by_name_alone(self, rows: Array) -> None:
        table = self.symbols.anywhere
        most = np.where(self.said.kind[rows] == _KIND["calls"], MOST_BY_NAME, MOST_TYPES_BY_NAME)
        low, high = table.find(keyed(self.family[rows], self.said.name[rows]))
        high = np.where(high - low <= most, high, low)
        at, place = spread(low, high)
        self._note(rows[at], table.rows[place], BY_NAME / (high - low)[at])

    def _note(self, mention: Array, target: Array, worth: Array) -> None:
        if len(mention):
            self._found.append((mention, target, worth))
            self.open[mention] = False

    def _edges(self) -> Resolved:
        speaker = self._speaker()
        outside = np.flatnonzero(self.said.outside >= 0)
        self._found.append((outside, self.symbols.units + self.said.outside[outside], np.ones(len(outside))))
        mention, target, worth = (np.concatenate(parts) for parts in zip(*self._found, strict=True))
        source = speaker[mention]
        keep = (source >= 0) & (source != target)
        mention, target, worth, source = mention[keep], target[keep], worth[keep], source[keep]
        return Resolved(source, target, self.said.kind[mention], (CONFIDENCE * worth).astype(np.float32), self.said.line[mention])

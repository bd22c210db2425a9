"""Decides what every reference of a snapshot stands for (W2).

A name is looked up where its language would look it up: in the referring type and
its parents, in the file, in what the file imports, in its folder. Only then, and
only if few definitions have it, is it matched by name alone; the candidates share
the confidence. A name that was imported from outside the repository never stands
for something of the same name inside.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from whence.graph.builder.imports import Exports, ImportBindings, Pairs
from whence.graph.builder.types import Facts, TypeFinder
from whence.graph.outcomes import BY_PLACE, BY_TYPE, LOCAL, NAMED, OPEN, OUTSIDE
from whence.graph.reader import KIND_ROWS, PARSED_CONFIDENCE
from whence.index.segment import KIND_NAMES, OF_RECEIVER, name_hash
from whence.index.snapshot import Snapshot
from whence.index.symbols import IS_CALLABLE, IS_VALUE, NameTable, SymbolTable, scoped_key
from whence.parse.references import EXPRESSION, SELF_RECEIVERS, SUPER
from whence.storage.arrayfile import Array, unpack_strings
from whence.storage.postings import distinct, is_member
from whence.text.analyzer import normalize_identifier

#: What the names of endpoints begin with.
ENDPOINT_PREFIXES = ("route:", "env:", "process:")
#: A name with more definitions is ambiguous.
MAX_BY_NAME = 6
MAX_TYPES_BY_NAME = 3
#: Confidence of a match by name alone, relative to a resolved one.
BY_NAME = 0.6
#: How far up a member is looked up in parents, and how far out in enclosing types.
MAX_GENERATIONS = 6
MAX_ENCLOSING = 4
#: What may be of two types is sure to mean either; of more types, each a little less.
MAX_CERTAIN, SEVERAL = 2, 0.75
#: Receivers that mean only the parents of the type around the reference.
_PARENT_RECEIVERS = frozenset({SUPER, "base", "parent"})
#: Self receivers that are plain variables in every other language.
_SELF_ONLY_IN = {"base": "csharp", "parent": "php"}
#: Languages in which a member is never named without a receiver; of these, those in which only a member can follow a value.
_EXPLICIT_RECEIVER = frozenset("python javascript typescript tsx vue svelte go rust php lua perl".split())
_MEMBERS_ONLY = frozenset("python go php".split())
#: Languages in which any type, even an external one, can get members from elsewhere.
_EXTENSION_METHODS = frozenset("kotlin csharp swift scala".split())
#: Languages in which every file can reopen a module, and a capital first letter means a module or type.
_REOPENS_MODULES = frozenset({"ruby"})
#: Languages in which a type may be written in several parts.
_PARTIAL_TYPES = frozenset({"csharp", "ruby"})
_C_HEADERS = (".h", ".hh", ".hpp", ".hxx")
_CALLS = KIND_ROWS["calls"]
_MODULES = np.array([KIND_NAMES.index("module"), KIND_NAMES.index("namespace")])
_INHERITANCE = np.array([KIND_ROWS["extends"], KIND_ROWS["implements"]])
_NO_ROWS = np.empty(0, np.int64)
_NAMES = re.compile(r"\w+")

Tier = Callable[[Array, Array], Pairs]  # (file, name) of references -> (row among them, definition)
Match = tuple[Array, Array, Array]  # (reference, target, share of the confidence)


@dataclass(frozen=True, slots=True)
class EdgeColumns:
    """Edges between units, or from a unit to an endpoint (numbered after the units)."""

    source: Array
    target: Array
    kind: Array
    confidence: Array
    line: Array

    def take(self, rows: Array) -> EdgeColumns:
        """Some of the edges."""
        return EdgeColumns(self.source[rows], self.target[rows], self.kind[rows], self.confidence[rows], self.line[rows])


@dataclass(frozen=True, slots=True)
class ReferenceColumns:
    """Every reference in the live units of a snapshot; names are hashes, 0 for none."""

    unit: Array
    kind: Array
    name: Array
    receiver: Array
    folded_receiver: Array  # without case and underscores
    receiver_case: Array  # 2 if the receiver is written like a type, 1 like a constant, else 0
    line: Array
    by_receiver: Array  # whether the receiver is the type that refers, and not the unit around it: `impl Trait for Type`
    endpoint: Array  # row of `endpoints`, or -1
    path: Array  # row of `paths` for the receiver
    endpoints: list[str]
    paths: list[str]  # every receiver as written

    @classmethod
    def of(cls, snapshot: Snapshot) -> ReferenceColumns:
        """Read them from the segments."""
        names = ("unit", "kind", "name", "receiver", "folded_receiver", "receiver_case", "line", "endpoint", "path")
        columns: dict[str, list[Array]] = {name: [] for name in names}
        endpoints: dict[str, int] = {}
        paths: dict[str, int] = {}
        for segment, base in zip(snapshot.segments, snapshot.unit_bases, strict=False):
            arrays = segment.arrays
            texts = unpack_strings(arrays, "names").all()
            hashes = np.array([name_hash(text) if text else 0 for text in texts], np.int64)
            folded = np.array([name_hash(normalize_identifier(_last_word(text))) if text else 0 for text in texts], np.int64)
            cases = np.array([text[:1].isupper() * (2 - text.isupper()) for text in texts], np.int8)
            is_endpoint = (text.startswith(ENDPOINT_PREFIXES) for text in texts)
            rows = [endpoints.setdefault(text, len(endpoints)) if yes else -1 for text, yes in zip(texts, is_endpoint, strict=True)]
            name, receiver = arrays["relations.name"], arrays["relations.receiver"]
            columns["unit"].append(arrays["relations.unit"].astype(np.int64) + base)
            columns["kind"].append(arrays["relations.kind"])
            columns["name"].append(hashes[name])
            columns["receiver"].append(hashes[receiver])
            columns["folded_receiver"].append(folded[receiver])
            columns["receiver_case"].append(cases[receiver])
            columns["line"].append(arrays["relations.line"].astype(np.int64))
            columns["endpoint"].append(np.array(rows, np.int64)[name])
            known = {row: paths.setdefault(texts[row], len(paths)) for row in distinct(receiver.astype(np.int64)).tolist()}
            places = np.zeros(len(texts), np.int64)
            places[list(known)] = list(known.values())
            columns["path"].append(places[receiver])
        whole = {name: np.concatenate(parts) if parts else np.empty(0, np.int64) for name, parts in columns.items()}
        live = snapshot.alive[snapshot.file_of_unit[whole["unit"]]] if len(whole["unit"]) else np.zeros(0, bool)
        whole = {name: column[live] for name, column in whole.items()}
        kind = whole.pop("kind").astype(np.int64)
        endpoint, in_use = _in_use(whole.pop("endpoint").astype(np.int64), list(endpoints))
        by_receiver = (kind & OF_RECEIVER) > 0
        return cls(kind=kind & ~OF_RECEIVER, by_receiver=by_receiver, endpoint=endpoint, endpoints=in_use, paths=list(paths), **whole)


def _last_word(path: str) -> str:
    """The last name of a path: variables and fields often go by the name of their type."""
    words = _NAMES.findall(path)
    return words[-1] if words else path


def _in_use(rows: Array, endpoints: list[str]) -> tuple[Array, list[str]]:
    """Rows renumbered to the endpoints in use, sorted by name: an edited tree gets the same graph as a new one."""
    used = sorted(distinct(rows[rows >= 0]).tolist(), key=endpoints.__getitem__)
    place = np.full(len(endpoints) + 1, -1, np.int64)  # the last is for rows of -1
    place[used] = np.arange(len(used))
    return place[rows], [endpoints[row] for row in used]


class Resolver:
    """Resolves references tier by tier; a reference that one tier resolves is closed to the later ones."""

    def __init__(self, symbols: SymbolTable, references: ReferenceColumns, bindings: ImportBindings) -> None:
        self.symbols, self.references, self.bindings = symbols, references, bindings
        self.exports = Exports(symbols, bindings)
        self.file = symbols.file[references.unit] if len(references.unit) else references.unit
        self.family = symbols.family[self.file] if len(references.unit) else references.unit
        self.open = references.endpoint < 0
        self.outcome = np.full(len(references.unit), OPEN, np.uint8)
        self._matches: list[Match] = []
        self._parents = self._superclasses = NameTable(_NO_ROWS, _NO_ROWS)
        self._has_no_receiver = references.receiver == 0
        self._is_expression = references.receiver == name_hash(EXPRESSION)
        self._is_self = np.isin(references.receiver, _hashes(SELF_RECEIVERS))
        for word, language in _SELF_ONLY_IN.items():
            self._is_self &= (references.receiver != name_hash(word)) | self._in_language(frozenset({language}))
        self._is_super = self._is_self & np.isin(references.receiver, _hashes(_PARENT_RECEIVERS))
        self._needs_receiver = self._in_language(_EXPLICIT_RECEIVER)
        self._source = self._sources()

    def _in_language(self, languages: frozenset[str]) -> Array:
        """Whether each reference is in a file of one of these languages."""
        matches = np.array([language in languages for language in self.symbols.snapshot.languages], bool)
        return matches[self.file] if len(self.file) else np.zeros(0, bool)

    def resolve(self) -> EdgeColumns:
        """All edges. Inheritance first, because members are looked up along it."""
        inherits = np.isin(self.references.kind, _INHERITANCE)
        self._resolve_inheritance(np.flatnonzero(inherits & self.open))
        self._outside_parent = self._source[np.flatnonzero(inherits & self.open)]
        self.open &= ~inherits
        self._find_types()
        self._resolve_self(np.flatnonzero(self.open & self._is_self))
        self._resolve_by_type(np.flatnonzero(self.open & self._is_self))
        self.open &= ~self._is_self & (self.references.kind != KIND_ROWS["accesses_field"])
        self._resolve_by_receiver(np.flatnonzero(self.open & ~self._has_no_receiver & ~self._is_expression))
        self._resolve_plain(np.flatnonzero(self.open & self._has_no_receiver))
        rows = np.flatnonzero(self.open & ~self._missed & ~self._is_local())
        self._resolve_by_name(rows[~self._is_unresolvable(rows)])
        self._end_others()
        return self._edges()

    def _find_types(self) -> None:
        """Look up what the paths of receivers begin with."""
        facts = Facts(self.symbols.snapshot, self.symbols)
        self._types = TypeFinder(self.symbols, facts, self._parents, self.exports.module_members)
        self._missed = np.zeros(len(self.open), bool)  # what stands before it is of a known type, which has no such member
        self._place = self._types.places[self.references.unit]
        used = distinct(self._place << 32 | self.references.path)
        paths = [(key >> 32, self.references.paths[key & 0xFFFFFFFF]) for key in used.tolist()]
        plain = (self._in_file, self.exports.imported, self.exports.wildcard, self._in_folder, self._local_types)
        self._types.look_up_roots([*facts.paths, *paths], plain, [*self._type_tiers, self._local_types])

    def _resolve_by_type(self, rows: Array) -> None:
        """Members of the types that the path of the receiver leads to."""
        pair, back = np.unique(self._place[rows] << 32 | self.references.path[rows], return_inverse=True)
        found = [self._types.types(key >> 32, self.references.paths[key & 0xFFFFFFFF]) for key in pair.tolist()]
        known = [(at, of, many) for at, values in enumerate(found) for of, many in values]
        at, of, many = np.array(known, np.int64).reshape(-1, 3).T
        reference, one = NameTable(at, np.arange(len(at))).pairs(back)
        self._match_members(rows[reference], of[one], many[one])

    def _match_members(self, reference: Array, of: Array, many: Array) -> None:
        names = self.references.name
        known, targets, sizes = [], [], np.bincount(reference, minlength=len(self.open))
        for row, one, count in zip(reference.tolist(), of.tolist(), many.tolist(), strict=True):
            found = self._types.called((one, count), int(names[row]), is_call=self.references.kind[row] == _CALLS)
            known += [row] * len(found)
            targets += found
        single = many == 0
        reference, of = reference[single], of[single]
        missed = np.setdiff1d(reference, np.array(known, np.int64))
        elsewhere = np.isin(missed, reference[np.array([self._types.is_namespace(one) for one in of.tolist()], bool)])
        self._has_no_receiver[missed[elsewhere]] = True  # in another part of the namespace
        missed = missed[~elsewhere]
        self._missed[missed] = ~self._in_language(_EXTENSION_METHODS)[missed]
        self.outcome[missed[np.isin(missed, reference[self._types.has_parent_among(of, self._outside_parent)])]] = OUTSIDE
        rows = np.array(known, np.int64)
        self._match(rows, np.array(targets, np.int64), np.where(sizes[rows] <= MAX_CERTAIN, 1.0, SEVERAL), BY_TYPE)

    def _end_others(self) -> None:
        """Why what is still open is not known."""
        rows = np.flatnonzero(self.outcome == OPEN)
        rows = rows[self.references.endpoint[rows] < 0]
        name, paths = self.references.name[rows], self.references.paths
        texts = [paths[row] for row in self.references.path[rows].tolist()]
        root = np.array([name_hash(found[0]) if (found := _NAMES.match(text)) else 0 for text in texts], np.int64)
        word = np.where(root > 0, root, np.where([text == "" for text in texts], name, 0))
        external = is_member(scoped_key(self.file[rows], word), self.bindings.external_words)
        symbols = self.symbols
        defined = distinct(scoped_key(symbols.family[symbols.file], symbols.name)[symbols.defines])
        external |= ~is_member(scoped_key(self.family[rows], name), defined)
        self.outcome[rows[external]] = OUTSIDE
        self.outcome[rows[self._is_local()[rows]]] = LOCAL

    def _is_local(self) -> Array:
        """Whether each reference calls a value that its unit has by that name."""
        values = np.array([name_hash(text[1:]) if text[:1] == "?" else -1 for text in self.references.paths] or [-1], np.int64)
        return np.asarray(values[self.references.path] == self.references.name)

    # Inheritance.
    def _resolve_inheritance(self, rows: Array) -> None:
        before = len(self._matches)
        qualified = rows[~self._has_no_receiver[rows] & ~self._is_expression[rows] & ~self.references.by_receiver[rows]]
        self._resolve_module_members(qualified)
        self._resolve_type_members(qualified)
        external = is_member(scoped_key(self.file[qualified], self.references.receiver[qualified]), self.bindings.external_words)
        rows = np.setdiff1d(rows, qualified[external], assume_unique=True)
        self._resolve_local(rows[self._has_no_receiver[rows]])
        for tier in self._type_tiers:
            rows = rows[self.open[rows]]
            at, target = tier(self.file[rows], self.references.name[rows])
            other = target != self._source[rows[at]]  # `class Cart(stock.Cart)` does not extend itself
            self._match_few(rows, at[other], target[other])
        reference, target, _ = _joined(self._matches[before:])
        child = self._source[reference]
        is_edge = (child >= 0) & (child != target)
        reference, child, target = reference[is_edge], child[is_edge], target[is_edge]
        part, other = self._parts()
        self._parents = NameTable(np.concatenate([child, part]), np.concatenate([target, other]))
        extends = self.references.kind[reference] == KIND_ROWS["extends"]
        self._superclasses = NameTable(child[extends], target[extends])

    def _parts(self) -> Pairs:
        """Each part of a partial type with every other: they have one another's members."""
        symbols = self.symbols
        is_partial = np.array([language in _PARTIAL_TYPES for language in symbols.snapshot.languages], bool)
        rows = np.flatnonzero(symbols.container)
        rows = rows[is_partial[symbols.file[rows]]] if len(rows) else rows
        keys = scoped_key(symbols.family[symbols.file[rows]], symbols.full[rows])
        at, other = NameTable(keys, rows).pairs_up_to(keys, MAX_BY_NAME)
        apart = rows[at] != other
        return rows[at][apart], other[apart]

    def _sources(self) -> Array:
        """The unit that each reference is from; for `impl Trait for Type` that is the type, -1 if it is unknown."""
        source = self.references.unit.copy()
        rows = np.flatnonzero(self.references.by_receiver)
        source[rows] = -1
        for tier in self._type_tiers[:3]:
            left = rows[source[rows] < 0]
            at, target = tier(self.file[left], self.references.receiver[left])
            source[left[at[::-1]]] = target[::-1]  # the first of several
        return source

    @cached_property
    def _type_tiers(self) -> list[Tier]:
        """Where to look for the type that a name means, most certain first."""
        symbols = self.symbols

        def anywhere(file: Array, name: Array) -> Pairs:
            rows = np.flatnonzero(~is_member(scoped_key(file, name), self.bindings.words))
            at, target = symbols.types.pairs_up_to(scoped_key(symbols.family[file[rows]], name[rows]), MAX_TYPES_BY_NAME)
            return rows[at], target

        def types_only(tier: Tier) -> Tier:
            def types(file: Array, name: Array) -> Pairs:
                at, target = tier(file, name)
                is_type = symbols.container[target]
                return at[is_type], target[is_type]

            return types

        return [types_only(tier) for tier in (self._in_file, self.exports.imported, self._in_folder, self.exports.wildcard, anywhere)]

    def _in_file(self, file: Array, name: Array) -> Pairs:
        return self.symbols.in_file.pairs_up_to(scoped_key(file, name), MAX_BY_NAME)

    def _in_folder(self, file: Array, name: Array) -> Pairs:
        """Definitions in the same folder, except of names that the file imports from outside."""
        rows = np.flatnonzero(~is_member(scoped_key(file, name), self.bindings.external_words))
        at, target = self.symbols.in_folder.pairs_up_to(scoped_key(self.symbols.folder[file[rows]], name[rows]), MAX_BY_NAME)
        return rows[at], target

    # Members.
    def _resolve_self(self, rows: Array) -> None:
        unit = self.references.unit[rows]
        owner = self.symbols.own_type[unit]
        known = owner >= 0
        rows, owner = rows[known], owner[known]
        is_own = ~self._is_super[rows]
        self._resolve_members(rows[is_own], owner[is_own], np.ones(int(is_own.sum())))
        for parents in (self._superclasses, self._parents):  # interfaces only if no superclass has it
            left = np.flatnonzero(~is_own & self.open[rows])
            at, parent = parents.pairs(owner[left])
            self._resolve_members(rows[left[at]], parent, np.ones(len(at)))

    def _resolve_members(self, reference: Array, of: Array, share: Array, how: int = BY_PLACE) -> None:
        """Look up members in types, then in their parents, generation by generation."""
        for _ in range(MAX_GENERATIONS):
            if not len(reference):
                return
            at, target = self.symbols.of_type.first_pairs(scoped_key(of, self.references.name[reference]), MAX_BY_NAME)
            # Only a call means the constructor; any other use of the name means the type.
            fits = (self.references.kind[reference[at]] == _CALLS) | (self.symbols.name[target] != self.symbols.name[of[at]])
            at, target = at[fits], target[fits]
            held = IS_VALUE[self.symbols.snapshot.kinds[target]] & (self.references.kind[reference[at]] == _CALLS)
            called = ~held | ~np.isin(at, at[~held])  # a method, not the field of its name
            at, target = at[called], target[called]
            self._match(reference[at], target, share[at], how)
            left = self.open[reference]
            reference, of, share = reference[left], of[left], share[left]
            at, parent = self._parents.pairs(of)
            reference, of, share = reference[at], parent, share[at]

    def _resolve_by_receiver(self, rows: Array) -> None:
        """A receiver is an imported module, a type, or a variable named after its type."""
        self._resolve_module_members(rows)
        self._resolve_by_type(rows[self.open[rows]])
        left = rows[self.open[rows] & ~self._missed[rows]]
        left = left[~is_member(scoped_key(self.file[left], self.references.receiver[left]), self.bindings.words)]
        keys = scoped_key(self.family[left], self.references.folded_receiver[left])
        at, of = self.symbols.types_by_folded_name.pairs_up_to(keys, MAX_TYPES_BY_NAME)
        self._resolve_members(left[at], of, np.full(len(at), BY_NAME) / _counts(at, len(left)), NAMED)

    def _resolve_module_members(self, rows: Array) -> None:
        at, target = self.exports.module_members(self.file[rows], self.references.receiver[rows], self.references.name[rows])
        self._match_few(rows, at, target)

    def _resolve_type_members(self, rows: Array) -> None:
        for tier in self._type_tiers:
            rows = rows[self.open[rows]]
            at, of = tier(self.file[rows], self.references.receiver[rows])
            self._resolve_members(rows[at], of, 1 / _counts(at, len(rows)))

    # Names without a receiver.
    def _resolve_plain(self, rows: Array) -> None:
        self._resolve_local(rows)
        self._resolve_enclosing(rows[self.open[rows]])
        for tier in (self._in_file, self.exports.imported, self.exports.wildcard, self._in_folder):
            rows = rows[self.open[rows]]
            self._match_few(rows, *tier(self.file[rows], self.references.name[rows]))

    def _resolve_local(self, rows: Array) -> None:
        """What the functions around a reference define for themselves, the innermost first."""
        function = self.references.unit[rows]
        while len(rows):
            at, target = self.symbols.in_function.pairs_up_to(scoped_key(function, self.references.name[rows]), MAX_BY_NAME)
            other = (target != self.references.unit[rows[at]]) | (self.references.kind[rows[at]] == _CALLS)  # `class Cart(Cart)`
            self._match_few(rows, at[other], target[other])
            function = self.symbols.function[function]
            left = self.open[rows] & (function >= 0)
            rows, function = rows[left], function[left]

    def _local_types(self, file: Array, name: Array) -> Pairs:
        """The only type of a name that a function of the file defines for itself."""
        symbols = self.symbols
        rows = np.flatnonzero(symbols.container & symbols.is_local)
        return NameTable(scoped_key(symbols.file[rows], symbols.name[rows]), rows).pairs_up_to(scoped_key(file, name), 1)

    def _resolve_enclosing(self, rows: Array) -> None:
        """Members of the enclosing types and modules; only of modules where a member needs a receiver."""
        symbols = self.symbols
        owner = symbols.own_type[self.references.unit[rows]]
        reopens = self._in_language(_REOPENS_MODULES)
        for _ in range(MAX_ENCLOSING):
            inside = (owner >= 0) & self.open[rows]
            rows, owner = rows[inside], owner[inside]
            allowed = ~self._needs_receiver[rows] | np.isin(symbols.snapshot.kinds[owner], _MODULES)
            self._resolve_members(rows[allowed], owner[allowed], np.ones(int(allowed.sum())))
            left = reopens[rows] & self.open[rows]
            keys = _in_scope(self.family[rows[left]], symbols.full[owner[left]], self.references.name[rows[left]])
            self._match_few(rows[left], *self._in_reopened_modules.pairs_up_to(keys, MAX_BY_NAME))
            owner = symbols.owner[owner]

    @cached_property
    def _in_reopened_modules(self) -> NameTable:
        """Members of modules by the module's name, whatever file they are in."""
        symbols = self.symbols
        rows = np.flatnonzero(symbols.owner >= 0)
        rows = rows[np.isin(symbols.snapshot.kinds[symbols.owner[rows]], _MODULES)]
        return NameTable(_in_scope(symbols.family[symbols.file[rows]], symbols.scope[rows], symbols.name[rows]), rows)

    # By name alone.
    def _is_unresolvable(self, rows: Array) -> Array:
        """References that a name alone cannot resolve: to imports from outside, members of external types, builtin names."""
        name, receiver = self.references.name[rows], self.references.receiver[rows]
        word = np.where(self._has_no_receiver[rows] | self._is_expression[rows], name, receiver)
        external = is_member(scoped_key(self.file[rows], word), self.bindings.words)
        is_type = self.references.receiver_case[rows] >= np.where(self._in_language(_REOPENS_MODULES)[rows], 1, 2)
        known = is_member(scoped_key(self.family[rows], receiver), self.symbols.types.keys)
        external_type = is_type & ~known & ~self._in_language(_EXTENSION_METHODS)[rows]
        return external | external_type | np.isin(name, _hashes(builtin_names()))

    def _resolve_by_name(self, rows: Array) -> None:
        table, symbols = self.symbols.anywhere, self.symbols
        owner = symbols.owner[table.rows]
        is_member = (owner >= 0) & ~np.isin(symbols.snapshot.kinds[owner], _MODULES)
        is_method = is_member & IS_CALLABLE[symbols.snapshot.kinds[table.rows]]
        no_methods = self._has_no_receiver[rows] & self._needs_receiver[rows]
        members_only = ~self._has_no_receiver[rows] & self._in_language(_MEMBERS_ONLY)[rows]
        everything = np.ones(len(table.rows), bool)
        for chosen, allowed in ((no_methods, ~is_method), (members_only, is_member), (~no_methods & ~members_only, everything)):
            some, names = rows[chosen], NameTable(table.keys[allowed], table.rows[allowed])
            limit = np.where(self.references.kind[some] == _CALLS, MAX_BY_NAME, MAX_TYPES_BY_NAME)
            at, target = names.pairs_up_to(scoped_key(self.family[some], self.references.name[some]), limit)
            self._match(some[at], target, BY_NAME / np.bincount(at, minlength=len(some))[at], NAMED)

    # Matches.
    def _match_few(self, rows: Array, at: Array, target: Array) -> None:
        """Record matches of rows that are still open, unless there are too many to mean anything."""
        left = self.open[rows[at]]
        at, target = at[left], target[left]
        count = np.bincount(at, minlength=len(rows))[at]
        few = count <= MAX_BY_NAME
        self._match(rows[at[few]], target[few], 1 / count[few])

    def _match(self, reference: Array, target: Array, share: Array, how: int = BY_PLACE) -> None:
        if len(reference):
            self._matches.append((reference, target, share))
            self.open[reference] = False
            self.outcome[reference] = how

    def _edges(self) -> EdgeColumns:
        to_endpoint = np.flatnonzero(self.references.endpoint >= 0)
        endpoints = self.symbols.units + self.references.endpoint[to_endpoint]
        matches = _joined([*self._matches, (to_endpoint, endpoints, np.ones(len(to_endpoint)))])
        reference, target, share = self._with_definitions(*self._with_functions(*matches))
        source = self._source[reference]
        is_edge = (source >= 0) & (source != target)
        reference, target, share, source = reference[is_edge], target[is_edge], share[is_edge], source[is_edge]
        confidence = (PARSED_CONFIDENCE * share).astype(np.float32)
        held = np.array(self._types.held_functions(), np.int64).reshape(-1, 2)
        of_held = (np.full(len(held), KIND_ROWS["references"]), np.full(len(held), PARSED_CONFIDENCE), np.zeros(len(held), np.int64))
        columns = (source, target, self.references.kind[reference], confidence, self.references.line[reference])
        return EdgeColumns(*map(np.concatenate, zip(columns, (held[:, 0], held[:, 1], *of_held), strict=True)))

    def _with_functions(self, reference: Array, target: Array, share: Array) -> Match:
        """Calls of a constant or field mean the function that it holds."""
        kinds, target = self.symbols.snapshot.kinds, target.copy()
        inside = np.flatnonzero((target < self.symbols.units) & (self.references.kind[reference] == _CALLS))
        for row in inside[IS_VALUE[kinds[target[inside]]]].tolist():
            found = self._types.called_through(int(target[row]))
            if len(found) == 1:
                target[row] = found[0]
        return reference, target, share

    def _with_definitions(self, reference: Array, target: Array, share: Array) -> Match:
        """Matches of a declaration in a C header also match its definition, if there is only one."""
        snapshot, symbols = self.symbols.snapshot, self.symbols
        is_header = np.array([path.endswith(_C_HEADERS) for path in snapshot.paths], bool)
        if not is_header.any():
            return reference, target, share
        defined = np.flatnonzero(symbols.defines & IS_CALLABLE[snapshot.kinds] & ~is_header[symbols.file])
        table = NameTable(scoped_key(symbols.family[symbols.file[defined]], symbols.full[defined]), defined)
        inside = np.flatnonzero(target < symbols.units)
        rows = inside[is_header[symbols.file[target[inside]]] & IS_CALLABLE[snapshot.kinds[target[inside]]]]
        at, definition = table.pairs_up_to(scoped_key(symbols.family[symbols.file[target[rows]]], symbols.full[target[rows]]), 1)
        return _joined([(reference, target, share), (reference[rows[at]], definition, share[rows[at]])])


def builtin_names() -> frozenset[str]:
    """Names that the types of every language have, as written and with a first capital."""
    lines = Path(__file__).with_name("builtin_names.txt").read_text("utf-8").splitlines()
    names = [name for line in lines if not line.startswith("#") for name in line.split()]
    return frozenset([*names, *(name[0].upper() + name[1:] for name in names)])


def _in_scope(family: Array, scope: Array, name: Array) -> Array:
    """One key for a name in a scope of a language family."""
    return scoped_key(family, (scope * 0x9E3779B1 ^ name) & 0xFFFFFFFF)


def _counts(at: Array, size: int) -> Array:
    """How often each entry of `at` occurs in it."""
    return np.maximum(np.bincount(at, minlength=size)[at], 1)


def _joined(matches: Iterable[Match]) -> Match:
    references, targets, shares = zip((_NO_ROWS, _NO_ROWS, np.empty(0)), *matches, strict=True)
    return np.concatenate(references), np.concatenate(targets), np.concatenate(shares)


def _hashes(words: Iterable[str]) -> Array:
    return np.array([name_hash(word) for word in words], np.int64)

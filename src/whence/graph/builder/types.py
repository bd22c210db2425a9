"""Which types the paths of `parse.values` lead to, once all files are known.

A path is followed from its root, by what the file around it says of names, through the members of types and what units tell of
their results and fields. Roots are looked up for all paths at once; steps one by one, and each only once.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from whence.index.segment import KIND_NAMES, name_hash
from whence.index.snapshot import Snapshot
from whence.index.symbols import IS_CALLABLE, IS_VALUE, NameTable, SymbolTable, scoped_key
from whence.parse.values import EXTENDED
from whence.storage.arrayfile import Array, unpack_strings
from whence.text.tables import word_sections

_WORDS = {section: frozenset(map(name_hash, words)) for section, words in word_sections(Path(__file__).with_suffix(".txt")).items()}
#: A value that may be of more types is of none; how far facts are followed, and members looked up in parents.
MAX_TYPES, MAX_DEPTH, MAX_GENERATIONS = 4, 16, 6
#: Languages in which any file can add to a type of the same name.
_REOPENED = frozenset({"csharp", "ruby", "typescript", "swift"})
#: Languages in which a name alone calls.
_CALLS_BARE = frozenset({"ruby", "elixir"})
#: Languages in which members are named with what they belong to.
_EXPLICIT = frozenset("python javascript typescript tsx vue svelte go rust php lua perl".split())
_ENUM, _TYPE, _NAMESPACE = KIND_NAMES.index("enum"), KIND_NAMES.index("type"), KIND_NAMES.index("namespace")
_TOKEN = re.compile(r"[.]([^.\[{*(]+)|\(\)|\[\]|\{\}|\*")
_TYPE_NAME = re.compile(r"[a-z][\w.]*\.[A-Z]\w*")
_ROOT = re.compile(r"[:?]?[^.\[{*(]+(\(\))?")
_INITIALIZE = name_hash("initialize")
_ITERATES = tuple(map(name_hash, ("__iter__", "__getitem__", "__next__", "iterator", "each", "next", "begin", "get", "Current")))

Value = tuple[int, int]  # the row of a type, and how often it is many of that
Values = tuple[Value, ...]
ModuleMembers = Callable[[Array, Array, Array], tuple[Array, Array]]  # (file, receiver, name) -> (row among them, definition)
Tier = Callable[[Array, Array], tuple[Array, Array]]


class Parsed(NamedTuple):
    """One alternative of a path, parsed."""

    root: str
    hashed: int  # of the root
    is_call: bool  # whether the root is called
    steps: tuple[tuple[str, int], ...]  # the mark of each, and the hash of a member's name
    ends_in_call: bool
    dotted: int  # of the root with its first member: a module may be imported by both
    names_type: bool  # whether it is written like a type: `package.Type`


@cache
def parse_path(text: str) -> tuple[Parsed, ...]:
    """The alternatives of a path."""
    found = []
    for one in text.split("|"):
        root = _ROOT.match(one)
        if root is None or one.startswith(")"):
            continue
        name = root[0].removesuffix("()").lstrip(":?")
        steps = [(token[0][0], name_hash(token[1]) if token[1] else 0) for token in _TOKEN.finditer(one, root.end()) if token[0] != "()"]
        kind = root[0][0] if root[0][0] in ":?" else ""
        first = _TOKEN.match(one, root.end())
        dotted = name_hash(f"{name}.{first[1]}") if first and first[1] else 0
        is_type = _TYPE_NAME.fullmatch(one) is not None
        found.append(Parsed(kind + name, name_hash(name), bool(root[1]), tuple(steps), one.endswith("()"), dotted, is_type))
    return tuple(found)


class Facts:
    """What all live units tell of types."""

    def __init__(self, snapshot: Snapshot, symbols: SymbolTable) -> None:
        self.of_unit: dict[int, list[str]] = defaultdict(list)
        self.of_field: dict[int, list[tuple[str, int]]] = defaultdict(list)  # by (type, name): paths with the units that tell them
        self.paths: list[tuple[int, str]] = []  # (unit, path) of all
        self.added: dict[int, list[tuple[str, int]]] = defaultdict(list)  # by the name of a method that is added to a type: to which
        self.slots: list[tuple[int, int, str]] = []  # (value, name, path) of fields that the value fills
        for segment, base in zip(snapshot.segments, snapshot.unit_bases, strict=False):
            texts = unpack_strings(segment.arrays, "names").all()
            columns = (segment.arrays[f"facts.{name}"].tolist() for name in ("unit", "name", "path"))
            for row, name, path in zip(*columns, strict=True):
                unit = base + row
                if not snapshot.alive[symbols.file[unit]]:
                    continue
                self.paths.append((unit, texts[path]))
                if not texts[name]:
                    self.of_unit[unit].append(texts[path])
                    continue
                owner = int(symbols.own_type[unit])
                if texts[name] == EXTENDED:
                    self.added[int(symbols.name[unit])].append((texts[path], unit))
                elif IS_VALUE[snapshot.kinds[unit]]:
                    self.slots.append((unit, name_hash(texts[name]), texts[path]))
                elif owner >= 0:
                    self.of_field[owner << 32 | name_hash(texts[name])].append((texts[path], unit))


class TypeFinder:
    """Finds the types that paths lead to."""

    def __init__(self, symbols: SymbolTable, facts: Facts, parents: NameTable, module_members: ModuleMembers) -> None:
        self._symbols, self._facts, self._module_members = symbols, facts, module_members
        self._kind, self._owner, self._file = symbols.snapshot.kinds.tolist(), symbols.owner.tolist(), symbols.file.tolist()
        self._name = symbols.name.tolist()
        self._language = symbols.snapshot.languages
        self._parents = _rows_by_key(parents)
        self._of_type = _rows_by_key(symbols.of_type)
        self._take_objects()
        self._twins = self._find_twins()
        _, first, back = np.unique(scoped_key(symbols.file, symbols.own_type + 1), return_index=True, return_inverse=True)
        self.places: Array = first[back].astype(np.int64)  # of each unit: the first from which names mean the same
        self._plain: dict[int, list[int]] = {}
        self._types: dict[int, list[int]] = {}
        self._in_module: dict[tuple[int, int, int], list[int]] = {}
        self._known: dict[tuple[int, str], Values] = {}
        self._results: dict[int, Values] = {}
        self._members: dict[int, tuple[list[int], list[tuple[str, int]]]] = {}

    def look_up_roots(self, paths: Iterable[tuple[int, str]], plain: Sequence[Tier], types: Sequence[Tier]) -> None:
        """Look up the roots of paths in the files of the units that have them."""
        roots: set[int] = set()
        members: set[tuple[int, int, int]] = set()
        for unit, text in paths:
            file = self._file[unit]
            for path in parse_path(text):
                if path.root[0] != "?":
                    roots.add(file << 32 | path.hashed)
                if path.steps and path.steps[0][0] == ".":
                    members.add((file, path.hashed, path.steps[0][1]))
                    if len(path.steps) > 1 and path.steps[1][0] == ".":
                        members.add((file, path.dotted, path.steps[1][1]))
        keys = np.array(sorted(roots), np.int64)
        self._plain, self._types = _first_found(plain, keys), _first_found(types, keys)
        columns = np.array(sorted(members), np.int64).reshape(-1, 3)
        at, target = self._module_members(*columns.T)
        for row, unit in zip(at.tolist(), target.tolist(), strict=True):
            file, receiver, name = columns[row].tolist()
            self._in_module.setdefault((file, receiver, name), []).append(unit)

        for unit, name, text in self._facts.slots:
            for of, _ in self._result(unit, 0):
                self._facts.of_field[of << 32 | name].append((text, unit))

    def _take_objects(self) -> None:
        """Values and functions have what is defined in their name: `api.get = function`, methods of an object literal."""
        symbols = self._symbols
        inside = np.flatnonzero(symbols.defines & (symbols.scope > 0) & (symbols.owner < 0) & ~symbols.is_local)
        holders = NameTable(scoped_key(symbols.file, symbols.full)[symbols.defines], np.flatnonzero(symbols.defines))
        at, holder = holders.pairs_up_to(scoped_key(symbols.file[inside], symbols.scope[inside]), 1)
        self._holds = set(holder.tolist())
        for unit, one in zip(inside[at].tolist(), holder.tolist(), strict=True):
            self._owner[unit] = one
            self._of_type.setdefault(one << 32 | self._name[unit], []).append(unit)

    def _find_twins(self) -> dict[int, list[int]]:
        """Types of one name that are one type: partial classes, reopened modules."""
        symbols = self._symbols
        reopened = np.array([language in _REOPENED for language in self._language], bool)
        rows = np.flatnonzero(symbols.container)
        rows = rows[reopened[symbols.file[rows]]] if len(rows) else rows
        groups: dict[int, list[int]] = defaultdict(list)
        for row, key in zip(rows.tolist(), scoped_key(symbols.family[symbols.file[rows]], symbols.full[rows]).tolist(), strict=True):
            groups[key].append(row)
        return {row: group for group in groups.values() if 1 < len(group) <= 2 * MAX_TYPES for row in group}

    # Paths.
    def types(self, unit: int, text: str, depth: int = 0) -> Values:
        """The types of a path in a unit."""
        key = (unit, text)
        found = self._known.get(key)
        if found is None:
            if depth > MAX_DEPTH:
                return ()
            self._known[key] = ()  # a path that leads back to itself says nothing
            values = [value for path in parse_path(text) for value in self._follow(unit, path, depth)]
            found = self._known[key] = _few(values)
        return found

    def _follow(self, unit: int, path: Parsed, depth: int) -> Values:
        steps = path.steps
        values: Values = ()
        if steps and steps[0][0] == "." and path.root[0] not in "?:":
            values, steps = self._through_module(unit, path, depth)
        if not values:
            values, steps = self._root(unit, path, depth), path.steps
        for mark, name in steps:
            if not values:
                break
            values = _few([one for value in values for one in self._step(value, mark, name, depth)])
        return values or (self._types_named(self._file[unit], path.steps[-1][1]) if path.names_type else ())

    def _through_module(self, unit: int, path: Parsed, depth: int) -> tuple[Values, tuple[tuple[str, int], ...]]:
        file, steps = self._file[unit], path.steps
        found = self._in_module.get((file, path.hashed, steps[0][1]))
        if found:
            return self._of_units(found, depth), steps[1:]
        if len(steps) > 1 and steps[1][0] == ".":
            found = self._in_module.get((file, path.dotted, steps[1][1]))
            if found:
                return self._of_units(found, depth), steps[2:]
        return (), steps

    def _root(self, unit: int, path: Parsed, depth: int) -> Values:
        root, file = path.root, self._file[unit]
        owner = self._type_around(unit)
        if root == "self":
            return ((owner, 0),) if owner >= 0 else ()
        if root == "super":
            return tuple((parent, 0) for parent in self.parents_of(owner))
        if root[0] == "?":
            return ()
        if root[0] == ":":
            return self._types_named(file, path.hashed)
        if self._language[file] not in _EXPLICIT:
            while owner >= 0:
                values = self._of_member(owner, path.hashed, depth)
                if values:
                    return values
                owner = self._owner[owner]
        found = self._plain.get(file << 32 | path.hashed, ())
        callables = path.is_call or self._language[file] in _CALLS_BARE
        units = [one for one in found if callables or one in self._holds or not IS_CALLABLE[self._kind[one]]]
        return self._of_units(units, depth) or self._types_named(file, path.hashed)

    def _type_around(self, unit: int) -> int:
        if self._symbols.container[unit]:
            return unit
        return self._owner[unit] if self._owner[unit] >= 0 else int(self._symbols.own_type[unit])

    def _types_named(self, file: int, hashed: int) -> Values:
        return _few([value for unit in self._types.get(file << 32 | hashed, ()) for value in self._of_unit(unit, 0)])

    def _of_units(self, units: Iterable[int], depth: int) -> Values:
        return _few([value for unit in units for value in self._of_unit(unit, depth)])

    def _of_unit(self, unit: int, depth: int, receiver: int = -1) -> Values:
        """What a unit is, holds or returns."""
        if self._symbols.container[unit]:
            if self._kind[unit] == _TYPE and unit in self._facts.of_unit:
                return self._result(unit, depth) or ((unit, 0),)
            return ((unit, 0),)
        values = self._result(unit, depth) or (((unit, 0),) if unit in self._holds else ())
        if receiver >= 0 and values and "self" in self._facts.of_unit.get(unit, ()):
            values = ((receiver, 0), *(value for value in values if value[0] != self._owner[unit]))
        return values

    def _result(self, unit: int, depth: int) -> Values:
        found = self._results.get(unit)
        if found is None:
            self._results[unit] = ()
            paths = self._facts.of_unit.get(unit, ())
            found = self._results[unit] = _few([value for path in paths for value in self.types(unit, path, depth + 1)])
        return found

    def _step(self, value: Value, mark: str, name: int, depth: int) -> Values:
        of, many = value
        if mark == "[" and not many:
            return self._one_of(of, depth)
        if mark != ".":
            return ((of, many + 1 if mark == "*" else max(many - 1, 0)),)
        if many and name in self._facts.added and (found := self._of_units(self._added(value, name), depth)):
            return found
        if many:
            return () if name in _WORDS["changing"] else ((of, many - (name in _WORDS["element"])),)
        found = self._of_member(of, name, depth) or self._of_units(self._added(value, name), depth)
        if found:
            return found
        stays = name in _WORDS["same"] or self._kind[of] == _ENUM
        return (value,) if stays and not self.members(of, name)[0] else ()

    def _one_of(self, of: int, depth: int) -> Values:
        for name in _ITERATES:
            values = self._of_member(of, name, depth)
            if values:
                return _few([(one, max(many - 1, 0)) for one, many in values])
        return ()

    def _of_member(self, of: int, name: int, depth: int) -> Values:
        units, paths = self.members(of, name)
        values = [value for unit in units for value in self._of_unit(unit, depth, of)]
        return _few(values + [value for path, unit in paths for value in self.types(unit, path, depth + 1)])

    # Members.
    def parents_of(self, of: int) -> list[int]:
        """The parents of a type, and of its other parts."""
        return [parent for one in self._twins.get(of, (of,)) for parent in self._parents.get(one, ())]

    def members(self, of: int, name: int) -> tuple[list[int], list[tuple[str, int]]]:
        """The members of a name that a type has, its own or from the nearest parents: units, and paths with the units that tell them."""
        key = of << 32 | name
        found = self._members.get(key)
        if found is None:
            found = self._members[key] = self._find_members(of, name)
        return found

    def _find_members(self, of: int, name: int) -> tuple[list[int], list[tuple[str, int]]]:
        level, seen = [of], {of}
        for _ in range(MAX_GENERATIONS):
            whole = [twin for one in level for twin in self._twins.get(one, (one,))]
            units = [unit for one in whole for unit in self._of_type.get(one << 32 | name, ())]
            units += [parent for one in whole for parent in self._parents.get(one, ()) if self._name[parent] == name and not units]
            paths = [path for one in whole for path in self._facts.of_field.get(one << 32 | name, ())]
            if units or paths:
                return units, paths
            level = [parent for one in whole for parent in self._parents.get(one, ()) if parent not in seen]
            seen.update(level)
            if not level:
                break
        return [], []

    def called(self, value: Value, name: int, *, is_call: bool) -> list[int]:
        """What a member of a type is, by name: a constructor is its type, a field that holds a function is that."""
        of, many = value
        units, paths = self.members(of, name) if not many else ([], [])
        if not units and not paths and name in self._facts.added:
            return self._added(value, name)
        if not is_call:
            return [unit for unit in units if unit != of]
        if not units and not paths and name in _WORDS["constructors"] and self._language[self._file[of]] in _CALLS_BARE:
            return self.members(of, _INITIALIZE)[0] or [of]
        return units[:MAX_TYPES] or [one for path, unit in paths for one in self.functions(unit, path)]

    def _added(self, value: Value, name: int) -> list[int]:
        """The methods that other files add to a type, or to many of it."""
        of, many = value
        above, seen = [of], {of}
        for one in above:
            above += [parent for parent in self.parents_of(one) if parent not in seen]
            seen.update(above)

        def fits(text: str, unit: int) -> bool:
            return any(one in seen and is_many == many for one, is_many in self.types(unit, text))

        return [unit for text, unit in self._facts.added[name] if fits(text, unit)]

    def has_parent_among(self, of: Array, parents: Array) -> Array:
        """Whether each type is one of some types, or has one above it."""
        chosen = set(parents.tolist())

        @cache
        def has(one: int, left: int = MAX_GENERATIONS) -> bool:
            return one in chosen or (left > 0 and any(has(parent, left - 1) for parent in self.parents_of(one)))

        return np.array([has(one) for one in of.tolist()], bool)

    # Functions that are given as values.
    def functions(self, unit: int, text: str) -> list[int]:
        """The functions that a path names without calling them."""
        found: list[int] = []
        for path in parse_path(text):
            if path.ends_in_call or path.root[0] in "?:":
                continue
            if not path.steps:
                found += [one for one in self._plain.get(self._file[unit] << 32 | path.hashed, ()) if IS_CALLABLE[self._kind[one]]]
            elif path.steps[-1][0] == ".":
                values = self._follow(unit, path._replace(steps=path.steps[:-1], names_type=False), 0)
                units = [one for of, many in values if not many for one in self.members(of, path.steps[-1][1])[0]]
                units = units or self._in_module.get((self._file[unit], path.hashed, path.steps[0][1]), [])
                found += [one for one in units if IS_CALLABLE[self._kind[one]]]
        return found[:MAX_TYPES]

    def held_functions(self) -> list[tuple[int, int]]:
        """Each constant or field with the functions that it is given by name."""
        return [(unit, one) for unit in self._facts.of_unit if IS_VALUE[self._kind[unit]] for one in self.called_through(unit)]

    def is_namespace(self, unit: int) -> bool:
        """Whether a unit is a part of a namespace, which has others elsewhere."""
        return bool(self._kind[unit] == _NAMESPACE)

    def called_through(self, unit: int) -> list[int]:
        """The functions that a constant or field holds."""
        paths = self._facts.of_unit.get(unit, ()) if IS_VALUE[self._kind[unit]] else ()
        return [one for path in paths for one in self.functions(unit, path)]


def _few(values: Sequence[Value]) -> Values:
    found = tuple(dict.fromkeys(values))
    return found if len(found) <= MAX_TYPES else ()


def _rows_by_key(table: NameTable) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for key, row in zip(table.keys.tolist(), table.rows.tolist(), strict=True):
        found.setdefault(key, []).append(row)
    return found


def _first_found(tiers: Sequence[Tier], keys: Array) -> dict[int, list[int]]:
    """What the first tier that knows a (file, name) finds."""
    found: dict[int, list[int]] = {}
    left = keys
    for tier in tiers:
        at, target = tier(left >> 32, left & 0xFFFFFFFF)
        for key, row in zip(left[at].tolist(), target.tolist(), strict=True):
            found.setdefault(key, []).append(row)
        left = np.array([key for key in left.tolist() if key not in found], np.int64)
    return {key: rows for key, rows in found.items() if len(rows) <= MAX_TYPES}

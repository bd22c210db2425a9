"""What is known of the units of a whole snapshot as symbols: by name, by place, by what encloses them."""

from __future__ import annotations

from _blake2 import blake2b  # hashlib would load all of OpenSSL
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from whence.core.types import CALLABLES, CODE, CONTAINERS, VALUES
from whence.index.segment import DEFINES, KIND_NAMES, name_hash
from whence.parse.paths import Role
from whence.storage.arrayfile import Array, unpack_strings
from whence.storage.postings import spread

if TYPE_CHECKING:
    from whence.index.snapshot import Snapshot

#: Languages that call one another by name; every other language is a family of its own.
FAMILIES = (
    frozenset({"javascript", "typescript", "tsx", "vue", "svelte", "html"}),
    frozenset({"c", "cpp"}),
    frozenset({"java", "kotlin", "scala"}),
)
#: Languages in which a type inside another is `Outer::Inner` and a method is set off by another mark.
SCOPED_WITH_COLONS = frozenset({"ruby"})
IS_CONTAINER = np.array([kind in CONTAINERS for kind in KIND_NAMES])
IS_CALLABLE = np.array([kind in CALLABLES for kind in KIND_NAMES])
IS_INTERFACE = np.array([kind in ("interface", "trait") for kind in KIND_NAMES])
IS_FUNCTION = np.array([kind == "function" for kind in KIND_NAMES])
IS_VALUE = np.array([kind in VALUES for kind in KIND_NAMES])


class NameTable:
    """Keys in order, each with the rows that stand under it."""

    def __init__(self, keys: Array, rows: Array) -> None:
        order = np.argsort(keys, kind="stable")
        self.keys, self.rows = keys[order], rows[order]

    def find(self, wanted: Array) -> tuple[Array, Array]:
        """Where the rows of each key begin and end."""
        return np.searchsorted(self.keys, wanted), np.searchsorted(self.keys, wanted, side="right")

    def pairs(self, wanted: Array) -> tuple[Array, Array]:
        """(place of the key, row) for every row of every key."""
        place, at = spread(*self.find(wanted))
        return place, self.rows[at]

    def pairs_up_to(self, wanted: Array, most: int | Array) -> tuple[Array, Array]:
        """(place of the key, row) for the rows of the keys that have no more than so many."""
        low, high = self.find(wanted)
        place, at = spread(low, np.where(high - low <= most, high, low))
        return place, self.rows[at]

    def first_pairs(self, wanted: Array, most: int) -> tuple[Array, Array]:
        """(place of the key, row) for so many of the first rows of every key."""
        low, high = self.find(wanted)
        place, at = spread(low, np.minimum(high, low + most))
        return place, self.rows[at]


@dataclass(frozen=True, slots=True)
class TypeTable:
    """The types of a snapshot with all that belongs to each."""

    rows: Array  # of the types, in order
    of: Array  # of each unit: the number of the type that it is or belongs to, -1 for none
    members: NameTable  # units by the row of their type, the type itself among them


def scoped_key(place: Array, hashed: Array) -> Array:
    """One number for a place and a name."""
    return np.asarray(place, np.int64) << 32 | np.asarray(hashed, np.int64)


def possible_paths(key: str) -> list[str]:
    """The paths that a key may begin with: names of files and of symbols may hold the mark between them too."""
    return [key[:at] for at, letter in enumerate(key) if letter == "#"]


class SymbolTable:
    """Columns over all units, dead ones too; tables hold only live definitions."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self.units = snapshot.units
        self.file = np.asarray(snapshot.file_of_unit, np.int64)
        self.name = snapshot.column("units.name_hash").astype(np.int64)
        self.scope = snapshot.column("units.scope_hash").astype(np.int64)
        self.sound = snapshot.column("units.sound_hash").astype(np.int64)
        self.full = snapshot.column("units.full_hash").astype(np.int64)
        alive = snapshot.alive[self.file] if self.units else np.zeros(0, bool)
        self.defines = alive & ((snapshot.column("units.flags") & DEFINES) > 0)
        self.container = self.defines & IS_CONTAINER[snapshot.kinds]
        self.test = (snapshot.column("files.roles") & int(Role.TEST)) > 0

    @cached_property
    def family(self) -> Array:
        """The family of each file's language."""
        known: dict[str, int] = {}
        numbers = []
        for language in self.snapshot.languages:
            family = next((f"family {at}" for at, one in enumerate(FAMILIES) if language in one), language)
            numbers.append(known.setdefault(family, len(known)))
        return np.array(numbers, np.int64)

    @cached_property
    def folder(self) -> Array:
        """The folder of each file, as a number that also tells the family apart."""
        known: dict[tuple[str, int], int] = {}
        pairs = zip((path.rpartition("/")[0] for path in self.snapshot.paths), self.family.tolist(), strict=True)
        return np.array([known.setdefault(pair, len(known)) for pair in pairs], np.int64)

    @cached_property
    def function(self) -> Array:
        """The innermost function that each unit is defined in, as its row; -1 where it is in none."""
        function = np.full(self.units, -1, np.int64)
        inside = self.snapshot.column("units.inside").astype(np.int64)
        holders = np.flatnonzero(inside)
        at, unit = spread(holders + 1, holders + 1 + inside[holders])
        function[unit] = holders[at]  # inner ones come later, and write over outer ones
        return function

    @cached_property
    def is_local(self) -> Array:
        """Whether each unit is defined by a function for itself, and can be named in it alone."""
        return (self.function >= 0) & (self.owner <= self.function)

    @cached_property
    def own_type(self) -> Array:
        """The type that `self` means in each unit: itself, the one it is a member of, or that of the function around it; -1 for none."""
        found = np.where(self.container, np.arange(self.units), self.owner)
        for unit in np.flatnonzero((found < 0) & (self.function >= 0)).tolist():
            found[unit] = found[self.function[unit]]
        return found

    @cached_property
    def owner(self) -> Array:
        """The type that each unit is a member of, as its row; -1 where it is of none."""
        owner = np.full(self.units, -1, np.int64)
        types = np.flatnonzero(self.container)
        open_ = np.flatnonzero(self.defines & (self.scope > 0))
        open_ = open_[(self.function[open_] < 0) | (self.scope[open_] != self.full[self.function[open_]])]
        for place in (self.file, self.folder[self.file], self.family[self.file]):
            table = NameTable(scoped_key(place[types], self.full[types]), types)
            low, high = table.find(scoped_key(place[open_], self.scope[open_]))
            known = high > low
            if place is not self.file:
                known &= high - low == 1
            owner[open_[known]] = table.rows[low[known]]
            open_ = open_[~known]
        return owner

    @cached_property
    def type_table(self) -> TypeTable:
        """The types that have members or are ones themselves, and what belongs to each."""
        of = np.where(self.owner >= 0, self.owner, np.where(self.container, np.arange(self.units), -1))
        inside = np.flatnonzero(of >= 0)
        is_type = np.zeros(self.units, bool)
        is_type[of[inside]] = True
        rows, numbers = np.flatnonzero(is_type), np.full(self.units, -1)
        numbers[rows] = np.arange(len(rows))
        return TypeTable(rows, np.where(of >= 0, numbers[of], -1), NameTable(of[inside], inside))

    @cached_property
    def members(self) -> Array:
        """How many members each unit has."""
        return np.bincount(self.owner[self.owner >= 0], minlength=self.units)

    @cached_property
    def namesakes(self) -> Array:
        """How many live definitions bear each unit's name."""
        rows = np.flatnonzero(self.defines)
        names = np.sort(self.name[rows])
        return np.searchsorted(names, self.name, side="right") - np.searchsorted(names, self.name)

    # Tables of definitions.
    def _table(self, chosen: Array, place: Array, name: Array) -> NameTable:
        rows = np.flatnonzero(chosen)
        return NameTable(scoped_key(place[rows], name[rows]), rows)

    @cached_property
    def in_file(self) -> NameTable:
        """Definitions by (file, name), members of types and what is local to functions left out."""
        return self._table(self.defines & (self.owner < 0) & ~self.is_local, self.file, self.name)

    @cached_property
    def in_folder(self) -> NameTable:
        """Definitions by (folder, name), members of types and what is local to functions left out."""
        return self._table(self.defines & (self.owner < 0) & ~self.is_local, self.folder[self.file], self.name)

    @cached_property
    def in_function(self) -> NameTable:
        """What functions define for themselves, by (function, name)."""
        return self._table(self.defines & self.is_local, self.function, self.name)

    @cached_property
    def of_type(self) -> NameTable:
        """Members by (type, name)."""
        return self._table(self.owner >= 0, self.owner, self.name)

    @cached_property
    def anywhere(self) -> NameTable:
        """Callables and types outside tests by (family, name), without what is local to functions."""
        chosen = self.defines & ~IS_VALUE[self.snapshot.kinds] & ~self.test[self.file] & ~self.is_local
        return self._table(chosen, self.family[self.file], self.name)

    @cached_property
    def types(self) -> NameTable:
        """Types outside tests by (family, name), without what is local to functions."""
        return self._table(self.container & ~self.test[self.file] & ~self.is_local, self.family[self.file], self.name)

    @cached_property
    def types_by_folded_name(self) -> NameTable:
        """Types by (family, name without case and underscores), so that `http_client` finds HttpClient."""
        return self._table(self.container & ~self.test[self.file] & ~self.is_local, self.family[self.file], self.sound)

    @cached_property
    def by_folded_name(self) -> NameTable:
        """Definitions outside tests by name without case and underscores; names of the language's own by themselves."""
        rows = np.flatnonzero(self.defines & ~self.test[self.file])
        return NameTable(self.sound[rows], rows)

    # Names as text.
    @cached_property
    def _scopes(self) -> list[tuple[int, list[str], Array]]:
        found = []
        for segment, base in zip(self.snapshot.segments, self.snapshot.unit_bases, strict=False):
            found.append((base, unpack_strings(segment.arrays, "names").all(), segment.arrays["units.scope"]))
        return found

    def qualified_name(self, unit: int) -> str:
        """A unit's name with the names around it; empty for a run of lines."""
        name = self.snapshot.unit_name(unit)
        for base, names, scope in reversed(self._scopes):
            if unit >= base:
                around = names[int(scope[unit - base])]
                return f"{around}.{name}" if around and name else name
        return name

    def written_name(self, unit: int) -> str:
        """A unit's full name as its language writes it: `Shop::Cart.add` in Ruby, `Cart.add` elsewhere."""
        name = self.qualified_name(unit)
        if self.snapshot.languages[int(self.file[unit])] not in SCOPED_WITH_COLONS:
            return name
        around, _, last = name.rpartition(".")
        between = "::" if IS_CONTAINER[self.snapshot.kinds[unit]] else "."
        return around.replace(".", "::") + between + last if around else last

    def key(self, unit: int) -> str:
        """What a unit is called outside one snapshot: `path#qualified.name`."""
        return f"{self.snapshot.path(int(self.file[unit]))}#{self.qualified_name(unit)}"

    def find(self, key: str) -> list[int]:
        """The live definitions of a key; several where a file defines a name more than once."""
        path = next((path for path in possible_paths(key) if path in self.file_row), "")
        file, name = self.file_row.get(path, -1), key[len(path) + 1 :]
        if file < 0:
            return []
        units = np.arange(int(self.snapshot.unit_starts[file]), int(self.snapshot.unit_starts[file + 1]))
        same = units[self.defines[units] & (self.full[units] == name_hash(name))]
        return [unit for unit in same.tolist() if self.qualified_name(unit) == name]

    @cached_property
    def file_row(self) -> dict[str, int]:
        """The row of each live file by its path."""
        return {path: row for row, path in enumerate(self.snapshot.paths) if self.snapshot.alive[row]}


class PackageHashes:
    """Hashes of the code around symbols, which change with any file of their folder (L3); each computed once."""

    def __init__(self, symbols: SymbolTable, hashes: Callable[[Iterable[str]], Mapping[str, bytes]]) -> None:
        self.symbols, self._hashes = symbols, hashes
        self._known: dict[tuple[str, str], str] = {}

    def of(self, key: str) -> str:
        """The hash of the package of `path#qualified.name`; empty if the symbol no longer exists."""
        path, _, name = key.partition("#")
        file = self.symbols.file_row.get(path, -1)
        starts = self.symbols.snapshot.unit_starts
        if file < 0 or all(self.symbols.qualified_name(unit) != name for unit in range(int(starts[file]), int(starts[file + 1]))):
            return ""
        is_code = self.symbols.snapshot.content_mask(CODE)[file]
        return self._of_folder(path.rpartition("/")[0], "" if is_code else path)

    def _of_folder(self, folder: str, other: str) -> str:
        """The hash of the code in a folder, and of one other file."""
        if (folder, other) not in self._known:
            is_code, rows = self.symbols.snapshot.content_mask(CODE), self.symbols.file_row
            paths = [path for path, row in rows.items() if path == other or (is_code[row] and path.rpartition("/")[0] == folder)]
            digest = blake2b(digest_size=16)
            for path, content in sorted(self._hashes(paths).items()):
                name = path.encode("utf-8", "surrogateescape")
                digest.update(len(name).to_bytes(4, "little") + name + content)
            self._known[folder, other] = digest.hexdigest()
        return self._known[folder, other]

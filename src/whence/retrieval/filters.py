"""Which files and units may be returned: filters, the conditions of a query, and lines that match a pattern."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from whence.index.segment import CONTENTS, KIND_NAMES
from whence.index.snapshot import Snapshot
from whence.query.filters import Filters
from whence.query.parser import AllOf, AnyOf, Condition, Leaf, find_phrase, path_predicate
from whence.source.ignore import BACKEND
from whence.storage.arrayfile import Array
from whence.text import analyzer
from whence.text.analyzer import QUERY_STOP_WORDS

if TYPE_CHECKING:
    from whence.index.reader import TextReader
    from whence.query.patterns import Pattern


def file_mask(snapshot: Snapshot, filters: Filters) -> Array:
    """A mask of the files that pass every filter; do not write to it."""
    mask = snapshot.alive if filters.content == "all" else snapshot.content_mask(filters.content)
    if filters.languages:
        mask = mask & np.array([name in filters.languages for name in snapshot.languages], bool)
    if filters.paths and "" not in filters.paths:
        mask = mask & np.array([any(f"{path}/".startswith(f"{one}/") for one in filters.paths) for path in snapshot.paths], bool)
    if filters.include:
        mask = mask & _glob_mask(snapshot, filters.include)
    if filters.exclude:
        mask = mask & ~_glob_mask(snapshot, filters.exclude)
    return mask


def unit_mask(snapshot: Snapshot, filters: Filters) -> Array | None:
    """A mask of the units of the given kinds; None when any kind will do."""
    if not filters.kinds:
        return None
    return np.array([kind in filters.kinds for kind in KIND_NAMES])[snapshot.kinds]


def _glob_mask(snapshot: Snapshot, globs: tuple[str, ...]) -> Array:
    from pathspec import GitIgnoreSpec  # noqa: PLC0415  -- only where globs are given

    spec = GitIgnoreSpec.from_lines((glob.lstrip("!") for glob in globs), backend=BACKEND)
    return np.array([spec.match_file(path) for path in snapshot.paths], bool)


def matching_lines(snapshot: Snapshot, files: Array, pattern: Pattern, reader: TextReader) -> dict[int, list[int]]:
    """For each file of a mask with a match, the lines that match; the index says which files need to be read."""
    if pattern.requirement is not None:
        files = files & snapshot.possible_files(pattern.requirement.files)
    rows = {snapshot.path(file): file for file in np.flatnonzero(files).tolist()}
    return {rows[path]: lines for path, lines in reader.find_lines(sorted(rows), pattern.find_lines)}


def units_with_lines(snapshot: Snapshot, lines: dict[int, list[int]]) -> Array:
    """A mask of the units that hold one of these lines; a line between units counts for the one before it."""
    mask = np.zeros(snapshot.units, bool)
    first, last, starts = snapshot.column("units.first"), snapshot.column("units.last"), snapshot.unit_starts
    for file, numbers in lines.items():
        a, b = int(starts[file]), int(starts[file + 1])
        wanted = np.array(numbers)
        holds = (first[a:b, None] <= wanted[None, :]) & (wanted[None, :] <= last[a:b, None])
        mask[a:b] |= holds.any(axis=1)
        for number in wanted[~holds.any(axis=0)].tolist():
            before = np.flatnonzero(first[a:b] <= number)
            mask[a + (int(before[-1]) if len(before) else 0)] = True
    return mask


def lines_in_units(snapshot: Snapshot, lines: dict[int, list[int]], units: Array) -> dict[int, list[int]]:
    """Those of the lines that lie in a unit of a mask."""
    first, last, starts = snapshot.column("units.first"), snapshot.column("units.last"), snapshot.unit_starts
    inside = {}
    for file, numbers in lines.items():
        rows = np.flatnonzero(units[int(starts[file]) : int(starts[file + 1])]) + int(starts[file])
        kept = [number for number in numbers if any(first[row] <= number <= last[row] for row in rows.tolist())]
        if kept:
            inside[file] = kept
    return inside


#: Resolves `sym:`, `callers:` or `callees:` to units, in the order of an answer.
ResolveName = Callable[[Leaf], Array]
_OF_FILES = frozenset({"path", "lang", "in"})
_BY_NAME = frozenset({"sym", "callers", "callees"})
#: Conditions that read the files themselves.
_READS = frozenset({"phrase", "regex"})


@dataclass(frozen=True, slots=True)
class Restriction:
    """The units that the conditions of a query leave."""

    units: Array  # a mask
    lines: dict[int, list[int]] = field(default_factory=dict)  # by file: the lines that a phrase or a pattern matches
    ordered: Array | None = None  # units asked for by name, in the order of the answer
    notes: tuple[str, ...] = ()
    optional: frozenset[str] = frozenset()  # terms that need not match even where every word must


def restrict(
    conditions: Sequence[Condition], snapshot: Snapshot, files: Array, units: Array | None, reader: TextReader, resolve: ResolveName
) -> Restriction:
    """Apply conditions, all of which must hold, to a mask of files and one of units."""
    matcher = _ConditionMatcher(snapshot, reader, resolve)
    mask = snapshot.unit_mask(files) if units is None else snapshot.unit_mask(files) & units
    mask = matcher.all_of(conditions, mask)
    return Restriction(
        mask,
        lines_in_units(snapshot, matcher.lines, mask),
        np.concatenate(matcher.ordered) if matcher.ordered else None,
        tuple(matcher.notes),
    )


class _ConditionMatcher:
    """Evaluates one query's conditions over one snapshot."""

    def __init__(self, snapshot: Snapshot, reader: TextReader, resolve: ResolveName) -> None:
        self._snapshot, self._reader, self._resolve = snapshot, reader, resolve
        self.lines: dict[int, list[int]] = {}
        self.ordered: list[Array] = []
        self.notes: list[str] = []

    def all_of(self, conditions: Iterable[Condition], mask: Array, *, inside_or: bool = False) -> Array:
        """What the conditions leave of a mask, the cheapest applied first."""
        for one in sorted(conditions, key=_cost):
            mask = mask & self._units(one, mask, inside_or=inside_or)
        return mask

    def _units(self, one: Condition, mask: Array, *, inside_or: bool) -> Array:
        """A mask of the units that meet a condition; outside of `mask` it may say anything."""
        if isinstance(one, AllOf):
            return self.all_of(one.parts, mask, inside_or=inside_or)
        if isinstance(one, AnyOf):
            either = np.zeros(self._snapshot.units, bool)
            for part in one.parts:
                either |= self._units(part, mask, inside_or=True) & mask
            return either
        if one.field in _OF_FILES:
            files = self._files(one)
            return self._snapshot.unit_mask(~files if one.negated else files)
        if one.field in _READS:
            return self._by_lines(one, mask, inside_or=inside_or)
        if one.field == "word":
            return self._by_word(one)
        units = self._by_name(one) if one.field in _BY_NAME else (self._snapshot.kinds == KIND_NAMES.index(one.value))
        return ~units if one.negated else units

    def _files(self, leaf: Leaf) -> Array:
        snapshot = self._snapshot
        if leaf.field == "lang":
            return np.array([name == leaf.value for name in snapshot.languages], bool)
        if leaf.field == "in":
            return snapshot.alive if leaf.value == "all" else snapshot.column("files.content") == CONTENTS.index(leaf.value)
        return np.array(list(map(path_predicate(leaf.value), snapshot.paths)), bool)

    def _by_name(self, leaf: Leaf) -> Array:
        units = self._resolve(leaf)
        if not leaf.negated:
            self.ordered.append(units)
        mask = np.zeros(self._snapshot.units, bool)
        mask[units] = True
        return mask

    def _by_word(self, leaf: Leaf) -> Array:
        """Units that hold a word or whose path does; negated: units of files that hold it nowhere."""
        snapshot, terms = self._snapshot, [term for word in analyzer.words(leaf.value) for term in analyzer.terms(word)]
        held, on_path = np.ones(snapshot.units, bool), np.ones(snapshot.files, bool)
        for term in terms:
            rows = snapshot.find_term(term)
            in_unit, in_path = np.zeros(snapshot.units, bool), np.zeros(snapshot.files, bool)
            in_unit[snapshot.unit_postings(rows)[0]] = True
            in_path[snapshot.path_postings(rows)[0]] = True
            held, on_path = held & in_unit, on_path & in_path
        if not leaf.negated:
            return held | snapshot.unit_mask(on_path)
        on_path[snapshot.file_of_unit[held]] = True
        return snapshot.unit_mask(~on_path)

    def _by_lines(self, leaf: Leaf, mask: Array, *, inside_or: bool) -> Array:
        snapshot = self._snapshot
        files = np.zeros(snapshot.files, bool)
        files[snapshot.file_of_unit[mask]] = True
        if leaf.pattern is not None:
            lines = matching_lines(snapshot, files, leaf.pattern, self._reader)
        else:
            lines = self._phrase_lines(leaf.value, files)
        if leaf.negated:
            files = np.ones(snapshot.files, bool)
            files[list(lines)] = False
            return snapshot.unit_mask(files)
        if not lines and leaf.field == "phrase":
            self.notes.append(f'no file holds "{leaf.value}"; its words were searched')
            return self._by_word(Leaf("word", leaf.value)) if inside_or else mask
        for file, numbers in lines.items():
            self.lines[file] = sorted({*self.lines.get(file, ()), *numbers})
        return units_with_lines(snapshot, lines)

    def _phrase_lines(self, phrase: str, files: Array) -> dict[int, list[int]]:
        """For each file that holds a phrase, the lines it is on."""
        snapshot, lines = self._snapshot, {}
        for file in np.flatnonzero(files & self._with_words(phrase)).tolist():
            text = self._reader.read_text(snapshot.path(file))
            lowered = text.lower() if text is not None else ""
            if numbers := _line_numbers(lowered, find_phrase(phrase, lowered)):
                lines[file] = numbers
        return lines

    def _with_words(self, phrase: str) -> Array:
        """The files that hold every word of a phrase by the index; all files for a phrase of one word."""
        words = [word for word in analyzer.words(phrase) if word.isascii() and word.isalpha() and word.lower() not in QUERY_STOP_WORDS]
        every = np.ones(self._snapshot.files, bool)
        for word in words if len(phrase.split()) > 1 else ():
            parts = np.logical_and.reduce([self._holding(term) for term in analyzer.terms(word)])
            # However the word is written there: in parts, inflected, or joined.
            every &= parts | self._holding(analyzer.stem(word.lower())) | self._holding(analyzer.normalize_identifier(word))
        return every

    def _holding(self, term: str) -> Array:
        """A mask of the files whose text holds a term."""
        holds = np.zeros(self._snapshot.files, bool)
        holds[self._snapshot.file_of_unit[self._snapshot.unit_postings(self._snapshot.find_term(term))[0]]] = True
        return holds


def _cost(condition: Condition) -> int:
    if not isinstance(condition, Leaf):
        return max(map(_cost, condition.parts), default=0)
    kind = condition.field
    return 0 if kind in _OF_FILES or kind == "kind" else 1 if kind == "word" else 3 if kind in _READS else 2


def _line_numbers(text: str, spans: Iterable[tuple[int, int]]) -> list[int]:
    """The numbers of the lines that some spans of a text, in order, lie on."""
    numbers: set[int] = set()
    line, at = 1, 0
    for start, end in spans:
        line, at = line + text.count("\n", at, start), start
        numbers.update(range(line, line + text.count("\n", start, end) + 1))
    return sorted(numbers)

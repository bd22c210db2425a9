"""Which files and units may be returned at all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from whence.index.segment_writer import CONTENTS, KIND_NAMES
from whence.index.snapshot import Snapshot
from whence.query.filters import Filters
from whence.query.parser import AllOf, AnyOf, Condition, Leaf, find_phrase, path_predicate
from whence.retrieval.pattern_lines import ReadText, lines_in_units, matching_lines, units_with_lines
from whence.storage.arrayfile import Array
from whence.text import analyzer
from whence.text.stop_words import QUERY_STOP_WORDS


def file_mask(snapshot: Snapshot, filters: Filters) -> Array:
    """A mask of the files that pass every filter; not to be written to."""
    mask = snapshot.alive if filters.content == "all" else snapshot.content_mask(filters.content)
    if filters.languages:
        mask = mask & np.array([name in filters.languages for name in snapshot.languages], bool)
    if filters.paths and "" not in filters.paths:
        mask = mask & np.array([_below(path, filters.paths) for path in snapshot.paths], bool)
    if filters.include:
        mask = mask & _globbed(snapshot, filters.include)
    if filters.exclude:
        mask = mask & ~_globbed(snapshot, filters.exclude)
    return mask


def unit_mask(snapshot: Snapshot, filters: Filters) -> Array | None:
    """A mask of the units of the wanted kinds; None when any will do."""
    if not filters.kinds:
        return None
    return np.array([kind in filters.kinds for kind in KIND_NAMES])[snapshot.kinds]


def _below(path: str, wanted: tuple[str, ...]) -> bool:
    return any(path == one or path.startswith(one + "/") for one in wanted)


def _globbed(snapshot: Snapshot, globs: tuple[str, ...]) -> Array:
    from pathspec import GitIgnoreSpec  # noqa: PLC0415  -- only where globs are given

    spec = GitIgnoreSpec.from_lines(glob.lstrip("!") for glob in globs)
    return np.array([spec.match_file(path) for path in snapshot.paths], bool)


#: Units that a name stands for, in the order of an answer: those that define it, call it, or are called by it.
Named = Callable[[Leaf], Array]
_OF_FILES = frozenset({"path", "lang", "in"})
_BY_NAME = frozenset({"sym", "callers", "callees"})
#: What is read from the files themselves comes last, when there are few of them left.
_READS = frozenset({"phrase", "regex"})


@dataclass(frozen=True, slots=True)
class Restriction:
    """What may be returned, and what is to be said of it."""

    units: Array  # a mask
    lines: dict[int, list[int]] = field(default_factory=dict)  # of each file, the lines that a phrase or a pattern matches
    ordered: Array | None = None  # units by name, in their own order, where some were asked for
    notes: tuple[str, ...] = ()
    optional: frozenset[str] = frozenset()  # terms that need not be there where every word is wanted


def restrict(
    conditions: Sequence[Condition], snapshot: Snapshot, files: Array, units: Array | None, read: ReadText, named: Named
) -> Restriction:
    """Apply conditions, all of which must hold, to what a mask of files and one of units allow."""
    work = _Restricting(snapshot, read, named)
    mask = snapshot.unit_mask(files) if units is None else snapshot.unit_mask(files) & units
    mask = work.all_of(conditions, mask)
    return Restriction(
        mask, lines_in_units(snapshot, work.lines, mask), np.concatenate(work.ordered) if work.ordered else None, tuple(work.notes)
    )


class _Restricting:
    """One query's conditions over one snapshot."""

    def __init__(self, snapshot: Snapshot, read: ReadText, named: Named) -> None:
        self._snapshot, self._read, self._named = snapshot, read, named
        self.lines: dict[int, list[int]] = {}
        self.ordered: list[Array] = []
        self.notes: list[str] = []

    def all_of(self, conditions: Iterable[Condition], mask: Array, *, inside: bool = False) -> Array:
        """What all of some conditions leave of a mask: the cheap ones first. `inside` says that they stand beside OR."""
        for one in sorted(conditions, key=_cost):
            mask = mask & self._holds(one, mask, inside=inside)
        return mask

    def _holds(self, one: Condition, mask: Array, *, inside: bool) -> Array:
        if isinstance(one, AllOf):
            return self.all_of(one.parts, mask, inside=inside)
        if isinstance(one, AnyOf):
            found = np.zeros(self._snapshot.units, bool)
            for part in one.parts:
                found |= self._holds(part, mask, inside=True) & mask
            return found
        if one.field in _OF_FILES:
            files = self._files(one)
            return self._snapshot.unit_mask(~files if one.negated else files)
        if one.field in _READS:
            return self._by_lines(one, mask, inside=inside)
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
        units = self._named(leaf)
        if not leaf.negated:
            self.ordered.append(units)
        mask = np.zeros(self._snapshot.units, bool)
        mask[units] = True
        return mask

    def _by_word(self, leaf: Leaf) -> Array:
        """Units that hold a word, or whose path does; not: those of files that nowhere hold it."""
        snapshot, texts = self._snapshot, [term for word in analyzer.words(leaf.value) for term in analyzer.terms(word)]
        held, on_path = np.ones(snapshot.units, bool), np.ones(snapshot.files, bool)
        for text in texts:
            rows = snapshot.find_term(text)
            holds, stands = np.zeros(snapshot.units, bool), np.zeros(snapshot.files, bool)
            holds[snapshot.unit_postings(rows)[0]] = True
            stands[snapshot.path_postings(rows)[0]] = True
            held, on_path = held & holds, on_path & stands
        if not leaf.negated:
            return held | snapshot.unit_mask(on_path)
        on_path[snapshot.file_of_unit[held]] = True
        return snapshot.unit_mask(~on_path)

    def _by_lines(self, leaf: Leaf, mask: Array, *, inside: bool) -> Array:
        snapshot = self._snapshot
        files = np.zeros(snapshot.files, bool)
        files[snapshot.file_of_unit[mask]] = True
        if leaf.pattern is not None:
            found = matching_lines(snapshot, np.flatnonzero(files).tolist(), leaf.pattern, self._read)
        else:
            found = self._lines_of_phrase(leaf.value, files)
        if leaf.negated:
            files = np.ones(snapshot.files, bool)
            files[list(found)] = False
            return snapshot.unit_mask(files)
        if not found and leaf.field == "phrase":
            self.notes.append(f'no file holds "{leaf.value}"; its words were searched')
            return self._by_word(Leaf("word", leaf.value)) if inside else mask
        for file, numbers in found.items():
            self.lines[file] = sorted({*self.lines.get(file, ()), *numbers})
        return units_with_lines(snapshot, found)

    def _lines_of_phrase(self, phrase: str, files: Array) -> dict[int, list[int]]:
        """For each file that holds a phrase, the lines that it stands on."""
        snapshot, found = self._snapshot, {}
        for file in np.flatnonzero(files & self._with_words(phrase)).tolist():
            text = self._read(snapshot.path(file))
            small = text.lower() if text is not None else ""
            if lines := _lines(small, find_phrase(phrase, small)):
                found[file] = lines
        return found

    def _with_words(self, phrase: str) -> Array:
        """The files that the index says hold every word of a phrase of several; of one word, all that may."""
        words = [word for word in analyzer.words(phrase) if word.isascii() and word.isalpha() and word.lower() not in QUERY_STOP_WORDS]
        every = np.ones(self._snapshot.files, bool)
        for word in words if len(phrase.split()) > 1 else ():
            parts = np.logical_and.reduce([self._holding(term) for term in analyzer.terms(word)])
            every &= (
                parts | self._holding(analyzer.stem(word.lower())) | self._holding(analyzer.normalize_identifier(word))
            )  # however it is written there
        return every

    def _holding(self, term: str) -> Array:
        """The files whose text holds a term."""
        holds = np.zeros(self._snapshot.files, bool)
        holds[self._snapshot.file_of_unit[self._snapshot.unit_postings(self._snapshot.find_term(term))[0]]] = True
        return holds


def _cost(condition: Condition) -> int:
    if not isinstance(condition, Leaf):
        return max(map(_cost, condition.parts), default=0)
    return (
        0
        if condition.field in _OF_FILES or condition.field == "kind"
        else 1
        if condition.field == "word"
        else 3
        if condition.field in _READS
        else 2
    )


def _lines(text: str, spans: Iterable[tuple[int, int]]) -> list[int]:
    """The numbers of the lines on which some spans of a text, in order, lie."""
    numbers: set[int] = set()
    line, at = 1, 0
    for start, end in spans:
        line, at = line + text.count("\n", at, start), start
        numbers.update(range(line, line + text.count("\n", start, end) + 1))
    return sorted(numbers)

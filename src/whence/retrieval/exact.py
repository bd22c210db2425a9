"""Finds text that occurs in the tree as typed: messages, names, constants, URLs, numbers.

The index knows which files contain which word exactly as written. The few files that contain all words of a literal are
read and searched for the literal itself, or for its longest run of words: the message in a log has values where the code
has placeholders. A name also finds its definition, whatever its case and separators.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

import numpy as np

from whence.core.types import CONTAINERS, MIN_WORD_LENGTH
from whence.index.segment import BITS, KIND_NAMES, NAME, TOP_LEVEL, word_runs
from whence.index.snapshot import Snapshot
from whence.retrieval.lexical import TermStatistics
from whence.storage.arrayfile import Array
from whence.storage.postings import is_member
from whence.text.analyzer import parts
from whence.text.bm25 import idf

#: A literal that more files contain does not tell which one is meant.
MAX_FILES = 3
#: Lines of one file that are shown for a literal.
MAX_LINES = 3
#: Files read for one literal, and for all literals of a query.
MAX_READ, MAX_READ_IN_ALL = 24, 60
#: Of files that do not contain all words, fewer are read.
MAX_PARTIAL, ALL = 6, 0.995
#: A file must contain this share of a literal's words, by idf, to be read.
MIN_COVERAGE = 0.4
#: A run of words counts from this length and this share of the literal; shorter ones occur by chance.
MIN_RUN, MIN_SHARE, CHANCE = 3, 0.6, 0.5
#: A run of words counts for less than the text itself; a run of two counts if nearly all words occur around it.
BY_WORDS, NEARLY_ALL = 0.95, 0.75
#: Without numbers, paths or quoted names the query may be no message at all.
WITHOUT_VALUES = 0.85
#: A line or a quotation counts for its share of the query, but at least for this much.
MIN_PART = 0.4
#: Two plain words occur together by chance.
PAIR = 0.2
#: Matches whose strengths differ by less are equally good.
ALMOST = 0.05
#: Lines of a file that are compared with a literal which does not occur as a whole.
MAX_COMPARED = 40
#: Weight of a word too short to be in the table of words, or that is in no file.
SHORT_WEIGHT = 1.0
#: A name in another spelling: `parserequest` for `parseRequest`.
FOLDED = 0.9
#: A name that contains the words of a short query in order; a query is short up to so many words, stop words included.
SPELLED_OUT, MAX_SPELLED_OUT = 0.5, 4
#: Names that are compared with such a query.
MAX_NAMED = 200
NAME_BITS = (1 << BITS[NAME]) - 1
#: A member of a type counts for less than the type or a top-level definition.
MEMBER = 0.6
#: A question is no message with values filled in.
_QUESTION = re.compile(r"\s*(?:how|what|where|which|who|why|when)\b", re.IGNORECASE)
#: What a message has where the code has a placeholder: quoted names, paths, numbers.
_VALUE = re.compile(r"(?<!\w)(?:\"[^\"]*\"|'[^']*'|(?:[A-Za-z]:)?[\w.-]*[/\\][\w./\\-]+|0x[0-9a-fA-F]+|\w+-\d+|\d[\w.-]*)(?!\w)")
#: Characters that no phrase of plain words has: with one of them two words are enough.
_MARK = re.compile(r"[^\w\s,!?]|^\S+$")
_QUOTE = re.compile(r"[\"'`]")
_CONTAINER = np.array([kind in CONTAINERS for kind in KIND_NAMES])


@dataclass(frozen=True, slots=True)
class ExactMatch:
    """A place where a literal of the query occurs."""

    unit: int
    line: int
    strength: float  # 1: the whole query, word by word
    literal: str
    is_query: bool  # the literal is the whole query
    files: int  # how many files match as well


@dataclass(frozen=True, slots=True)
class ExactMatches:
    """The best match of each unit, and all lines of it that match."""

    by_unit: Mapping[int, ExactMatch]
    lines: Mapping[int, tuple[int, ...]]

    @property
    def certainty(self) -> float:
        """How much of the whole query occurs in one place."""
        return max((CHANCE + (1 - CHANCE) * one.strength for one in self.by_unit.values() if one.is_query), default=0.0)

    def candidates(self, allowed: Array | None) -> tuple[Array, Array]:
        """The matching units with their strengths."""
        units = np.array(sorted(unit for unit in self.by_unit if allowed is None or allowed[unit]), np.int64)
        return units, np.array([self.by_unit[unit].strength for unit in units.tolist()], np.float64)


def find_exact(statistics: TermStatistics, files: Array, read: Callable[[str], str | None]) -> ExactMatches | None:
    """Where the literals of a query occur in some files (a mask); None if nowhere."""
    finder = _Finder(statistics, files, read)
    found = [*finder.find_phrase_names(), *(match for literal in statistics.plan.literals for match in finder.find(literal))]
    if not found:
        return None
    if any(match.is_query for match in found):  # then its words are no names
        found = [match for match in found if match.is_query or " " in match.literal or match.literal in statistics.plan.identifiers]
    by_unit: dict[int, ExactMatch] = {}
    lines: dict[int, list[int]] = {}
    for match in sorted(found, key=lambda one: -one.strength):
        by_unit.setdefault(match.unit, match)
        numbers = lines.setdefault(match.unit, [])
        if match.line not in numbers:
            numbers.append(match.line)
    return ExactMatches(by_unit, {unit: tuple(numbers) for unit, numbers in lines.items()})


class _Finder:
    """Looks for one query's literals in one snapshot."""

    def __init__(self, statistics: TermStatistics, files: Array, read: Callable[[str], str | None]) -> None:
        self._statistics, self._snapshot, self._plan = statistics, statistics.snapshot, statistics.plan
        self._files, self._read, self._left = files, read, MAX_READ_IN_ALL
        self._query = statistics.plan.text.strip()

    def find(self, literal: str) -> Iterator[ExactMatch]:
        """The places of one literal: of a name its definition or uses, of a text the lines that contain it or most of it."""
        words = word_runs(literal)
        if words == [literal] or len(self._snapshot.definitions(literal)):
            yield from self._name(literal)
        elif len(words) > 1 or (words and _MARK.search(literal)):
            lasting = word_runs(_VALUE.sub(" ", literal)) or words
            yield from self._in_files(literal, lasting, self._candidates(lasting, is_query=literal == self._query))

    def find_phrase_names(self) -> Iterator[ExactMatch]:
        """Names that spell a short query out: `is_logged_in` for "logged in", of which only `logged` is a content word."""
        plan, words = self._plan, self._plan.text.lower().split()
        if not len(plan.words) < len(words) <= MAX_SPELLED_OUT:
            return
        units = np.array([unit for unit in self._named_by_terms() if _contains(parts(self._snapshot.unit_name(unit)), words)], np.int64)
        units = self._allowed(units)
        files = len(set(self._snapshot.file_of_unit[units].tolist()))
        if files <= MAX_FILES:
            for unit, line in zip(units.tolist(), self._snapshot.column("units.first")[units].tolist(), strict=True):
                yield ExactMatch(unit, line, SPELLED_OUT, self._query, is_query=True, files=files)

    def _named_by_terms(self) -> list[int]:
        """The units whose name contains every content word, unless they are many."""
        units: Array | None = None
        for postings in self._statistics.terms:
            rows, codes = postings.units
            named = rows[codes & NAME_BITS > 0]
            units = named if units is None else units[is_member(units, named)]
        return units.tolist() if units is not None and len(units) <= MAX_NAMED else []

    def _name(self, name: str) -> Iterator[ExactMatch]:
        """The one definition of a name, or else its uses and definitions in another spelling.

        Among other words a name counts for its share of them, and a field may be just a word: `timeout`.
        """
        snapshot, is_query = self._snapshot, name == self._query
        units = self._allowed(snapshot.definitions(name))
        if len(units):
            strength = 1.0 if is_query else 1 / max(len(self._plan.words), 2)
            if not is_query and self._plan.asks_for("test"):
                return  # "tests of alpha" is not about where alpha is defined
            is_word = not is_query and name not in self._plan.identifiers
            matches = self._definitions(name, units, strength, is_query=is_query)
            yield from (match for match in matches if not is_word or match.strength == strength)
        elif is_query:
            files = snapshot.files_with_word(name)
            files = files[self._files[files]]
            if 0 < len(files) <= MAX_FILES:
                yield from self._in_files(name, [name], files.tolist())
            yield from self._definitions(name, self._allowed(snapshot.definitions_like(name)), FOLDED, is_query=True)

    def _definitions(self, name: str, units: Array, strength: float, *, is_query: bool) -> Iterator[ExactMatch]:
        """Definitions, unless several files have one: then other signals tell which is meant."""
        snapshot = self._snapshot
        if len(set(snapshot.file_of_unit[units].tolist())) == 1:
            first, worth = snapshot.column("units.first")[units], definition_worth(snapshot, units)
            for unit, line, share in zip(units.tolist(), first.tolist(), worth.tolist(), strict=True):
                yield ExactMatch(unit, line, strength * share, name, is_query, 1)

    def _allowed(self, units: Array) -> Array:
        return units[self._files[self._snapshot.file_of_unit[units]]]

    def _in_files(self, literal: str, words: Sequence[str], files: Sequence[int]) -> Iterator[ExactMatch]:
        weights, is_query = self._weights(words), literal == self._query
        strength = 1.0 if is_query else max(len(words) / max(len(word_runs(self._plan.text)), 1), MIN_PART)
        if len(words) < MIN_RUN and not _MARK.search(literal):
            strength = PAIR
        places: dict[int, tuple[float, list[int]]] = {}
        for file in files:
            if self._left <= 0:
                break
            self._left -= 1
            text = self._read(self._snapshot.path(file))
            share, lines = align(text, literal, words, weights) if text else (0.0, [])
            if share >= MIN_SHARE:
                places[file] = (share - CHANCE) / (1 - CHANCE), lines
        best = max((share for share, _ in places.values()), default=0.0)
        equal = sum(share >= best - ALMOST for share, _ in places.values())
        if equal > MAX_FILES:
            return
        for file, (share, lines) in places.items():
            for line in lines:
                yield ExactMatch(_unit_at(self._snapshot, file, line), line, strength * share, literal, is_query, equal)

    def _candidates(self, words: Sequence[str], *, is_query: bool) -> list[int]:
        """The files with most of the words as written, and of the whole query also in one window, those with most first."""
        if not self._snapshot.windows:
            return []
        share = self._word_share(words)
        if is_query:
            in_window = self._window_share(words)
            share = np.minimum(share, in_window) if share.any() else in_window
        share[~self._files] = 0.0
        rows = np.flatnonzero(share >= MIN_COVERAGE)
        best = np.maximum.reduceat(self._statistics.window_scores, self._snapshot.window_starts[:-1])[rows]
        order = np.lexsort((rows, -best, -np.round(share[rows], 2)))
        complete = int((share[rows] >= ALL).sum())
        partial = 0 if _QUESTION.match(self._plan.text) else MAX_PARTIAL
        found: list[int] = rows[order][: min(max(complete, partial), MAX_READ)].tolist()
        return found

    def _word_share(self, words: Sequence[str]) -> Array:
        """The share of the words that each file contains as written, by idf; words that no file contains do not count."""
        snapshot = self._snapshot
        share, total = np.zeros(snapshot.files), 1e-9
        for word in dict.fromkeys(words):
            files = snapshot.files_with_word(word)
            if len(files):
                weight = float(idf(snapshot.live_files, len(files)))
                share[files] += weight
                total += weight
        return share / total

    def _window_share(self, words: Sequence[str]) -> Array:
        """The share of the words that one window of each file contains, by idf of their terms."""
        share, total = np.zeros(self._snapshot.windows), 1e-9
        for postings in self._statistics.terms:
            rows = postings.windows[0]
            if len(rows) and not postings.term.whole and self._plan.words[postings.term.word] in words:
                share[rows] += postings.window_idf
                total += postings.window_idf
        return np.maximum.reduceat(share, self._snapshot.window_starts[:-1]) / total

    def _weights(self, words: Sequence[str]) -> dict[str, float]:
        snapshot = self._snapshot
        counts = {word: snapshot.count_files_with_word(word) if len(word) >= MIN_WORD_LENGTH else 0 for word in words}
        return {word: float(idf(snapshot.live_files, count)) if count else SHORT_WEIGHT for word, count in counts.items()}


def _contains(values: Sequence[str], run: Sequence[str]) -> bool:
    return any(list(values[at : at + len(run)]) == list(run) for at in range(len(values) - len(run) + 1))


def definition_worth(snapshot: Snapshot, units: Array) -> Array:
    """1 for types and top-level definitions, less for members."""
    leading = (snapshot.column("units.flags")[units] & TOP_LEVEL > 0) | _CONTAINER[snapshot.kinds[units]]
    return np.where(leading, 1.0, MEMBER)


def align(text: str, literal: str, words: Sequence[str], weights: Mapping[str, float]) -> tuple[float, list[int]]:
    """The share of a literal that a text contains in one place, and the lines of such places, at most three."""
    at = text.find(literal)
    if at >= 0:
        lines: list[int] = []
        while at >= 0 and len(lines) < MAX_LINES:
            lines.append(text.count("\n", 0, at) + 1)
            at = text.find(literal, text.find("\n", at) + 1 or len(text))
        return 1.0, lines
    if len(words) < 2 or not any(map(str.isspace, literal)):
        return 0.0, []
    best, line = 0.0, 0
    worth = BY_WORDS if _VALUE.search(literal) else BY_WORDS * WITHOUT_VALUES
    every = text.split("\n")
    for number in _likely_lines(text, words, weights):
        if not _QUOTE.search(every[number - 1]):
            continue  # a message with values filled in comes from a string
        # It may go on in the next line.
        share = worth * _run_share(words, word_runs("\n".join(every[number - 1 : number + 1])), weights)
        if share > best + 1e-6:
            best, line = share, number
    return best, [line] if line else []


def _run_share(words: Sequence[str], line: Sequence[str], weights: Mapping[str, float]) -> float:
    """The share of the words that occur in order, by idf or by number; 0 without a run of them, or a shorter one of nearly all."""
    blocks = SequenceMatcher(None, words, line, autojunk=False).get_matching_blocks()
    matched = [word for block in blocks for word in words[block.a : block.a + block.size]]
    share = max(len(matched) / len(words), sum(map(weights.__getitem__, matched)) / sum(map(weights.__getitem__, words)))
    longest = max(block.size for block in blocks)
    return share if longest >= MIN_RUN or (longest > 1 and share >= NEARLY_ALL) else 0.0


def _likely_lines(text: str, words: Iterable[str], weights: Mapping[str, float]) -> list[int]:
    """The lines with one of the two rarest words that the text contains."""
    rare = [word for word in sorted(set(words), key=lambda word: -weights[word]) if len(word) >= MIN_WORD_LENGTH and word in text][:2]
    numbers: set[int] = set()
    for word in rare:
        at = text.find(word)
        while at >= 0 and len(numbers) < MAX_COMPARED:
            numbers.add(text.count("\n", 0, at) + 1)
            at = text.find(word, text.find("\n", at) + 1 or len(text))
    return sorted({number for one in numbers for number in (one - 1, one) if number})


def _unit_at(snapshot: Snapshot, file: int, line: int) -> int:
    """The innermost unit around a line, else the one before it."""
    if len(around := snapshot.units_around(file, line)):
        return int(around[0])
    start = int(snapshot.unit_starts[file])
    before = np.flatnonzero(snapshot.column("units.first")[start : int(snapshot.unit_starts[file + 1])] <= line)
    return start + (int(before[-1]) if len(before) else 0)

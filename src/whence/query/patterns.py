r"""Patterns that behave like grep's (Q6): compiled, matched line by line, and the words that every match contains.

Patterns are Python's regular expressions, with grep's `[[:alpha:]]` classes and its `\<` and `\>` word edges. RE2 matches
them in linear time. The index knows which words a file contains, so a pattern is first matched against the words: what it
must contain between two characters that are no part of a word is found in few of them, and their files are read.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from time import thread_time
from typing import Any

from whence.core.errors import QueryError
from whence.core.types import MIN_WORD_LENGTH

if sys.version_info >= (3, 11):
    from re import _parser as sre  # type: ignore[attr-defined]
else:
    import sre_parse as sre

_POSIX_CLASSES = {
    "alpha": "a-zA-ZªµºÀ-ÖØ-öø-ɏ",
    "digit": "0-9",
    "alnum": "0-9a-zA-ZªµºÀ-ÖØ-öø-ɏ",
    "upper": "A-ZÀ-ÖØ-Þ",
    "lower": "a-zß-öø-ÿ",
    "space": r"\s",
    "blank": r" \t",
    "punct": r"!-/:-@\[-`{-~",
    "xdigit": "0-9A-Fa-f",
    "cntrl": r"\x00-\x1f\x7f",
    "print": r"\x20-\x7e\xa0-\uffff",
    "graph": r"\x21-\x7e\xa1-\uffff",
}
_POSIX_CLASS = re.compile(r"\[:(\w+):\]")
#: A set such as `[^]a-z\]]`: a bracket that comes first, or is escaped, does not close it.
_SET = re.compile(r"\[\^?\]?(?:[^\]\\\[]|\\.|\[:\w+:\]|\[)*\]", re.DOTALL)
#: The same in Python's syntax, which has no classes inside.
_PYTHON_SET = re.compile(r"\[\^?\]?(?:[^\]\\]|\\.)*\]", re.DOTALL)
_WORD_EDGES = {r"\<": r"\b", r"\>": r"\b"}
#: Classes of Python, which know all scripts, in the syntax of RE2, whose own know ASCII only. Those of the second table may be in sets.
_CLASSES = {
    r"\d": r"\p{Nd}", r"\D": r"\P{Nd}", r"\w": r"[\p{L}\p{N}_]", r"\W": r"[^\p{L}\p{N}_]",
    r"\s": r"[\s\x0b\x1c-\x1f\x85\p{Z}]", r"\S": r"[^\s\x0b\x1c-\x1f\x85\p{Z}]", r"\Z": r"\z",
}  # fmt: skip
_CLASSES_IN_SETS = {r"\d": r"\p{Nd}", r"\D": r"\P{Nd}", r"\w": r"\p{L}\p{N}_", r"\s": r"\s\x0b\x1c-\x1f\x85\p{Z}"}
_SURROGATE = re.compile("[\ud800-\udfff]")
_NO_WORD = _CLASSES[r"\W"]
_BEFORE_WORD, _AFTER_WORD = f"(?:^|{_NO_WORD})", f"(?:{_NO_WORD}|$)"
_FIRST_EDGE, _LAST_EDGE = re.compile(r"\\b(?=\w)"), re.compile(r"(?<![\\\w])\w+\\b$|^\w+\\b$")
_CODE_POINT = re.compile(r"\\u([0-9a-fA-F]{4})|\\U([0-9a-fA-F]{8})")
_UP_TO = re.compile(r"\{,(\d+)\}")


#: Longer patterns are tables, not patterns.
MAX_LENGTH = 20_000
#: RE2 falls back to a slow method for some patterns; those of more steps than this are watched.
MAX_STEPS = 30
#: A watched pattern is matched against as many bytes at a time as take a moment; these times its steps are tried first.
FIRST_WORK, MIN_SLICE, MAX_SLICE, MOMENT = 1 << 23, 64, 1 << 20, 0.03
#: After so many seconds it must have read so many bytes in each; a line that matches counts as some more.
MAX_SECONDS, MIN_SPEED, PER_LINE = 0.7, 4e6, 64
_TEXT_EDGE = re.compile(r"\\[AzZ]")
_IGNORES_CASE = re.compile(r"\(\?[a-zA-Z]*i")
LINEAR_HINT = "patterns take linear time: no look-around, no back-references, at most 1000 repetitions"


class Pattern:
    """A compiled pattern, which matches within lines."""

    def __init__(self, patterns: Sequence[str], *, fixed: bool, word: bool, ignore_case: bool, invert: bool = False) -> None:
        self._parts = [_translate(pattern, fixed=fixed, word=word) for pattern in patterns]
        joined = "|".join(part.linear for part in self._parts)
        self._ignore_case, self.is_inverted = ignore_case, invert
        self._search = _compile_re2(patterns[0], joined, ignore_case=ignore_case)
        self._is_watched = self._search.programsize > MAX_STEPS and not _TEXT_EDGE.search(joined)
        self._ends_lines = "$" in joined and r"\r" not in joined  # at the end of a line, whatever ends it
        self._seconds, self._bytes = 0.0, 0
        self._slice = min(max(FIRST_WORK // self._search.programsize, MIN_SLICE), MAX_SLICE)
        only = self._parts[0].tree if len(patterns) == 1 else None
        self.literal = _longest_literal(only) if only is not None and not ignore_case else b""

    def matching_lines(self, text: str) -> list[int]:
        """The numbers (from 1) of the lines that match."""
        return self.find_lines(_encode(text))

    def find_lines(self, data: bytes, most: int | None = None) -> list[int]:
        """The numbers (from 1) of the lines of a text in UTF-8 that match (inverted: do not), at most so many."""
        if not self.is_inverted:
            return self._find(data, most)
        matching = set(self._find(data))
        count = data.count(b"\n") + (not data.endswith(b"\n") and bool(data))
        return [number for number in range(1, count + 1) if number not in matching][:most]

    def _find(self, data: bytes, most: int | None = None) -> list[int]:
        if self.literal and self.literal not in data:
            return []
        if self._ends_lines and b"\r\n" in data:
            data = data.replace(b"\r\n", b"\n")
        found: list[int] = []
        counted, line, search = 0, 1, self._search.search
        for start, end in self._watched_slices(data) if self._is_watched else ((0, len(data)),):
            at = start
            while at <= end and (match := search(data, at, end)) is not None:
                begins = match.start()
                if begins == len(data) and (not data or data.endswith(b"\n")):  # there is no line after the last newline
                    return found
                line, counted = line + data.count(b"\n", counted, begins), begins
                found.append(line)
                if len(found) == most:
                    return found
                at = data.find(b"\n", begins) + 1 or len(data) + 1
                self._bytes += PER_LINE
        return found

    def _watched_slices(self, data: bytes) -> Iterator[tuple[int, int]]:
        """Runs of lines, without the last newline of each, that can be searched in a moment; an error if they take too long."""
        start = 0
        while start <= len(data):
            end = data.find(b"\n", start + self._slice)
            end = len(data) if end < 0 else end
            self._try_long_line(data, start, end)
            began = thread_time()
            yield start, end
            self._count(thread_time() - began, end - start)
            start = end + 1

    def _try_long_line(self, data: bytes, start: int, end: int) -> None:
        """The beginning of a long line shows how long the rest would take."""
        size = self._slice
        while end - start > 2 * size and self._seconds <= MAX_SECONDS / 2:  # at first, RE2 may still be building its automaton
            began = thread_time()
            self._search.search(data, start, start + size)
            took = thread_time() - began
            self._count(took, size)
            if self._seconds > MAX_SECONDS / 2:
                self._check(self._seconds + took / size * (end - start), self._bytes + end - start)
            size *= 2

    def _count(self, seconds: float, size: int) -> None:
        self._seconds, self._bytes = self._seconds + seconds, self._bytes + size
        self._slice = min(self._slice * 2, MAX_SLICE) if seconds < MOMENT else max(self._slice // 2, MIN_SLICE)
        self._check(self._seconds, self._bytes)

    def _check(self, seconds: float, size: int) -> None:
        if seconds > MAX_SECONDS and size < MIN_SPEED * seconds:
            raise QueryError("the pattern takes too long", hint="use fewer repetitions of . and of classes")

    def spans(self, line: str) -> list[tuple[int, int]]:
        """The columns of the matches in a line, from left to right; empty matches are left out."""
        found, at, regexes = [], 0, self._span_regexes
        data = _encode(line)
        while at <= len(data):
            spans = [match.span(1) for one in regexes if (match := one.search(data, at)) is not None]
            if not spans:
                break
            start, end = min(spans, key=lambda span: span[0])
            if end > start:
                found.append((len(data[:start].decode()), len(data[:end].decode())))
            at = end if end > start else end + 1
        return found

    @cached_property
    def _span_regexes(self) -> list[Any]:
        """A regex of each pattern whose first group is the match itself, without what must precede and follow it."""
        return [
            _compile_re2(part.linear, f"{part.before}({part.core}){part.after}", ignore_case=self._ignore_case, captures=True)
            for part in self._parts
        ]

    @cached_property
    def requirement(self) -> Requirement | None:
        """What the words of a file must satisfy for it to match; None if any file may."""
        if self.is_inverted:
            return None
        found = [_requirement(part, ignore_case=self._ignore_case) for part in self._parts]
        return None if None in found else Requirement(any_of=tuple(one for one in found if one is not None))


@dataclass(frozen=True, slots=True)
class _Part:
    """One of several patterns: what precedes a match, the match and what follows it in RE2's syntax, and the parsed pattern."""

    before: str
    core: str
    after: str
    tree: Any
    on_words: bool  # it matches whole words only

    @property
    def linear(self) -> str:
        return f"{self.before}(?:{self.core}){self.after}"


def compile_pattern(
    pattern: str | Sequence[str], *, fixed: bool = False, word: bool = False, ignore_case: bool = False, invert: bool = False
) -> Pattern:
    """Compile what the user typed, one pattern or several of which any may match; an error shows a caret under the mistake."""
    patterns = [pattern] if isinstance(pattern, str) else list(pattern)
    return Pattern(patterns, fixed=fixed, word=word, ignore_case=ignore_case, invert=invert)


def _translate(pattern: str, *, fixed: bool, word: bool) -> _Part:
    if not pattern:
        raise QueryError("empty pattern", hint="give -e something to look for")
    if len(pattern) > MAX_LENGTH:
        raise QueryError(f"bad pattern {pattern[:80]!r}: too large", hint=f"at most {MAX_LENGTH} characters")
    text = re.escape(pattern) if fixed else _to_python(pattern)
    try:
        with warnings.catch_warnings():  # warnings about a later Python are not for users
            warnings.simplefilter("ignore")
            tree = sre.parse(text)
    except re.error as error:
        is_shown = error.pos is not None and text == pattern and "\n" not in pattern
        caret = f"\n  {pattern}\n  {' ' * min(error.pos or 0, len(pattern))}^" if is_shown else ""
        raise QueryError(f"bad pattern {pattern!r}: {error.msg}{caret}") from error
    except (OverflowError, RecursionError) as error:
        raise QueryError(f"bad pattern {pattern[:80]!r}: too large") from error
    if word:
        return _Part(_BEFORE_WORD, _to_re2(text), _AFTER_WORD, tree, on_words=True)
    before, inner, after = _without_edges(text)
    return _Part(before, _to_re2(inner), after, tree, on_words=False)


def _encode(text: str) -> bytes:
    """UTF-8, in which halves of surrogate pairs become characters for private use: a text that was not UTF-8 has such halves."""
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        return _SURROGATE.sub(lambda half: chr(ord(half.group()) - 0xD800 + 0xE000), text).encode("utf-8")


def _compile_re2(pattern: str, linear: str, *, ignore_case: bool, captures: bool = False) -> Any:
    import re2  # noqa: PLC0415  -- only for patterns

    options = re2.Options()
    options.log_errors, options.never_nl, options.case_sensitive, options.never_capture = False, True, not ignore_case, not captures
    try:
        return re2.compile(_encode(f"(?m:{linear})"), options)
    except re2.error as error:
        reason = error.args[0].decode("utf-8", "replace") if error.args and isinstance(error.args[0], bytes) else str(error)
        raise QueryError(f"bad pattern {pattern[:80]!r}: {reason[:200]}", hint=LINEAR_HINT) from error


def _to_python(pattern: str) -> str:
    """Translate grep's syntax to Python's."""
    out, at, closed = [], 0, True
    while at < len(pattern):
        pair = pattern[at : at + 2]
        found = _SET.match(pattern, at) if closed and pattern[at] == "[" else None
        closed = closed and (found is not None or pattern[at] != "[")  # if one set never ends, no later one does
        if found:
            inside = _POSIX_CLASS.sub(lambda match: _POSIX_CLASSES.get(match.group(1), match.group()), found.group())
            out.append(re.sub(r"^(\[\^?)\]", r"\1\\]", inside))
            at = found.end()
        elif pattern[at] == "\\":
            out.append(_WORD_EDGES.get(pair, pair))
            at += 2
        else:
            out.append(pattern[at])
            at += 1
    return "".join(out)


def _without_edges(pattern: str) -> tuple[str, str, str]:
    """What precedes a match, the pattern, and what follows: RE2's word edges know ASCII only, and the first and last need not be edges."""
    before, after = "", ""
    if _FIRST_EDGE.match(pattern):
        before, pattern = _BEFORE_WORD, pattern[2:]
    if _LAST_EDGE.search(pattern):
        after, pattern = _AFTER_WORD, pattern[:-2]
    return before, pattern, after


def _to_re2(pattern: str) -> str:
    """Translate Python's syntax to RE2's."""
    out, at = [], 0
    while at < len(pattern):
        if found := _CODE_POINT.match(pattern, at):
            out.append(rf"\x{{{found.group(1) or found.group(2)}}}")
        elif pattern[at] == "\\":
            pair = pattern[at : at + 2]
            out.append(_CLASSES.get(pair, pair))
            at += 2
            continue
        elif found := _PYTHON_SET.match(pattern, at) if pattern[at] == "[" else None:
            out.append(_set_to_re2(found.group()))
        elif found := _UP_TO.match(pattern, at):
            out.append(f"{{0,{found.group(1)}}}")
        else:
            out.append(pattern[at])
            at += 1
            continue
        at = found.end()
    return "".join(out)


def _set_to_re2(members: str) -> str:
    def translate(match: re.Match[str]) -> str:
        if match.group() == "[":
            return r"\["
        code = _CODE_POINT.fullmatch(match.group())
        return rf"\x{{{code.group(1) or code.group(2)}}}" if code else _CLASSES_IN_SETS.get(match.group(), match.group())

    opening = members[:2] if members.startswith("[^") else "["
    return opening + re.sub(r"\\u[0-9a-fA-F]{4}|\\U[0-9a-fA-F]{8}|\\.|\[", translate, members[len(opening) : -1], flags=re.DOTALL) + "]"


# The words that a match contains.
#: Words that may contain a run; with more of them, reading all files costs little more.
MAX_WORDS = 4_096
#: Runs of one pattern that are looked up, and how often a part of one is repeated at most.
MAX_RUNS, MAX_REPEATS = 6, 8
#: A character that is no part of a word; one that is, or is beyond ASCII; anything.
_BREAK, _SOFT, _ANY = "break", "soft", "any"
_BEYOND_ASCII = r"\x{80}-\x{10FFFF}"
_WORD_CODES = frozenset(code for code in range(128) if chr(code).isalnum() or chr(code) == "_")
_CATEGORIES = {
    sre.CATEGORY_DIGIT: re.compile(r"\d"), sre.CATEGORY_NOT_DIGIT: re.compile(r"\D"), sre.CATEGORY_SPACE: re.compile(r"\s"),
    sre.CATEGORY_NOT_SPACE: re.compile(r"\S"), sre.CATEGORY_WORD: re.compile(r"\w"), sre.CATEGORY_NOT_WORD: re.compile(r"\W"),
}  # fmt: skip
_LINE_EDGES = frozenset({sre.AT_BEGINNING, sre.AT_BEGINNING_STRING, sre.AT_END, sre.AT_END_STRING})


@dataclass(frozen=True)
class Requirement:
    """What the words of a file must satisfy: a regex that one of them matches, or some or all of other requirements."""

    words: str = ""
    any_of: tuple[Requirement, ...] = ()
    all_of: tuple[Requirement, ...] = ()

    def files(self, words: bytes, offsets: Sequence[int], files: Any) -> set[int] | None:
        """The rows of the files that satisfy it, of a table of words (one line each) and their files; None if too many may."""
        if self.words:
            rows = self._rows(words)
            return None if rows is None else set().union(*(files[offsets[row] : offsets[row + 1]].tolist() for row in rows))
        found = [one.files(words, offsets, files) for one in (*self.any_of, *self.all_of)]
        known = [one for one in found if one is not None]
        if self.any_of:
            return set().union(*known) if len(known) == len(found) else None
        return set.intersection(*known) if known else None

    def _rows(self, words: bytes) -> list[int] | None:
        rows: list[int] = []
        row, at, search = 0, 0, self._regex.search
        while (match := search(words, at)) is not None:
            row, at = row + words.count(b"\n", at, match.start()), match.start()
            rows.append(row)
            if len(rows) > MAX_WORDS:
                return None
            end = words.find(b"\n", at)
            row, at = row + 1, end + 1
        return rows

    @cached_property
    def _regex(self) -> Any:
        import re2  # noqa: PLC0415  -- only for patterns

        options = re2.Options()
        options.log_errors, options.never_capture = False, True
        return re2.compile(self.words.encode(), options)


@dataclass(frozen=True, slots=True)
class _Run:
    """A part of a pattern that matches nothing but characters of a word: its regex and the fewest bytes that it matches."""

    regex: str
    fewest: int


def _requirement(part: _Part, *, ignore_case: bool) -> Requirement | None:
    flags = part.tree.state.flags
    elements = [_SOFT, *_elements(part.tree), _SOFT] if part.on_words else _elements(part.tree)
    try:
        return _combined(elements, ignore_case=ignore_case or bool(flags & re.IGNORECASE) or bool(_IGNORES_CASE.search(part.core)))
    except RecursionError:
        return None


def _combined(elements: Sequence[Any], *, ignore_case: bool) -> Requirement | None:
    """What a sequence requires: each run of word characters must occur in a word, at its edge where something else precedes or follows."""
    found: list[tuple[int, Requirement]] = []
    end = 0
    for is_run, group in groupby(elements, lambda one: isinstance(one, _Run)):
        runs = list(group)
        at, end = end, end + len(runs)
        fewest = sum(run.fewest for run in runs) if is_run else 0
        if fewest >= MIN_WORD_LENGTH:
            left = elements[at - 1] if at else _ANY
            right = elements[end] if end < len(elements) else _ANY
            before = {_BREAK: "(?:^| )", _SOFT: f"(?:^| |[{_BEYOND_ASCII}])"}.get(left if isinstance(left, str) else _ANY, "")
            after = {_BREAK: "(?:$| )", _SOFT: f"(?:$| |[{_BEYOND_ASCII}])"}.get(right if isinstance(right, str) else _ANY, "")
            flags = "(?mi)" if ignore_case else "(?m)"
            found.append((fewest, Requirement(f"{flags}{before}{''.join(run.regex for run in runs)}{after}")))
    longest = [one for _, one in sorted(found, key=lambda pair: -pair[0])[:MAX_RUNS]]
    nested = [one for one in elements if isinstance(one, _Nested)]
    every = [*longest, *(made for one in nested[:MAX_RUNS] if (made := one.requirement(ignore_case=ignore_case)) is not None)]
    return Requirement(all_of=tuple(every)) if every else None


@dataclass(frozen=True, slots=True)
class _Nested:
    """Alternatives, of which one must match."""

    branches: tuple[tuple[Any, ...], ...]

    def requirement(self, *, ignore_case: bool) -> Requirement | None:
        found = [_combined(branch, ignore_case=ignore_case) for branch in self.branches]
        return None if None in found else Requirement(any_of=tuple(one for one in found if one is not None))


def _elements(tree: Any) -> list[Any]:
    """The parts of a parsed pattern in order: runs, breaks, nested alternatives, and whatever says nothing about words."""
    found: list[Any] = []
    for position, (operator, value) in enumerate(tree):
        if operator is sre.SUBPATTERN:
            found += _elements(value[3])
        elif operator is sre.AT:
            found += _edge(value, tree, position)
        elif operator in (sre.MAX_REPEAT, sre.MIN_REPEAT):
            found.append(_repeated(*value))
        elif operator is sre.BRANCH:
            found.append(_branched([_elements(branch) for branch in value[1]]))
        else:
            found.append(_character(operator, value))
    return [one for one in found if one is not None]


def _edge(where: Any, tree: Any, position: int) -> tuple[str, str]:
    """What an edge is to what precedes and to what follows: of a word, one only beside ASCII, since RE2 sees other letters differently."""
    if where in _LINE_EDGES:
        return _BREAK, _BREAK
    beside = [tree[at] if 0 <= at < len(tree) else (None, None) for at in (position - 1, position + 1)]
    before, after = (_SOFT if operator is sre.LITERAL and value in _WORD_CODES else _ANY for operator, value in beside)
    return (before, after) if where is sre.AT_BOUNDARY else (_ANY, _ANY)


def _character(operator: Any, value: Any) -> Any:
    if operator is sre.LITERAL:
        if value > 127:
            return _Run(re.escape(chr(value)), 1) if not 0xD800 <= value < 0xE000 else _ANY
        return _Run(re.escape(chr(value)), 1) if value in _WORD_CODES else _BREAK
    if operator is sre.NOT_LITERAL:
        operator, value = sre.IN, [(sre.NEGATE, None), (sre.LITERAL, value)]
    if operator is not sre.IN:
        return _ANY
    codes, beyond = _members(value)
    if codes <= _WORD_CODES:
        listed = "".join(re.escape(chr(code)) for code in sorted(codes)) + (_BEYOND_ASCII if beyond else "")
        return _Run(f"[{listed}]", 1) if listed else _ANY
    if codes & _WORD_CODES:
        return _ANY
    return _SOFT if beyond else _BREAK


def _members(values: Sequence[tuple[Any, Any]]) -> tuple[set[int], bool]:
    """The ASCII members of a set, and whether it may have others."""
    codes: set[int] = set()
    beyond = False
    for operator, value in values:
        if operator is sre.LITERAL:
            codes |= {value} if value < 128 else set()
            beyond |= value > 127
        elif operator is sre.RANGE:
            codes |= set(range(value[0], min(value[1], 127) + 1))
            beyond |= value[1] > 127
        elif operator is sre.CATEGORY:
            codes |= {code for code in range(128) if _CATEGORIES[value].match(chr(code))}
            beyond = True
    if values and values[0][0] is sre.NEGATE:
        return set(range(128)) - codes, True
    return codes, beyond


def _repeated(fewest: int, most: Any, tree: Any) -> Any:
    parts = _elements(tree)
    if parts and all(isinstance(one, _Run) for one in parts):
        inner, size = "".join(one.regex for one in parts), sum(one.fewest for one in parts)
        bounds = f"{{{fewest},{most}}}" if most is not sre.MAXREPEAT and most <= MAX_REPEATS else f"{{{min(fewest, MAX_REPEATS)},}}"
        return _Run(f"(?:{inner}){bounds}", size * fewest)
    if fewest == 0 or not parts:
        return _ANY
    if len(parts) == 1:
        return parts[0]
    return _Nested((tuple(parts),))


def _branched(branches: Sequence[Sequence[Any]]) -> Any:
    if all(all(isinstance(one, _Run) for one in branch) for branch in branches):
        regex = "|".join("".join(one.regex for one in branch) for branch in branches)
        return _Run(f"(?:{regex})", min(sum(one.fewest for one in branch) for branch in branches))
    if all(len(branch) == 1 and branch[0] in (_BREAK, _SOFT) for branch in branches):
        return _SOFT if any(branch[0] is _SOFT for branch in branches) else _BREAK
    return _Nested(tuple(tuple(branch) for branch in branches))


def _longest_literal(tree: Any) -> bytes:
    """The longest text that every match contains; empty if it has to do with case, or is not obvious."""
    if tree.state.flags & re.IGNORECASE:
        return b""
    runs = [""]
    for operator, value in tree:
        if operator is sre.LITERAL and not 0xD800 <= value < 0xE000:
            runs[-1] += chr(value)
        else:
            runs.append("")
    return max(runs, key=len).encode()

r"""What may be returned at all: filters on files and units, globs, and patterns that behave like grep's (Q6, Q7).

Patterns are Python's regular expressions, with grep's `[[:alpha:]]` classes and its `\<` and `\>` word edges.
"""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass
from typing import Any

from whence.core.errors import QueryError, UsageError
from whence.core.request import check_choice
from whence.core.types import KINDS
from whence.source.ignore import BACKEND

OPERATORS = ("or", "and")
CONTENTS = ("code", "docs", "config", "all")
STRATEGIES = ("union", "vector", "lexical")
#: A distance is 1 - similarity.
MAX_DISTANCE = 2.0
#: A name of 250 letters can be divided among five stars in a thousand million ways.
MAX_STARS = 3


@dataclass(frozen=True, slots=True)
class Filters:
    """Which files and units may be returned at all (Q7)."""

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    content: str = "all"
    paths: tuple[str, ...] = ()  # files or folders, relative to the root

    def __post_init__(self) -> None:
        """Reject values that cannot match anything."""
        check_choice("content", self.content, CONTENTS)
        if self.languages:
            from whence.parse.languages import KNOWN_NAMES  # noqa: PLC0415  -- only where one is named

            for language in self.languages:
                check_choice("language", language, KNOWN_NAMES)
        for kind in self.kinds:
            check_choice("kind", kind, sorted(KINDS))
        for glob in (*self.include, *self.exclude):
            check_glob(glob)


def check_distance(distance: float | None, strategy: str | None) -> None:
    """Reject a distance out of range, or one for a search that compares no vectors."""
    if distance is None:
        return
    if not 0 <= distance <= MAX_DISTANCE:
        raise UsageError(
            f"max_distance {distance!r} is out of range", hint=f"a number from 0 (the same) to {MAX_DISTANCE:g} (the opposite)"
        )
    if strategy == "lexical":
        raise UsageError("a lexical search has no distances", hint="drop --max-distance, or use --strategy union or vector")


def check_glob(glob: str) -> None:
    """Reject a glob that cannot match anything, or takes ages to match a long name."""
    if not glob.strip():
        raise QueryError("empty glob", hint="for instance '*.py' or 'src/**'")
    plain = re.sub(r"\\.", "", glob)
    if plain.count("[") > plain.count("]"):
        raise QueryError(f"bad glob {glob!r}: unclosed [", hint=r"write \[ for the character itself")
    steps = plain.split("/")
    if max(steps.count("**"), *(step.count("*") for step in steps if step != "**"), 0) > MAX_STARS:
        raise QueryError(f"bad glob {glob!r}: too many stars", hint=f"at most {MAX_STARS} between two slashes, and {MAX_STARS} of **")
    if "[" in plain or plain.endswith("\\"):
        _check_sets(glob)


def _check_sets(glob: str) -> None:
    """Reject an invalid set such as `[z-a]`, and a trailing backslash."""
    from pathspec import GitIgnoreSpec  # noqa: PLC0415  -- only for globs with a set

    try:
        with warnings.catch_warnings():  # warnings about a later Python are not for users
            warnings.simplefilter("ignore")
            GitIgnoreSpec.from_lines([glob.lstrip("!")], backend=BACKEND)
    except (ValueError, re.error) as error:
        raise QueryError(f"bad glob {glob!r}: {error}", hint=r"write \[ or \\ for the character itself") from error


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
_QUANTIFIER = re.compile(r"[*?]|\{(\d*)(?:,\d*)?\}")
_WORD_EDGES = {r"\<": r"\b", r"\>": r"\b"}
#: Classes of Python, which know all scripts, in the syntax of RE2, whose own know ASCII only. Those of the second table may be in sets.
_CLASSES = {
    r"\d": r"\p{Nd}", r"\D": r"\P{Nd}", r"\w": r"[\p{L}\p{N}_]", r"\W": r"[^\p{L}\p{N}_]",
    r"\s": r"[\s\x0b\x1c-\x1f\x85\p{Z}]", r"\S": r"[^\s\x0b\x1c-\x1f\x85\p{Z}]", r"\Z": r"\z",
}  # fmt: skip
_CLASSES_IN_SETS = {r"\d": r"\p{Nd}", r"\D": r"\P{Nd}", r"\w": r"\p{L}\p{N}_", r"\s": r"\s\x0b\x1c-\x1f\x85\p{Z}"}
_SURROGATE = re.compile("[\ud800-\udfff]")
_NO_WORD = _CLASSES[r"\W"]
_FIRST_EDGE, _LAST_EDGE = re.compile(r"\\b(?=\w)"), re.compile(r"(?<![\\\w])\w+\\b$|^\w+\\b$")
_CODE_POINT = re.compile(r"\\u([0-9a-fA-F]{4})|\\U([0-9a-fA-F]{8})")
_UP_TO = re.compile(r"\{,(\d+)\}")


@dataclass(frozen=True, slots=True)
class Pattern:
    """A compiled pattern, which matches within lines, and a literal that every matching line contains."""

    regex: Any  # of RE2: linear time, whatever the pattern
    literal: str

    def matching_lines(self, text: str) -> list[int]:
        """The numbers (from 1) of the lines that match."""
        if self.literal and self.literal not in text:
            return []
        data, search = _encode(text), self.regex.search
        found: list[int] = []
        at, counted, line = 0, 0, 1
        while (match := search(data, at)) is not None:
            start = match.start()
            if start == len(data) and (not data or data.endswith(b"\n")):  # there is no line after the last newline
                break
            line, counted = line + data.count(b"\n", counted, start), start
            found.append(line)
            at = data.find(b"\n", start) + 1
            if not at:
                break
        return found


def compile_pattern(pattern: str, *, fixed: bool = False, word: bool = False, ignore_case: bool = False) -> Pattern:
    """Compile what the user typed; an error shows a caret under the mistake."""
    if not pattern:
        raise QueryError("empty pattern", hint="give -e something to look for")
    text = re.escape(pattern) if fixed else _to_python(pattern)
    try:
        with warnings.catch_warnings():  # warnings about a later Python are not for users
            warnings.simplefilter("ignore", FutureWarning)
            re.compile(text)  # for its error messages, which have a position
    except re.error as error:
        is_shown = error.pos is not None and text == pattern and "\n" not in pattern
        caret = f"\n  {pattern}\n  {' ' * min(error.pos or 0, len(pattern))}^" if is_shown else ""
        raise QueryError(f"bad pattern {pattern!r}: {error.msg}{caret}") from error
    except (OverflowError, RecursionError) as error:
        raise QueryError(f"bad pattern {pattern[:80]!r}: too large") from error
    linear = _to_re2(text)
    regex = _compile_re2(pattern, rf"(?:^|{_NO_WORD})(?:{linear})(?:{_NO_WORD}|$)" if word else linear, ignore_case=ignore_case)
    return Pattern(regex, "" if ignore_case else (pattern if fixed else required_literal(text)))


def _encode(text: str) -> bytes:
    """UTF-8, in which halves of surrogate pairs become characters for private use: a text that was not UTF-8 has such halves."""
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        return _SURROGATE.sub(lambda half: chr(ord(half.group()) - 0xD800 + 0xE000), text).encode("utf-8")


def _compile_re2(pattern: str, linear: str, *, ignore_case: bool) -> Any:
    import re2  # noqa: PLC0415  -- only for patterns

    options = re2.Options()
    options.log_errors, options.never_nl, options.case_sensitive = False, True, not ignore_case
    try:
        return re2.compile(_encode(f"(?m:{linear})"), options)
    except re2.error as error:
        reason = error.args[0].decode("utf-8", "replace") if error.args and isinstance(error.args[0], bytes) else str(error)
        hint = "patterns take linear time: no look-around, no back-references, at most 1000 repetitions"
        raise QueryError(f"bad pattern {pattern[:80]!r}: {reason}", hint=hint) from error


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


def _to_re2(pattern: str) -> str:
    """Translate Python's syntax to RE2's. Its word edges know ASCII only; the first and the last need not be edges."""
    out, at = [], 0
    if _FIRST_EDGE.match(pattern):
        out, at = [f"(?:^|{_NO_WORD})"], 2
    if _LAST_EDGE.search(pattern, at):
        return f"{''.join(out)}{_to_re2(pattern[at:-2])}(?:{_NO_WORD}|$)"
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


def required_literal(pattern: str) -> str:
    """The longest literal that any match must contain; empty if that is not obvious.

    Only the easy case is handled: no alternatives, groups or flags. A character that a quantifier makes optional is
    not part of the literal.
    """
    if any(mark in pattern for mark in "|()"):
        return ""
    runs: list[str] = []
    run, at = "", 0
    while at < len(pattern):
        character, following = pattern[at], pattern[at + 1 : at + 2]
        plain, step = "", 1
        if character == "\\":
            if following in "xuUN0123456789" or not following:  # escapes of several characters: stop here
                break
            plain, step = ("" if following.isalnum() else following), 2
        elif character == "[":
            found = _PYTHON_SET.match(pattern, at)
            if not found:
                break
            step = found.end() - at
        elif found := _QUANTIFIER.match(pattern, at):
            run, step = run[:-1], found.end() - at
        elif character not in ".^$+{}]":
            plain = character
        if plain:
            run += plain
        else:
            runs.append(run)
            run = ""
        at += step
    return max([*runs, run], key=len)

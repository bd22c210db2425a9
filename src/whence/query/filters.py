r"""What may be returned at all: filters on files and units, globs, and patterns that behave like grep's (Q6, Q7).

Patterns are Python's regular expressions, with grep's `[[:alpha:]]` classes and its `\<` and `\>` word edges.
"""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass

from whence.core.errors import QueryError, UsageError
from whence.core.request import check_choice
from whence.core.types import KINDS
from whence.parse.languages import KNOWN_NAMES

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
            GitIgnoreSpec.from_lines([glob.lstrip("!")])
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
_WORD_EDGES = {r"\<": r"\b(?=\w)", r"\>": r"\b(?<=\w)"}


@dataclass(frozen=True, slots=True)
class Pattern:
    """A compiled pattern, tried line by line, and a literal that every matching line contains."""

    regex: re.Pattern[str]
    literal: str

    def matching_lines(self, text: str) -> list[int]:
        """The numbers (from 1) of the lines that match."""
        if self.literal and self.literal not in text:
            return []
        search = self.regex.search
        lines = text.split("\n")
        if not lines[-1]:
            lines.pop()
        return [number for number, line in enumerate(lines, 1) if search(line)]


def compile_pattern(pattern: str, *, fixed: bool = False, word: bool = False, ignore_case: bool = False) -> Pattern:
    """Compile what the user typed; an error shows a caret under the mistake."""
    if not pattern:
        raise QueryError("empty pattern", hint="give -e something to look for")
    text = re.escape(pattern) if fixed else _to_python(pattern)
    try:
        with warnings.catch_warnings():  # warnings about a later Python are not for users
            warnings.simplefilter("ignore", FutureWarning)
            re.compile(text)
            regex = re.compile(rf"(?<!\w)(?:{text})(?!\w)" if word else text, re.IGNORECASE if ignore_case else 0)
    except re.error as error:
        is_shown = error.pos is not None and text == pattern and "\n" not in pattern
        caret = f"\n  {pattern}\n  {' ' * min(error.pos or 0, len(pattern))}^" if is_shown else ""
        raise QueryError(f"bad pattern {pattern!r}: {error.msg}{caret}") from error
    except (OverflowError, RecursionError) as error:
        raise QueryError(f"bad pattern {pattern[:80]!r}: too large") from error
    return Pattern(regex, "" if ignore_case else (pattern if fixed else required_literal(text)))


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

r"""Patterns: the text filter that behaves like grep (Q6).

The language is Python's, with what grep has beside it: `[[:alpha:]]` and the like,
and `\<` and `\>` for the edges of a word.
"""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass

from whence.core.errors import QueryError

_POSIX = {
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
#: The same as Python reads it, which knows no classes inside.
_PYTHON_SET = re.compile(r"\[\^?\]?(?:[^\]\\]|\\.)*\]", re.DOTALL)
_QUANTIFIER = re.compile(r"[*?]|\{(\d*)(?:,\d*)?\}")
_WORD_EDGES = {r"\<": r"\b(?=\w)", r"\>": r"\b(?<=\w)"}


@dataclass(frozen=True, slots=True)
class Pattern:
    """A compiled pattern, tried line by line, and a text that every matching line must hold."""

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
    """Compile what the user typed; a mistake is shown with a caret under it."""
    if not pattern:
        raise QueryError("the pattern is empty", hint="give -e something to look for")
    text = re.escape(pattern) if fixed else _in_python(pattern)
    try:
        with warnings.catch_warnings():  # a later Python may read some sets in another way: no news for a user
            warnings.simplefilter("ignore", FutureWarning)
            re.compile(text)
            regex = re.compile(rf"(?<!\w)(?:{text})(?!\w)" if word else text, re.IGNORECASE if ignore_case else 0)
    except re.error as error:
        shown = error.pos is not None and text == pattern and "\n" not in pattern
        caret = f"\n  {pattern}\n  {' ' * min(error.pos or 0, len(pattern))}^" if shown else ""
        raise QueryError(f"bad pattern {pattern!r}: {error.msg}{caret}") from error
    except (OverflowError, RecursionError) as error:
        raise QueryError(f"bad pattern {pattern[:80]!r}: too large") from error
    return Pattern(regex, "" if ignore_case else (pattern if fixed else required_literal(text)))


def _in_python(pattern: str) -> str:
    """A pattern with grep's own words put into Python's."""
    out, at, closed = [], 0, True
    while at < len(pattern):
        pair = pattern[at : at + 2]
        found = _SET.match(pattern, at) if closed and pattern[at] == "[" else None
        closed = closed and (found is not None or pattern[at] != "[")  # where one set never ends, no later one does
        if found:
            inside = _POSIX_CLASS.sub(lambda match: _POSIX.get(match.group(1), match.group()), found.group())
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
    """The longest plain text that any match must hold; empty when that is not plain to see.

    Only the easy case is read: no alternatives, no groups, no flags. A character
    that a quantifier makes optional is not part of the text.
    """
    if any(mark in pattern for mark in "|()"):
        return ""
    runs: list[str] = []
    run, at = "", 0
    while at < len(pattern):
        character, following = pattern[at], pattern[at + 1 : at + 2]
        plain, step = "", 1
        if character == "\\":
            if following in "xuUN0123456789" or not following:  # escapes of several characters: read no further
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

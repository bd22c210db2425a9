"""Patterns: the text filter that behaves like grep (Q6)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from whence.errors import QueryError


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
        if lines and not lines[-1]:
            lines.pop()
        return [number for number, line in enumerate(lines, 1) if search(line)]


def compile_pattern(pattern: str, *, fixed: bool = False, word: bool = False, ignore_case: bool = False) -> Pattern:
    """Compile what the user typed; a mistake is shown with a caret under it."""
    if not pattern:
        raise QueryError("the pattern is empty", hint="give -e something to look for")
    text = re.escape(pattern) if fixed else pattern
    try:
        if word:
            re.compile(text)
            text = rf"(?<!\w)(?:{text})(?!\w)"
        regex = re.compile(text, re.IGNORECASE if ignore_case else 0)
    except re.error as error:
        caret = (
            f"\n  {pattern}\n  {' ' * min(error.pos, len(pattern))}^" if error.pos is not None and not word and "\n" not in pattern else ""
        )
        raise QueryError(f"bad pattern {pattern!r}: {error.msg}{caret}") from error
    except (OverflowError, RecursionError) as error:
        raise QueryError(f"bad pattern {pattern[:80]!r}: too large") from error
    return Pattern(regex, "" if ignore_case else (pattern if fixed else required_literal(pattern)))


_SPECIAL = set(".^$*+?{}[]\\|()")


def required_literal(pattern: str) -> str:
    """The longest plain text that any match must hold; empty when that is not plain to see.

    Only the easy case is read: no alternatives, no groups, no flags. A character
    that a quantifier makes optional ends the run before it.
    """
    if any(mark in pattern for mark in "|()"):
        return ""
    runs: list[str] = []
    run, at = "", 0
    while at < len(pattern):
        character = pattern[at]
        if character == "\\":
            following = pattern[at + 1 : at + 2]
            if following and not following.isalnum():
                run, at = run + following, at + 2
                continue
            runs, run, at = [*runs, run], "", at + 2
            if following in "xuUN0123456789":  # escapes of several characters: stop reading
                return max(runs, key=len)
            continue
        if character == "[":
            end = pattern.find("]", at + 2)
            if end < 0:
                return max([*runs, run], key=len)
            runs, run, at = [*runs, run], "", end + 1
            continue
        if character in "*?{":
            runs, run = [*runs, run[:-1]], ""
            at = pattern.find("}", at) + 1 if character == "{" and "}" in pattern[at:] else at + 1
            continue
        if character in _SPECIAL:
            runs, run, at = [*runs, run], "", at + 1
            continue
        run, at = run + character, at + 1
    return max([*runs, run], key=len)

"""Two versions of a text, compared by lines, with a few lines of context."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

SAME, REMOVED, ADDED, GAP = " ", "-", "+", "@"
#: Unchanged lines around a change.
CONTEXT_LINES = 3
#: Longer texts are not compared: the time grows with the product of their lengths.
MAX_LINES = 5_000


class NumberedLine(NamedTuple):
    """A line with its number in the file."""

    number: int
    text: str


class LineChange(NamedTuple):
    """A line of a comparison."""

    sign: str  # ` ` unchanged, `-` removed, `+` added, `@` where unchanged lines are left out
    old_number: int | None  # its number in the earlier version
    new_number: int | None  # its number in the later version
    text: str


def number_lines(text: str, first: int = 1) -> list[NumberedLine]:
    """A text as numbered lines; a newline at its end starts no other."""
    lines = text.split("\n")
    return [NumberedLine(number, line) for number, line in enumerate(lines[:-1] if not lines[-1] else lines, first)]


def diff_lines(then: Sequence[NumberedLine], now: Sequence[NumberedLine]) -> list[LineChange] | None:
    """The changes from one version to the other: empty if they are equal, None if they are too long to compare."""
    if max(len(then), len(now)) > MAX_LINES:
        return None
    matcher = SequenceMatcher(None, [line.text for line in then], [line.text for line in now])
    found: list[LineChange] = []
    for group in matcher.get_grouped_opcodes(CONTEXT_LINES):
        if found or group[0][1] or group[0][3]:
            found.append(LineChange(GAP, None, None, ""))
        for tag, start, end, from_, to in group:
            if tag == "equal":
                pairs = zip(then[start:end], now[from_:to], strict=True)
                found += [LineChange(SAME, one.number, other.number, other.text) for one, other in pairs]
            else:
                found += removed_lines(then[start:end])
                found += [LineChange(ADDED, None, line.number, line.text) for line in now[from_:to]]
    return found


def removed_lines(lines: Iterable[NumberedLine]) -> Iterator[LineChange]:
    """Lines that were removed."""
    return (LineChange(REMOVED, line.number, None, line.text) for line in lines)

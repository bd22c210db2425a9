"""Two versions of a text, compared by lines: what went, what came, and a few lines around it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

SAME, REMOVED, ADDED, GAP = " ", "-", "+", "@"
#: Lines around a change that are shown with it.
CONTEXT_LINES = 3
#: Longer texts are not compared: the time grows with the product of their lengths.
MAX_LINES = 5_000


class NumberedLine(NamedTuple):
    """A line, and its number in the file that it stands in."""

    number: int
    text: str


class LineChange(NamedTuple):
    """A line of a comparison."""

    sign: str  # ` ` for what is in both, `-` for what went, `+` for what came, `@` where lines that are in both are left out
    old_number: int | None  # its number in the version before
    new_number: int | None  # its number in the version after
    text: str


def number_lines(text: str, first: int = 1) -> list[NumberedLine]:
    """A text as lines with their numbers; the end of its last line begins no other."""
    lines = text.split("\n")
    return [NumberedLine(number, line) for number, line in enumerate(lines[:-1] if not lines[-1] else lines, first)]


def diff_lines(then: Sequence[NumberedLine], now: Sequence[NumberedLine]) -> list[LineChange] | None:
    """What became of a text; nothing when it is the same, None when it is too long to be compared."""
    if max(len(then), len(now)) > MAX_LINES:
        return None
    matcher = SequenceMatcher(None, [line.text for line in then], [line.text for line in now])
    found: list[LineChange] = []
    for group in matcher.get_grouped_opcodes(CONTEXT_LINES):
        (_, first, _, begin, _) = group[0]
        if found or first or begin:
            found.append(LineChange(GAP, None, None, ""))
        for tag, start, end, from_, to in group:
            if tag == "equal":
                pairs = zip(then[start:end], now[from_:to], strict=True)
                found += [LineChange(SAME, one.number, other.number, other.text) for one, other in pairs]
            else:
                found += [*removed_lines(then[start:end]), *_all_new(now[from_:to])]
    return found


def removed_lines(lines: Iterable[NumberedLine]) -> Iterator[LineChange]:
    """Lines that are there no more."""
    return (LineChange(REMOVED, line.number, None, line.text) for line in lines)


def _all_new(lines: Iterable[NumberedLine]) -> Iterator[LineChange]:
    return (LineChange(ADDED, None, line.number, line.text) for line in lines)

"""Two versions of a text, compared by lines: what went, what came, and a few lines around it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

KEPT, GONE, NEW, LEFT_OUT = " ", "-", "+", "@"
#: Lines around a change that are shown with it.
AROUND = 3
#: Longer texts are not compared: the time grows with the product of their lengths.
MOST_LINES = 5_000


class Numbered(NamedTuple):
    """A line, and its number in the file that it stands in."""

    number: int
    text: str


class Difference(NamedTuple):
    """A line of a comparison."""

    sign: str  # ` ` for what is in both, `-` for what went, `+` for what came, `@` where lines that are in both are left out
    then: int | None  # its number in the version before
    now: int | None  # its number in the version after
    text: str


def numbered(text: str, first: int = 1) -> list[Numbered]:
    """A text as lines with their numbers; the end of its last line begins no other."""
    lines = text.split("\n")
    return [Numbered(number, line) for number, line in enumerate(lines[:-1] if not lines[-1] else lines, first)]


def compared(then: Sequence[Numbered], now: Sequence[Numbered]) -> list[Difference] | None:
    """What became of a text; nothing when it is the same, None when it is too long to be compared."""
    if max(len(then), len(now)) > MOST_LINES:
        return None
    matcher = SequenceMatcher(None, [line.text for line in then], [line.text for line in now])
    found: list[Difference] = []
    for group in matcher.get_grouped_opcodes(AROUND):
        (_, first, _, begin, _) = group[0]
        if found or first or begin:
            found.append(Difference(LEFT_OUT, None, None, ""))
        for tag, start, end, from_, to in group:
            if tag == "equal":
                pairs = zip(then[start:end], now[from_:to], strict=True)
                found += [Difference(KEPT, one.number, other.number, other.text) for one, other in pairs]
            else:
                found += [*all_gone(then[start:end]), *_all_new(now[from_:to])]
    return found


def all_gone(lines: Iterable[Numbered]) -> Iterator[Difference]:
    """Lines that are there no more."""
    return (Difference(GONE, line.number, None, line.text) for line in lines)


def _all_new(lines: Iterable[Numbered]) -> Iterator[Difference]:
    return (Difference(NEW, None, line.number, line.text) for line in lines)

"""The lines of a result that matter: those that hold most of what was asked for."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import fsum

from whence.text import analyzer

#: A line this long is cut in the middle of nowhere; nobody reads it whole.
LONGEST_SHOWN = 240
#: Units longer than this are looked at only in part: a result is not a book.
MOST_LINES_READ = 2_000


@dataclass(frozen=True, slots=True)
class ShownLine:
    """One line of a file, with the columns (from 0) of the words that matched."""

    number: int
    text: str
    marks: tuple[tuple[int, int], ...] = ()


def choose_lines(
    lines: Sequence[str], first: int, last: int, weights: Mapping[str, float], count: int, leading: Sequence[int] = ()
) -> list[ShownLine]:
    """The `count` best lines of first..last (from 1), in their order: `leading` ones first; the first line when none matches."""
    scored = [(-worth, number) for number, worth in line_worths(lines, weights, first, min(last, first + MOST_LINES_READ))]
    ordered = dict.fromkeys([*(number for number in leading if number <= len(lines)), *(number for _, number in sorted(scored))])
    best = sorted(list(ordered)[: max(count, 0)]) or [first][: max(count, 0)]
    return [shown_line(number, lines[number - 1], weights) for number in best if number <= len(lines)]


def line_worths(lines: Sequence[str], weights: Mapping[str, float], first: int, last: int) -> list[tuple[int, float]]:
    """The lines of first..last (from 1) that hold terms of a query, each with the weight of its distinct terms."""
    likely = _beginnings(frozenset(weights)).search
    found = []
    for number in range(first, min(last, len(lines)) + 1):
        if likely(lines[number - 1]):
            held = {term for word in analyzer.words(lines[number - 1][:LONGEST_SHOWN]) for term in analyzer.terms(word) if term in weights}
            if held:
                found.append((number, fsum(weights[term] for term in held)))
    return found


def shown_line(number: int, text: str, weights: Mapping[str, float], *, whole: bool = False) -> ShownLine:
    """A line with the words marked that matched; a whole one is given to the letter, as grep does."""
    text = text if whole else text.rstrip("\r\n").expandtabs(4)[:LONGEST_SHOWN]
    if not weights:
        return ShownLine(number, text)
    marks = [match.span() for match in analyzer.WORD.finditer(text) if any(term in weights for term in analyzer.terms(match.group()))]
    return ShownLine(number, text, tuple(marks))


def concentration(text: str, terms: frozenset[str]) -> int:
    """The most distinct terms of the query that one line holds (Q3)."""
    best = at = 0
    likely = _beginnings(terms)
    while best < len(terms) and (match := likely.search(text, at)):
        start, end = text.rfind("\n", 0, match.start()) + 1, text.find("\n", match.end())
        at = len(text) if end < 0 else end
        best = max(best, len({term for word in analyzer.words(text[start:at]) for term in analyzer.terms(word)} & terms))
    return best


@lru_cache(maxsize=64)
def _beginnings(terms: frozenset[str]) -> re.Pattern[str]:
    """Matches where a term could stand: a stem may differ from its word in the last letter."""
    return re.compile("|".join(sorted(re.escape(term[: max(3, len(term) - 1)]) for term in terms)) or r"(?!)", re.IGNORECASE)

"""Words that stand for one another, from `synonyms.txt`."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from whence.parse.tokens import stem

_NONE: frozenset[str] = frozenset()


def synonyms_of(stemmed: str) -> frozenset[str]:
    """The stems that stand for the same as this one."""
    return _groups().get(stemmed, _NONE)


@cache
def _groups() -> dict[str, frozenset[str]]:
    return stems_by_stem(Path(__file__).with_suffix(".txt"))


def stems_by_stem(file: Path) -> dict[str, frozenset[str]]:
    """For each stem in a file of word groups, one a line, the other stems of its groups."""
    found: dict[str, frozenset[str]] = {}
    for line in lines_of(file):
        group = frozenset(stem(word) for word in line.split())
        for one in group:
            found[one] = found.get(one, _NONE) | (group - {one})
    return found


def lines_of(file: Path) -> list[str]:
    """The lines of a vocabulary file that say something: no comments, no empty ones."""
    return [line for line in file.read_text(encoding="utf-8").splitlines() if line.strip() and not line.startswith("#")]

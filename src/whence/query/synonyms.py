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
    found: dict[str, frozenset[str]] = {}
    for line in Path(__file__).with_suffix(".txt").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            group = frozenset(stem(word) for word in line.split())
            for one in group:
                found[one] = found.get(one, _NONE) | (group - {one})
    return found

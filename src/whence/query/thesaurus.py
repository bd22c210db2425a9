"""Programming words that stand for related things, from `thesaurus.txt` (N2)."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from whence.query.synonyms import stems_by_stem

_NONE: frozenset[str] = frozenset()


def widened(stemmed: str) -> frozenset[str]:
    """The stems of words related to this one, itself left out."""
    return _clusters().get(stemmed, _NONE)


@cache
def _clusters() -> dict[str, frozenset[str]]:
    return stems_by_stem(Path(__file__).with_suffix(".txt"))

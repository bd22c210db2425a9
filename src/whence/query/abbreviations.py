"""Short forms of programming words and what they stand for, from `abbreviations.txt` (K3)."""

from __future__ import annotations

from collections import defaultdict
from functools import cache
from pathlib import Path

from whence.parse.tokens import stem
from whence.query.synonyms import lines_of

_NONE: frozenset[str] = frozenset()


def abbreviations_of(word: str) -> frozenset[str]:
    """What a short form stands for, or the short forms of a word in any inflection; the word itself left out.

    Two meanings of one short form are not forms of each other: `req` gives `request` and
    `requirement`, but `request` gives `req` alone.
    """
    lowered = word.lower()
    return (_by_word().get(lowered) or _by_stem().get(stem(lowered), _NONE)) - {lowered}


@cache
def _by_word() -> dict[str, frozenset[str]]:
    found: defaultdict[str, set[str]] = defaultdict(set)
    for line in lines_of(Path(__file__).with_suffix(".txt")):
        short, _, full = line.partition(":")
        for one in short.split():
            found[one].update(short.split(), full.split())
        for one in full.split():
            found[one].update(short.split())
    return {word: frozenset(others - {word}) for word, others in found.items()}


@cache
def _by_stem() -> dict[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    for word, others in _by_word().items():
        found[stem(word)] = found.get(stem(word), _NONE) | others
    return found

"""Related words: synonyms, a wider thesaurus, and abbreviations, each from a text table."""

from __future__ import annotations

from collections import defaultdict
from functools import cache
from pathlib import Path

from whence.text.analyzer import stem
from whence.text.tables import content_lines

_NONE: frozenset[str] = frozenset()


def synonyms_of(stemmed: str) -> frozenset[str]:
    """The stems that mean the same as this one."""
    return _groups("synonyms").get(stemmed, _NONE)


def related_words(stemmed: str) -> frozenset[str]:
    """The stems of words related to this one, without itself."""
    return _groups("thesaurus").get(stemmed, _NONE)


@cache
def _groups(name: str) -> dict[str, frozenset[str]]:
    """For each stem of a table with one group of words a line, the other stems of its groups."""
    found: dict[str, frozenset[str]] = {}
    for line in content_lines(_table(name)):
        group = frozenset(stem(word) for word in line.split())
        for one in group:
            found[one] = found.get(one, _NONE) | (group - {one})
    return found


def _table(name: str) -> Path:
    return Path(__file__).with_name(f"{name}.txt")


def abbreviations_of(word: str) -> frozenset[str]:
    """What a short form stands for, or the short forms of a word in any inflection; without the word itself.

    Two meanings of one short form are not forms of each other: `req` gives `request` and `requirement`, but `request`
    gives only `req`.
    """
    lowered = word.lower()
    return (_abbreviations().get(lowered) or _abbreviations_by_stem().get(stem(lowered), _NONE)) - {lowered}


@cache
def _abbreviations() -> dict[str, frozenset[str]]:
    found: defaultdict[str, set[str]] = defaultdict(set)
    for line in content_lines(_table("abbreviations")):
        short, _, full = line.partition(":")
        for one in short.split():
            found[one].update(short.split(), full.split())
        for one in full.split():
            found[one].update(short.split())
    return {word: frozenset(others - {word}) for word, others in found.items()}


@cache
def _abbreviations_by_stem() -> dict[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    for word, others in _abbreviations().items():
        found[stem(word)] = found.get(stem(word), _NONE) | others
    return found

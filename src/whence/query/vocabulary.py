"""Words that stand for one another, from `synonyms.txt`."""

from __future__ import annotations

from collections import defaultdict
from functools import cache
from pathlib import Path

from whence.text.analyzer import stem

_NONE: frozenset[str] = frozenset()


def synonyms_of(stemmed: str) -> frozenset[str]:
    """The stems that stand for the same as this one."""
    return _groups().get(stemmed, _NONE)


@cache
def _groups() -> dict[str, frozenset[str]]:
    return stems_by_stem(Path(__file__).with_name("synonyms.txt"))


def stems_by_stem(file: Path) -> dict[str, frozenset[str]]:
    """For each stem in a file of word groups, one a line, the other stems of its groups."""
    found: dict[str, frozenset[str]] = {}
    for line in content_lines(file):
        group = frozenset(stem(word) for word in line.split())
        for one in group:
            found[one] = found.get(one, _NONE) | (group - {one})
    return found


def content_lines(file: Path) -> list[str]:
    """The lines of a vocabulary file that say something: no comments, no empty ones."""
    return [line for line in file.read_text(encoding="utf-8").splitlines() if line.strip() and not line.startswith("#")]


_NONE_thesaurus: frozenset[str] = frozenset()


def related_words(stemmed: str) -> frozenset[str]:
    """The stems of words related to this one, itself left out."""
    return _clusters().get(stemmed, _NONE_thesaurus)


@cache
def _clusters() -> dict[str, frozenset[str]]:
    return stems_by_stem(Path(__file__).with_name("thesaurus.txt"))


_NONE_abbreviations: frozenset[str] = frozenset()


def abbreviations_of(word: str) -> frozenset[str]:
    """What a short form stands for, or the short forms of a word in any inflection; the word itself left out.

    Two meanings of one short form are not forms of each other: `req` gives `request` and
    `requirement`, but `request` gives `req` alone.
    """
    lowered = word.lower()
    return (_by_word().get(lowered) or _by_stem().get(stem(lowered), _NONE_abbreviations)) - {lowered}


@cache
def _by_word() -> dict[str, frozenset[str]]:
    found: defaultdict[str, set[str]] = defaultdict(set)
    for line in content_lines(Path(__file__).with_name("abbreviations.txt")):
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
        found[stem(word)] = found.get(stem(word), _NONE_abbreviations) | others
    return found

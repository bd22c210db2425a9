"""Plain BM25 over whole files: what every search is held against that claims to know more of code.

One document for each indexed file of code, without its path and without any prior. Words
are split as whence splits them, and a question has the content words that whence reads in it,
so that the two systems differ in nothing but how they rank.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from whence.app.index import Index
from whence.core.types import CODE
from whence.query.plan import make_plan
from whence.storage.arrayfile import Array
from whence.text import analyzer

#: How soon a word that is said again adds nothing, and how much a long file pays for its length.
K1, B = 1.2, 0.75


@dataclass(frozen=True, slots=True)
class Bag:
    """The terms of one file: each as its number, how often it stands there, and how many there are in all."""

    terms: Array
    counts: Array
    length: int


class WholeFiles:
    """Ranks the files of an index; what was counted once of a content is kept, so a moved tree costs what changed."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}  # of terms
        self._words: dict[str, tuple[int, ...]] = {}  # each word as the numbers of its terms
        self._bags: dict[bytes, Bag] = {}  # by the hash of a content

    def best(self, index: Index, query: str, k: int) -> list[str]:
        """The paths of the best k files that hold a word of the query; equal ones in the order of their paths."""
        snapshot = index.snapshot
        paths = sorted(snapshot.path(file) for file in np.flatnonzero(snapshot.content_mask(CODE)).tolist())
        scores = self.scores([self._bag_of(index, path, found) for path, found in self._hashes(index, paths)], content_terms(query))
        order = np.argsort(-scores, kind="stable")[:k]
        return [paths[row] for row in order.tolist() if scores[row] > 0]

    def bag(self, text: str) -> Bag:
        """Count the terms of a text."""
        counted: Counter[int] = Counter()
        for word, count in Counter(analyzer.words(text)).items():
            for number in self._numbers_of(word):
                counted[number] += count
        size = len(counted)
        return Bag(np.fromiter(counted, np.int32, size), np.fromiter(counted.values(), np.float64, size), counted.total())

    def scores(self, bags: Sequence[Bag], query: Sequence[str]) -> Array:
        """The BM25 score of each bag; a term that the query says twice counts twice."""
        asked = Counter(number for term in query if (number := self._numbers.get(term)) is not None)
        if not bags or not asked:
            return np.zeros(len(bags))
        column = np.full(len(self._numbers), -1, np.int32)
        column[list(asked)] = np.arange(len(asked))
        sizes = [len(bag.terms) for bag in bags]
        columns = column[np.concatenate([bag.terms for bag in bags])]
        found = np.flatnonzero(columns >= 0)
        held = np.concatenate([bag.counts for bag in bags])[found]
        rows, columns = np.repeat(np.arange(len(bags)), sizes)[found], columns[found]
        lengths = np.array([bag.length for bag in bags], np.float64)
        seen_in = np.bincount(columns, minlength=len(asked))
        rarity = np.log(1 + (len(bags) - seen_in + 0.5) / (seen_in + 0.5)) * np.array(list(asked.values()))
        norm = K1 * (1 - B + B * lengths / max(float(lengths.mean()), 1.0))
        worth = rarity[columns] * held * (K1 + 1) / (held + norm[rows])
        return np.bincount(rows, weights=worth, minlength=len(bags))

    def _numbers_of(self, word: str) -> tuple[int, ...]:
        known = self._words.get(word)
        if known is None:
            known = tuple(self._numbers.setdefault(term, len(self._numbers)) for term in analyzer.terms(word))
            self._words[word] = known
        return known

    def _hashes(self, index: Index, paths: list[str]) -> list[tuple[str, bytes]]:
        known = index.store.hashes(paths)
        return [(path, known[path]) for path in paths]

    def _bag_of(self, index: Index, path: str, content: bytes) -> Bag:
        if content not in self._bags:
            self._bags[content] = self.bag(index.read_text(path) or "")
        return self._bags[content]


def content_terms(query: str) -> list[str]:
    """The terms of a query's content words, none weighed more than another, and each as often as it is said."""
    return [term for word in make_plan(query, decay=0.0, quoted=1.0).words for term in analyzer.terms(word)]

"""Candidates by their meaning: the passages whose vectors lie nearest to the question's."""

from __future__ import annotations

import numpy as np

from whence.embed.encoder import Encoder, Vectors
from whence.index.snapshot import Snapshot
from whence.index.vectors import SnapshotVectors
from whence.retrieval.term_statistics import CachedPostings
from whence.storage.arrayfile import Array
from whence.storage.rows import best_first, first_of_each, is_member, spread

#: Characters of a question that an encoder reads.
MOST_ENCODED = 4_000
#: A file is as near as the mean of its nearest passages. One that has fewer is not nearer for it: each that it
#: lacks counts as this share of its nearest, or a file of one lucky line would lead.
BEST_PASSAGES = 3
LACKING = 0.7
#: Where more than this share of all passages may be found, all are compared at once.
MOST_COMPARED = 0.6


class DenseMatches:
    """What vectors say of one question, worked out once and shared by retrievers and signals."""

    def __init__(self, snapshot: Snapshot, view: SnapshotVectors, question: Vectors, asks: int | None = None) -> None:
        """`asks` is the unit that is the question, if one is: a passage with some of it says nothing of its neighbours there."""
        self._snapshot, self._view, self._question = snapshot, view, question
        self._deaf = np.arange(*(int(at) for at in view.passages_of_units(np.array(asks)))) if asks is not None else np.empty(0, np.int64)
        self._every: Array | None = None
        self._compared = CachedPostings(view.passages, self._compare, np.float32)
        self._of_known_units = CachedPostings(snapshot.units, self._find_of_units, np.float32)
        self._of_known_files = CachedPostings(snapshot.files, self._find_of_files)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to compare: no passages, or no word of the question is known."""
        return not self._view.passages or not self._question.rows.any()

    def nearest(self, count: int, units: Array | None, at_least: float = 0.0) -> tuple[Array, Array]:
        """The passages nearest to the question that hold some of the units of a mask: (passages, similarity)."""
        allowed = self._view.passages_with_units(units if units is not None else self._snapshot.unit_alive)
        if len(self._deaf):
            allowed = np.ones(self._view.passages, bool) if allowed is None else allowed
            allowed[self._deaf] = False
        if self._every is None and (allowed is None or np.count_nonzero(allowed) > MOST_COMPARED * self._view.passages):
            self._every = self._compare_every()
        passages, scores = self._view.nearest(self._question, count, allowed, self._every)
        near = scores >= at_least if at_least else slice(None)
        return passages[near], scores[near]

    def units_of(self, passages: Array, scores: Array, words: Array, units: Array | None) -> tuple[Array, Array]:
        """The unit of each passage that its words like best, among those allowed: (units, similarity), each unit once."""
        lows, highs = self._view.first[passages], self._view.last[passages] + 1
        owner, unit = spread(lows, highs)
        if units is not None:
            kept = units[unit]
            owner, unit = owner[kept], unit[kept]
        order = np.lexsort((unit, -words[unit], owner))
        owner, unit = owner[order], unit[order]
        lead = first_of_each(owner)
        found, similar = unit[lead], scores[owner[lead]]
        order = np.lexsort((-similar, found))
        once = order[first_of_each(found[order])]
        return found[once], similar[once]

    def of_units(self, units: Array) -> Array:
        """How near each unit is: the nearest passage that it has a part in."""
        return self._of_known_units.at(units)

    def of_files(self, files: Array) -> Array:
        """How near each file is: the mean of its three nearest passages."""
        return self._of_known_files.at(files)

    def _find_of_units(self, units: Array) -> Array:
        low, high = self._view.passages_of_units(units)
        owner, passage = spread(low, high)
        return _best(owner, self._similar(passage), len(units))

    def _find_of_files(self, files: Array) -> Array:
        owner, similar = self._of_files(files)
        owner, similar, place = best_first(owner, similar)
        kept = place < BEST_PASSAGES
        sums = np.bincount(owner[kept], weights=similar[kept], minlength=len(files))
        lacks = BEST_PASSAGES - np.bincount(owner[kept], minlength=len(files))
        return (sums + lacks * LACKING * _best(owner, similar, len(files))) / BEST_PASSAGES

    def _of_files(self, files: Array) -> tuple[Array, Array]:
        starts = self._snapshot.unit_starts
        low = np.searchsorted(self._view.last, starts[files])
        high = np.searchsorted(self._view.first, starts[files + 1])
        owner, passage = spread(low, high)
        return owner, self._similar(passage)

    def _compare_every(self) -> Array | None:
        """How near all passages are, where there are few enough to compare them once for all that is asked of them."""
        found = self._view.compare_all(self._question)
        if found is not None:
            found[self._deaf] = 0
        return found

    def _similar(self, passages: Array) -> Array:
        if self._every is not None:
            return self._every[passages]
        return self._compared.at(passages)

    def _compare(self, passages: Array) -> Array:
        similar = self._view.compare(self._question, passages)
        similar[is_member(passages, self._deaf)] = 0
        return similar


def dense_matches(snapshot: Snapshot, encoder: Encoder | None, text: str) -> DenseMatches | None:
    """What vectors have to say of a question, where there are some and it has a word they know."""
    if encoder is None or snapshot.vectors is None:
        return None
    dense = DenseMatches(snapshot, snapshot.vectors, encoder.encode_query(text[:MOST_ENCODED]))
    return None if dense.is_empty else dense


def _best(owner: Array, values: Array, count: int) -> Array:
    found = np.zeros(count, np.float32)
    if len(owner):
        starts = first_of_each(owner)
        found[owner[starts]] = np.maximum.reduceat(values, starts)
    return found

"""Candidates by vectors: the passages nearest to the query."""

from __future__ import annotations

import numpy as np

from whence.embed.encoder import Encoder, Vectors
from whence.index.snapshot import Snapshot
from whence.index.vectors import SnapshotVectors
from whence.retrieval.lexical import RowCache
from whence.storage.arrayfile import Array
from whence.storage.postings import best_first, first_of_each, is_member, spread

#: Characters of a query that are encoded.
MAX_ENCODED = 4_000
#: A file's similarity is the mean of its nearest passages. Each passage it lacks counts as this share of its nearest,
#: or a file with one lucky line would lead.
BEST_PASSAGES = 3
MISSING_SHARE = 0.7
#: Above this share of allowed passages, all are compared at once.
COMPARE_ALL_ABOVE = 0.6


class DenseMatches:
    """Similarities to one query, computed once and shared by retrievers and signals."""

    def __init__(self, snapshot: Snapshot, view: SnapshotVectors, query: Vectors, example: int | None = None) -> None:
        """`example` is the unit that serves as the query, if any; passages that overlap it count as dissimilar."""
        self._snapshot, self._view, self._query = snapshot, view, query
        low, high = self._passages_of(np.array(example)) if example is not None else (0, 0)
        self._ignored = np.arange(int(low), int(high))
        self._every: Array | None = None
        self._passage_cache = RowCache(view.passages, self._compare, np.float32)
        self._unit_cache = RowCache(snapshot.units, self._compute_units, np.float32)
        self._file_cache = RowCache(snapshot.files, self._compute_files)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to compare: no passages, or no known word in the query."""
        return not self._view.passages or not self._query.rows.any()

    def nearest(self, count: int, units: Array | None, at_least: float = 0.0) -> tuple[Array, Array]:
        """The nearest passages that overlap the units of a mask: (passages, similarity)."""
        allowed = self._view.passages_with_units(units if units is not None else self._snapshot.unit_alive)
        if len(self._ignored):
            allowed = np.ones(self._view.passages, bool) if allowed is None else allowed
            allowed[self._ignored] = False
        if self._every is None and (allowed is None or np.count_nonzero(allowed) > COMPARE_ALL_ABOVE * self._view.passages):
            self._every = self._compare_every()
        passages, scores = self._view.nearest(self._query, count, allowed, self._every)
        near = scores >= at_least if at_least else slice(None)
        return passages[near], scores[near]

    def units_of(self, passages: Array, scores: Array, lexical: Array, units: Array | None) -> tuple[Array, Array]:
        """The allowed unit of each passage with the best lexical score: (units, similarity), each unit once."""
        lows, highs = self._view.first[passages], self._view.last[passages] + 1
        owner, unit = spread(lows, highs)
        if units is not None:
            kept = units[unit]
            owner, unit = owner[kept], unit[kept]
        order = np.lexsort((unit, -lexical[unit], owner))
        owner, unit = owner[order], unit[order]
        lead = first_of_each(owner)
        best, similar = unit[lead], scores[owner[lead]]
        order = np.lexsort((-similar, best))
        once = order[first_of_each(best[order])]
        return best[once], similar[once]

    def of_units(self, units: Array) -> Array:
        """The similarity of each unit: its nearest passage."""
        return self._unit_cache.at(units)

    def of_files(self, files: Array) -> Array:
        """The similarity of each file: the mean of its three nearest passages."""
        return self._file_cache.at(files)

    def _passages_of(self, units: Array) -> tuple[Array, Array]:
        return self._view.passages_of_units(units, self._snapshot.column("units.inside")[units])

    def _compute_units(self, units: Array) -> Array:
        low, high = self._passages_of(units)
        owner, passage = spread(low, high)
        return _best(owner, self._similar(passage), len(units))

    def _compute_files(self, files: Array) -> Array:
        owner, similar = self._file_passages(files)
        owner, similar, place = best_first(owner, similar)
        kept = place < BEST_PASSAGES
        sums = np.bincount(owner[kept], weights=similar[kept], minlength=len(files))
        missing = BEST_PASSAGES - np.bincount(owner[kept], minlength=len(files))
        return (sums + missing * MISSING_SHARE * _best(owner, similar, len(files))) / BEST_PASSAGES

    def _file_passages(self, files: Array) -> tuple[Array, Array]:
        starts = self._snapshot.unit_starts
        low = np.searchsorted(self._view.last, starts[files])
        high = np.searchsorted(self._view.first, starts[files + 1])
        owner, passage = spread(low, high)
        return owner, self._similar(passage)

    def _compare_every(self) -> Array | None:
        """The similarities of all passages; None where there are too many."""
        similar = self._view.compare_all(self._query)
        if similar is not None:
            similar[self._ignored] = 0
        return similar

    def _similar(self, passages: Array) -> Array:
        if self._every is not None:
            return self._every[passages]
        return self._passage_cache.at(passages)

    def _compare(self, passages: Array) -> Array:
        similar = self._view.compare(self._query, passages)
        similar[is_member(passages, self._ignored)] = 0
        return similar


def dense_matches(snapshot: Snapshot, encoder: Encoder | None, text: str) -> DenseMatches | None:
    """The similarities to a query; None without vectors or without a known word in it."""
    if encoder is None or snapshot.vectors is None:
        return None
    dense = DenseMatches(snapshot, snapshot.vectors, encoder.encode_query(text[:MAX_ENCODED]))
    return None if dense.is_empty else dense


def _best(owner: Array, values: Array, count: int) -> Array:
    best = np.zeros(count, np.float32)
    if len(owner):
        starts = first_of_each(owner)
        best[owner[starts]] = np.maximum.reduceat(values, starts)
    return best

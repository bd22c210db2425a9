"""Candidates by history: files changed by commits whose messages are like the query (Z9)."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from whence.index.snapshot import Snapshot
from whence.query.plan import QueryPlan
from whence.retrieval.lexical import top
from whence.storage.arrayfile import Array, Columns, unpack_strings
from whence.storage.postings import best_first, first_of_each, ranges
from whence.text.bm25 import idf

#: Commits that count, those most like the query.
MAX_COMMITS = 60
#: Each further commit that touched a file counts this much less.
COMMIT_DECAY = 0.7
#: The length of an ordinary commit message, in terms.
USUAL_TERMS = 12.0


class CommitMatches:
    """The files that similar commits changed, for one query."""

    def __init__(self, snapshot: Snapshot, plan: QueryPlan) -> None:
        self._snapshot, self._plan = snapshot, plan

    @cached_property
    def _scores(self) -> Array:
        """The score of every file."""
        column = np.zeros(self._snapshot.files, np.float32)
        if self._snapshot.precedents is not None:
            return self._snapshot.precedents
        if self._snapshot.commits is not None:
            files, scores = self._files(self._snapshot.commits)
            column[files] = scores
        return column

    def best_files(self, count: int, allowed: Array) -> tuple[Array, Array]:
        """The files that similar commits changed most: (files, scores)."""
        return top(self._scores, count, allowed, self._snapshot.file_order)

    def of_files(self, files: Array) -> Array:
        """The score of each of some files, 1 for the best of them."""
        scores = self._scores[files]
        best = float(scores.max(initial=0.0))
        return scores / best if best > 0 else scores

    def _files(self, past: Columns) -> tuple[Array, Array]:
        commits, like = self._similar_commits(past)
        ends = past["path_ends"]
        starts = np.concatenate([[0], ends])
        owner, at = ranges(starts, commits)
        path = past["path_rows"][at]
        worth = like[owner] / np.sqrt(np.diff(starts)[commits][owner])
        row = self._snapshot.shared["past.rows"][path].astype(np.int64) if self._snapshot.shared is not None else path
        known = row >= 0
        return _decayed(row[known], worth[known])

    def _similar_commits(self, past: Columns) -> tuple[Array, Array]:
        """Commits whose messages share the rarest terms of the query: (commits, likeness)."""
        count = len(past["times"])
        scores = np.zeros(count, np.float32)
        names, offsets, postings = unpack_strings(past, "terms"), past["offsets"], past["postings"]
        for term in self._plan.terms:
            row = names.find(term.text)
            if row >= 0:
                held = postings[int(offsets[row]) : int(offsets[row + 1])]
                scores[held] += np.float32(term.weight * idf(count, len(held)))
        sizes = np.diff(past["term_ends"], prepend=0)
        return top(scores / (0.5 + 0.5 * np.sqrt(np.maximum(sizes, 1) / USUAL_TERMS)).astype(np.float32), MAX_COMMITS, None, None)


def _decayed(rows: Array, worth: Array) -> tuple[Array, Array]:
    """For each row the sum of its values, best first, each later one counting less."""
    rows, worth, place = best_first(rows, worth)
    first = first_of_each(rows)
    return rows[first], np.add.reduceat(worth * COMMIT_DECAY**place, first) if len(rows) else worth

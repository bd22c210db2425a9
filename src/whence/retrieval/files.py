"""Files as candidates: by their paths' words, and by commits that changed them with messages like the query (Z9)."""

from __future__ import annotations

from bisect import bisect_left
from functools import cached_property

import numpy as np

from whence.index.snapshot import KnownMatches, PathParts, Snapshot
from whence.query.plan import NamePart, QueryPlan, synonyms_of
from whence.retrieval.lexical import TermStatistics, top
from whence.storage.arrayfile import Array, Columns, unpack_strings
from whence.storage.postings import best_first, first_of_each, ranges
from whence.text.analyzer import stem
from whence.text.bm25 import idf

#: The strength of a match between a word of the query and a word of a path.
EQUAL, SAME_STEM, SAME_ROOT, PREFIX, LOOSE = 1.0, 0.95, 0.85, 0.8, 0.5
MIN_PREFIX = 3
COMMON_PREFIX = 5
COMMON_SHARE = 0.7
#: The weight of precision against recall in a stem's match (an F-measure with beta 0.5).
PRECISION_SHARE = 0.25
STEM_SHARE = 2.0


class PathMatch:
    """Matches between the words of a query and the words of all paths."""

    def __init__(self, statistics: TermStatistics) -> None:
        self.statistics = statistics
        self.parts: PathParts = statistics.snapshot.path_parts
        self.query = statistics.plan.parts
        known = {postings.term.text: postings for postings in statistics.terms}
        unseen = idf(statistics.snapshot.live_files, 0)
        self.weights = np.array([part.weight * (known[part.stem].file_idf if part.stem in known else unseen) for part in self.query])
        self.strength = np.zeros((len(self.query), len(self.parts.names)), np.float32)
        for number, part in enumerate(self.query):
            rows, strengths = path_strengths(part, self.parts.names, self.parts.known)
            np.maximum.at(self.strength[number], rows, strengths)

    def stems(self, files: Array) -> tuple[Array, Array]:
        """For each file the share of the query that its stem matches, and the share of the stem that is matched."""
        owner, part = self._members(self.parts.stem_starts, self.parts.stem_parts, files)
        best = np.zeros((len(self.query), len(files)), np.float32)
        for number in range(len(self.query)):
            np.maximum.at(best[number], owner, self.strength[number, part])
        recall = self.weights @ best / max(float(self.weights.sum()), 1e-9)
        weight = self.parts.idf[part]
        matched = np.bincount(owner, weights=weight * self.strength[:, part].max(axis=0, initial=0.0), minlength=len(files))
        total = np.bincount(owner, weights=weight, minlength=len(files))
        return recall, matched / np.maximum(total, 1e-9)

    def stem_fit(self, files: Array) -> Array:
        """How well each file's stem fits the query, recall and precision in one number."""
        recall, precision = self.stems(files)
        down = PRECISION_SHARE * precision + recall
        return np.where(down > 0, (1 + PRECISION_SHARE) * precision * recall / np.maximum(down, 1e-9), 0.0)

    def directory_fit(self, files: Array) -> Array:
        """The share of each file's nearest folders that the query names; rare words count more."""
        owner, part = self._members(self.parts.directory_starts, self.parts.directory_parts, files)
        worth = self.strength[:, part].max(axis=0, initial=0.0) * self.parts.idf[part] / self.parts.max_idf
        count = np.bincount(owner, minlength=len(files))
        return np.bincount(owner, weights=worth, minlength=len(files)) / np.maximum(count, 1)

    @staticmethod
    def _members(starts: Array, parts: Array, files: Array) -> tuple[Array, Array]:
        owner, at = ranges(starts, files)
        return owner, parts[at]

    def candidates(self, count: int, allowed_files: Array | None) -> tuple[Array, Array]:
        """The files whose paths match best: (files, scores)."""
        scores = np.zeros(self.statistics.snapshot.files, np.float32)
        for (offsets, files), share in ((self.parts.files_by_stem_part, STEM_SHARE), (self.parts.files_by_directory_part, 1.0)):
            for number, weight in enumerate(self.weights.tolist()):
                best = np.zeros(len(scores), np.float32)
                rows = np.flatnonzero(self.strength[number])
                for row in rows[np.argsort(self.strength[number, rows], kind="stable")].tolist():
                    best[files[offsets[row] : offsets[row + 1]]] = self.strength[number, row]
                scores += np.float32(weight * share) * best
        scores[~self.statistics.snapshot.alive] = 0
        return top(scores, count, allowed_files, self.statistics.snapshot.file_order)


def _matches(part: NamePart, names: list[str]) -> list[tuple[int, float]]:
    """The words of paths that match a word of the query, and how strongly."""
    matches = [(row, _strength(part.text, part.stem, names[row])) for row in _near(part.text, names)]
    for other in synonyms_of(part.stem):
        matches += [(row, LOOSE) for row in _near(other, names) if stem(names[row]) == other]
    return [(row, strength) for row, strength in matches if strength > 0]


def path_strengths(part: NamePart, names: list[str], known: KnownMatches) -> tuple[Array, Array]:
    """The words of paths that match a word of the query, and how strongly; `known` is a cache."""
    key = (part.text, part.stem)
    if key not in known:
        known[key] = _columns(_matches(part, names))
    return known[key]


def name_strengths(part: NamePart, names: list[str], known: KnownMatches) -> tuple[Array, Array]:
    """The parts of names that match a word of the query, without synonyms, and how strongly; `known` is a cache."""
    key = (part.text, part.stem)
    if key not in known:
        matches = [(row, _strength(part.text, part.stem, names[row])) for row in _near(part.text, names)]
        known[key] = _columns([(row, strength) for row, strength in matches if strength > 0])
    return known[key]


def _columns(matches: list[tuple[int, float]]) -> tuple[Array, Array]:
    return np.array([row for row, _ in matches], np.int64), np.array([strength for _, strength in matches], np.float32)


def _near(text: str, names: list[str]) -> range:
    """The rows of a sorted list that share a word's first letters: no other can match it."""
    lead = text[:MIN_PREFIX]
    return range(bisect_left(names, lead), bisect_left(names, lead + "\U0010ffff"))


def _strength(word: str, word_stem: str, other: str) -> float:
    if word == other:
        return EQUAL
    other_stem = stem(other)
    if word_stem == other_stem:
        return SAME_STEM
    strength = SAME_ROOT if _root(word_stem) == _root(other_stem) else 0.0
    short, long = sorted((word, other), key=len)
    if len(short) >= MIN_PREFIX and long.startswith(short):
        return max(strength, PREFIX if len(short) > MIN_PREFIX or len(long) <= 2 * len(short) + 2 else LOOSE)
    common = next((i for i, (a, b) in enumerate(zip(word, other, strict=False)) if a != b), len(short))
    return max(strength, LOOSE if common >= COMMON_PREFIX and common >= COMMON_SHARE * len(short) else 0.0)


def _root(stemmed: str) -> str:
    """A stem without an agent's ending: `parser`, `parse` -> `pars`."""
    if len(stemmed) >= 6 and stemmed.endswith(("er", "or")):
        stemmed = stemmed[:-2]
    elif len(stemmed) >= 5 and stemmed.endswith("e"):
        stemmed = stemmed[:-1]
    if len(stemmed) >= 4 and stemmed[-1] == stemmed[-2] and stemmed[-1] not in "aeiouls":
        stemmed = stemmed[:-1]
    return stemmed


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

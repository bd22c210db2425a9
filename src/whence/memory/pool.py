"""The candidates of a recall: every note once, its text, and what the retrievers found."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import TYPE_CHECKING

import numpy as np

from whence.core.profiles import Profile
from whence.embed.encoder import unit_length
from whence.embed.prose import ProseEncoder
from whence.memory.database import NoteFacts
from whence.memory.reader import NGRAM_NUMBERS, ngrams_of
from whence.memory.retrieval import GOOD_SHARE, Asks, NotePlan, NoteTermStatistics
from whence.storage.arrayfile import Array
from whence.storage.postings import first_of_each, is_member, ranges, spread
from whence.text.bm25 import bm25, idf, length_norm

if TYPE_CHECKING:
    from whence.ranking.rerank import SecondLook

#: Words of a candidate that are read.
MAX_WORDS = 20_000
#: Words in a passage that is scored by words; the next one starts in its middle.
PASSAGE, STEP = 32, 16
#: The step of passages that are scored by vectors, as they are stored.
NEAR_STEP = 12
#: Similarity from which one word counts as another in part.
MIN_SIMILARITY = 0.55
#: Scores that differ less are equal.
DECIMALS = 9
#: Values that signals of several phases and the response share.
_SHARED = ("text", "similarity", "semantic", "matched", "duplicates")


@dataclass(frozen=True)
class NotePool:
    """The candidates. Signals read it and change nothing."""

    statistics: NoteTermStatistics
    units: Array  # rows of the reader
    retrieved: Mapping[str, Array]  # raw scores by retriever; NaN where it did not find the note
    facts: Sequence[NoteFacts]
    changes: Sequence[str]  # what has become of the code that each note is about; empty where it is unchanged
    profile: Profile
    scores: Array
    project: str = ""  # the one that the query comes from
    slug_bonus: float = 3.0
    changed_factor: float = 0.5
    alike: float = 0.85  # notes that share this much of their words are near-duplicates
    prose: ProseEncoder | None = None
    stem_of: Callable[[str], str] = str
    stop_words: frozenset[str] = frozenset()
    mix: float = 0.0  # ranking has one set of weights for notes
    second_look: SecondLook | None = None

    @property
    def plan(self) -> NotePlan:
        """The query."""
        return self.statistics.plan

    @cached_property
    def text(self) -> NoteText:
        """The words of the candidates."""
        return NoteText(self.statistics, self.units, self.prose)

    @cached_property
    def similarity(self) -> Array:
        """The similarity of each candidate's nearest passage to the query."""
        return np.maximum(self.statistics.similarity(self.units), self.text.similarity)

    @cached_property
    def semantic(self) -> Array:
        """The same above chance, from 0 to 1."""
        noise = self.statistics.encoder.noise if self.statistics.encoder is not None else 0.0
        return np.clip((self.similarity - noise) / (1 - noise), 0, 1)

    @cached_property
    def matched(self) -> Array:
        """Whether each candidate contains each word of the query: (candidates, words)."""
        found = np.zeros((len(self.units), len(self.plan.stems)), bool)
        for place, stem in enumerate(self.plan.stems):
            if stem in self.statistics.terms:
                found[:, place] = is_member(self.units, self.statistics.terms[stem].rows)
        return found

    @cached_property
    def duplicates(self) -> NearDuplicates:
        """Compares candidates by their words."""
        return NearDuplicates(self.text.words_of, self.alike)

    def order(self, scores: Array) -> list[int]:
        """The rows by their scores; of equals the newest first, or the oldest if the query asks for that."""
        at = self.statistics.reader.column("at")[self.units]
        times = at if self.plan.asks is Asks.OLDEST else -at
        ranks = np.round(scores, DECIMALS)
        return sorted(range(len(self.units)), key=lambda row: (-ranks[row], times[row], self.facts[row].key))

    def compute_shared(self) -> None:
        """Compute what the phases and the response share, before the phases copy the pool."""
        for name in _SHARED:
            getattr(self, name)

    def with_scores(self, scores: Array) -> NotePool:
        """The same pool in a later phase; shared values are not computed again."""
        later = replace(self, scores=scores)
        later.__dict__.update({name: self.__dict__[name] for name in _SHARED if name in self.__dict__})
        return later


#: Notes with fewer distinct words than this are near-duplicates only if all their words are the same.
FEW_WORDS = 4


class NearDuplicates:
    """Which candidates share most of their words."""

    def __init__(self, words_of: Callable[[int], frozenset[int]], share: float) -> None:
        self._words_of, self._share = cache(words_of), share

    def first(self, note: int, others: Sequence[int]) -> int | None:
        """The first of some others that a note is a near-duplicate of."""
        words = self._words_of(note)
        for other in others:
            known = self._words_of(other)
            smaller, larger = sorted((len(words), len(known)))
            if smaller >= self._share * larger and self._is_duplicate(words, known):  # sizes rule out most pairs
                return other
        return None

    def _is_duplicate(self, one: frozenset[int], other: frozenset[int]) -> bool:
        if min(len(one), len(other)) < FEW_WORDS:
            return bool(one) and one == other
        return len(one & other) >= self._share * len(one | other)


class Windows:
    """Windows over the words of notes: two steps long, overlapping by half; a short note is one window."""

    def __init__(self, owner: Array, lengths: Array, step: int) -> None:
        self._owner, self._lengths, self._step = owner, lengths, step
        self._starts = np.cumsum(lengths) - lengths
        self.of_note = np.maximum(1, -(-(lengths - step) // step))
        self._first = np.cumsum(self.of_note) - self.of_note
        self.count = int(self.of_note.sum())

    def around(self, at: Array) -> tuple[Array, Array]:
        """The windows that contain some words, two for most: (index into `at`, window)."""
        note = self._owner[at]
        step = (at - self._starts[note]) // self._step
        own = np.minimum(step, self.of_note[note] - 1)
        before = step - 1
        also = np.flatnonzero((before >= 0) & (before < own))
        first = self._first[note]
        return np.concatenate([np.arange(len(at)), also]), np.concatenate([first + own, (first + before)[also]])

    def best_of(self, note: int, values: Array) -> int:
        """The window of a note that has the highest value."""
        return int(self._first[note] + np.argmax(values[self._first[note] : self._first[note] + self.of_note[note]]))

    def words_in(self, windows: Array) -> tuple[Array, Array]:
        """The words of some windows: (index into `windows`, position)."""
        note = self.note_of(windows)
        low = self._starts[note] + (windows - self._first[note]) * self._step
        return spread(low, np.minimum(low + 2 * self._step, self._starts[note] + self._lengths[note]))

    def note_of(self, windows: Array) -> Array:
        """The note of each window."""
        return np.searchsorted(self._first, windows, side="right") - 1

    def best(self, values: Array) -> Array:
        """The highest value of each note's windows."""
        return np.maximum.reduceat(values, self._first) if len(self._first) else np.empty(0)


class NoteText:
    """The words of the candidates. Every score has one value for each of them."""

    def __init__(self, statistics: NoteTermStatistics, rows: Array, prose: ProseEncoder | None) -> None:
        self._statistics, self._prose, self.size = statistics, prose, len(rows)
        self._reader, self._vocabulary = statistics.reader, statistics.reader.vocabulary
        self.owner, self.words = self._reader.tokens(rows, MAX_WORDS)
        self.lengths = np.bincount(self.owner, minlength=self.size)
        self._windows = Windows(self.owner, self.lengths, STEP)

    @cached_property
    def distinct(self) -> tuple[Array, Array]:
        """The distinct words, and for each word of the text its index among them."""
        there = np.zeros(len(self._vocabulary.stems), bool)
        there[self.words] = True
        return np.flatnonzero(there), (np.cumsum(there) - 1)[self.words]

    @cached_property
    def stems(self) -> Array:
        """The stem of each word."""
        return self._vocabulary.stems[self.words]

    @cached_property
    def _term_of(self) -> Array:
        """For each word the index of its stem in the query, or -1."""
        table = np.full(int(self._vocabulary.stems.max(initial=0)) + 1, -1, np.int64)
        for place, stem in enumerate(self._statistics.plan.stems):
            if stem in self._statistics.terms:
                table[self._statistics.terms[stem].id] = place
        return table[self.stems]

    @cached_property
    def _idfs(self) -> Array:
        return np.array([self._statistics.idf_of(stem) for stem in self._statistics.plan.stems])

    @cached_property
    def _passage_counts(self) -> Array:
        """How often each passage has each word of the query: (passages, words)."""
        terms, total = len(self._statistics.plan.stems), self._windows.count
        at = np.flatnonzero(self._term_of >= 0)
        index, passage = self._windows.around(at)
        return np.bincount(passage * terms + self._term_of[at[index]], minlength=total * terms).reshape(total, terms)

    @cached_property
    def _passage_scores(self) -> Array:
        return np.asarray(bm25(self._passage_counts, self._passage_norms[:, None]) @ self._idfs)

    @cached_property
    def passage(self) -> Array:
        """BM25 of the best passage of each note."""
        return self._windows.best(self._passage_scores)

    def best_passages(self, notes: Sequence[int]) -> tuple[Array, Array]:
        """What the best passage of some notes holds of the query, as the idf of its words, and what it is about, as a vector."""
        windows = np.array([self._windows.best_of(note, self._passage_scores) for note in notes], np.int64)
        held = (self._passage_counts[windows] > 0) * self._idfs
        if self._prose is None:
            return held, np.zeros((len(notes), 1))
        owner, at = self._windows.words_in(windows)
        rows = self._vocabulary.rows[self.words[at]]
        sums = np.zeros((len(notes), self._prose.width))
        np.add.at(sums, owner, self._prose.vectors_at(rows) * self._prose.weights_at(rows)[:, None])
        return held, unit_length(sums)

    def words_of(self, note: int) -> frozenset[int]:
        """The stems of a note."""
        first, last = np.searchsorted(self.owner, [note, note + 1])
        return frozenset(self.stems[first:last].tolist())

    @cached_property
    def similar_words(self) -> Array:
        """The same, with words that are similar to those of the query counting in part."""
        terms, total = len(self._statistics.plan.stems), self._windows.count
        scores = np.zeros(total)
        word, place = self.distinct
        similarity = self._word_similarity(word)
        at = np.flatnonzero(np.asarray(similarity.any(axis=1))[place])  # few words are similar to any of the query
        index, passage = self._windows.around(at)
        counted = similarity[place[at[index]]]
        for term in range(terms):
            counts = np.bincount(passage, weights=counted[:, term], minlength=total)
            scores += bm25(counts, self._passage_norms, self._idfs[term])
        return self._windows.best(scores)

    @cached_property
    def _passage_norms(self) -> Array:
        """The length norm of each passage: only a short note has a passage that is not full."""
        note = np.repeat(np.arange(self.size), self._windows.of_note)
        return length_norm(np.minimum(self.lengths[note], PASSAGE), PASSAGE)

    def _word_similarity(self, words: Array) -> Array:
        """How much each word counts as each word of the query: their similarity, less for a word with a lower idf."""
        plan, vocabulary = self._statistics.plan, self._vocabulary
        stems = vocabulary.stems[words]
        alike = np.zeros((len(words), len(plan.stems)))
        if self._prose is not None:
            near = self._prose.word_similarities(vocabulary.rows[words], self._prose.rows_of(plan.words))
            alike = np.clip((near - MIN_SIMILARITY) / (1 - MIN_SIMILARITY), 0, 1)
        for term, stem in enumerate(plan.stems):
            if stem in self._statistics.terms:
                alike[stems == self._statistics.terms[stem].id, term] = 1
        own = idf(self._statistics.population, self._statistics.note_counts[stems])
        return alike * np.minimum(own[:, None] / np.maximum(self._idfs, 1e-9)[None, :], 1)

    @cached_property
    def similarity(self) -> Array:
        """The similarity of each note's nearest passage, without the words that are everywhere.

        Computed for passages with such words alone: the vectors of the others are stored.
        """
        found, query = np.zeros(self.size), self._statistics.query_vector
        word, place = self.distinct
        everywhere = self._statistics.is_everywhere(self._statistics.note_counts[self._vocabulary.stems[word]])
        if self._prose is None or query is None or not everywhere.any():
            return found
        rows = self._vocabulary.rows[word]
        worth = self._prose.vectors_at(rows) * (self._prose.weights_at(rows) * ~everywhere)[:, None]
        windows = Windows(self.owner, self.lengths, NEAR_STEP)
        there = np.zeros(windows.count, bool)
        there[windows.around(np.flatnonzero(everywhere[place]))[1]] = True
        chosen = np.flatnonzero(there)
        owner, at = windows.words_in(chosen)
        sums = np.add.reduceat(worth[place[at]], first_of_each(owner), axis=0)
        # Not by BLAS, whose order of additions depends on where a row is.
        near = np.einsum("ij,j->i", unit_length(sums), query.rows[0])
        np.maximum.at(found, windows.note_of(chosen), near)
        return found

    @cached_property
    def _query_ngrams(self) -> tuple[Array, Array]:
        """For each n-gram its index in the query, or -1, and the idf of the query's n-grams."""
        distinct = np.unique(ngrams_of(self._statistics.plan.words)[1])
        table = np.full(NGRAM_NUMBERS, -1, np.int64)
        table[distinct] = np.arange(len(distinct))
        starts, words = self._vocabulary.words_by_ngram
        ngram, at = ranges(starts, distinct.astype(np.int64))
        # The notes that contain its words, estimated as if words fell on notes at random.
        held = np.bincount(ngram, self._statistics.note_counts[self._vocabulary.stems[words[at]]], len(distinct))
        population = max(self._statistics.population, 1)
        return table, idf(population, population * -np.expm1(-held / population))

    @property
    def good_ngram_score(self) -> float:
        """The score of a good match: half of the query's n-grams, once each."""
        return GOOD_SHARE * float(self._query_ngrams[1].sum())

    @cached_property
    def spelling(self) -> Array:
        """BM25 of character n-grams: words with a similar spelling count in part."""
        starts, ngrams = self._vocabulary.ngrams
        table, idfs = self._query_ngrams
        word, place = self.distinct
        index, at = ranges(starts, word)
        ngram = table[ngrams[at]]
        hit = np.flatnonzero(ngram >= 0)
        # The n-grams that each word shares with the query, then the sum over the words of each note.
        low, high = (np.searchsorted(index[hit], np.arange(len(word)), side=side) for side in ("left", "right"))
        matching = np.flatnonzero((high > low)[place])
        owner, ngram_at = spread(low[place[matching]], high[place[matching]])
        counts = np.bincount(self.owner[matching[owner]] * len(idfs) + ngram[hit[ngram_at]], minlength=self.size * len(idfs))
        counts = counts.reshape(self.size, len(idfs))
        return bm25(counts, self._length_norms[:, None]) @ idfs

    @cached_property
    def _length_norms(self) -> Array:
        """The length norm of each note."""
        return length_norm(self.lengths, max(self._reader.mean_length, 1))

    @cached_property
    def pairs(self) -> Array:
        """BM25 of word pairs that are adjacent in the query and in the note."""
        found = np.zeros(self.size)
        if len(self.words) < 2:
            return found
        together = (self.owner[1:] == self.owner[:-1]) & (self._term_of[1:] == self._term_of[:-1] + 1) & (self._term_of[:-1] >= 0)
        at = np.flatnonzero(together)
        first = self._term_of[at]
        for term in np.unique(first).tolist():
            counts = np.bincount(self.owner[at[first == term]], minlength=self.size)
            tells = self._idfs[term] + self._idfs[term + 1]
            found += bm25(counts, self._length_norms, tells)
        return found

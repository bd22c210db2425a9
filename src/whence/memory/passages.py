"""The text of some candidates, word by word: what stands together in one passage, what is like a word, what is spelt like one."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from whence.embed.encoder import unit_length
from whence.embed.prose import ProseEncoder
from whence.memory.reader import RUN_NUMBERS, runs_of
from whence.memory.retrieval import GOOD_PART, NoteTermStatistics
from whence.storage.arrayfile import Array
from whence.storage.rows import first_of_each, ranges, spread
from whence.text.bm25 import bm25, idf, length_norm

#: Words of a note that are looked at.
MOST_WORDS = 20_000
#: A passage is so many words; the next begins in its middle.
PASSAGE, STEP = 32, 16
#: The same for what a passage means, as it is stored.
NEAR_STEP = 12
#: Similarity from which a word counts as being like another.
LIKE = 0.55


class Windows:
    """Runs of words in notes, two steps long, each half over the one before; a short note is one."""

    def __init__(self, owner: Array, lengths: Array, step: int) -> None:
        self._owner, self._lengths, self._step = owner, lengths, step
        self._starts = np.cumsum(lengths) - lengths
        self.of_note = np.maximum(1, -(-(lengths - step) // step))
        self._first = np.cumsum(self.of_note) - self.of_note
        self.count = int(self.of_note.sum())

    def around(self, at: Array) -> tuple[Array, Array]:
        """The windows that words stand in, two for most: (index into `at`, window)."""
        note = self._owner[at]
        step = (at - self._starts[note]) // self._step
        own = np.minimum(step, self.of_note[note] - 1)
        before = step - 1
        also = np.flatnonzero((before >= 0) & (before < own))
        first = self._first[note]
        return np.concatenate([np.arange(len(at)), also]), np.concatenate([first + own, (first + before)[also]])

    def words_in(self, windows: Array) -> tuple[Array, Array]:
        """The words of some windows: (index into `windows`, place of the word)."""
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
    """The words of some notes. Rows count among those notes; every method gives one value for each."""

    def __init__(self, evidence: NoteTermStatistics, rows: Array, prose: ProseEncoder | None) -> None:
        self._evidence, self._prose, self.size = evidence, prose, len(rows)
        self._corpus = evidence.corpus
        self.owner, self.words = self._corpus.tokens(rows, MOST_WORDS)
        self.lengths = np.bincount(self.owner, minlength=self.size)
        self._windows = Windows(self.owner, self.lengths, STEP)

    @cached_property
    def distinct(self) -> tuple[Array, Array]:
        """Every word once, and of each word that stands in the text which of those it is."""
        there = np.zeros(len(self._corpus.words.stems), bool)
        there[self.words] = True
        return np.flatnonzero(there), (np.cumsum(there) - 1)[self.words]

    @cached_property
    def stems(self) -> Array:
        """The stem of each word."""
        return self._corpus.words.stems[self.words]

    @cached_property
    def _term_of(self) -> Array:
        """For each word the place of its stem in the question, or -1."""
        table = np.full(int(self._corpus.words.stems.max(initial=0)) + 1, -1, np.int64)
        for place, stem in enumerate(self._evidence.plan.stems):
            if stem in self._evidence.held:
                table[self._evidence.held[stem].number] = place
        return table[self.stems]

    @cached_property
    def _rarities(self) -> Array:
        return np.array([self._evidence.rarity_of(stem) for stem in self._evidence.plan.stems])

    @cached_property
    def passage(self) -> Array:
        """BM25 of the best passage of each note."""
        terms = len(self._evidence.plan.stems)
        at = np.flatnonzero(self._term_of >= 0)
        index, passage = self._windows.around(at)
        total = self._windows.count
        often = np.bincount(passage * terms + self._term_of[at[index]], minlength=total * max(terms, 1)).reshape(total, -1)
        worth = bm25(often, self._long_passages[:, None])
        return self._windows.best(worth @ self._rarities if terms else np.zeros(total))

    @cached_property
    def kin(self) -> Array:
        """BM25 of the best passage of each note, with words that are like those of the question counting in part."""
        terms, total = len(self._evidence.plan.stems), self._windows.count
        scores = np.zeros(total)
        word, place = self.distinct
        likeness = self._likeness(word)
        at = np.flatnonzero(np.asarray(likeness.any(axis=1))[place])  # few words are like any of the question
        index, passage = self._windows.around(at)
        counted = likeness[place[at[index]]]
        for term in range(terms):
            often = np.bincount(passage, weights=counted[:, term], minlength=total)
            scores += bm25(often, self._long_passages, self._rarities[term])
        return self._windows.best(scores)

    @cached_property
    def _long_passages(self) -> Array:
        """What the length of each passage does to its score: only that of a short note has less than a full one."""
        note = np.repeat(np.arange(self.size), self._windows.of_note)
        return length_norm(np.minimum(self.lengths[note], PASSAGE), PASSAGE)

    def _likeness(self, words: Array) -> Array:
        """How much each word counts as each word of the question: how alike they are, less for one that tells less by itself."""
        plan, vocabulary = self._evidence.plan, self._corpus.words
        stems = vocabulary.stems[words]
        alike = np.zeros((len(words), len(plan.stems)))
        if self._prose is not None:
            near = self._prose.word_similarities(vocabulary.rows[words], self._prose.rows_of(plan.words))
            alike = np.clip((near - LIKE) / (1 - LIKE), 0, 1)
        for term, stem in enumerate(plan.stems):
            if stem in self._evidence.held:
                alike[stems == self._evidence.held[stem].number, term] = 1
        own = idf(self._evidence.population, self._evidence.note_counts[stems])
        return alike * np.minimum(own[:, None] / np.maximum(self._rarities, 1e-9)[None, :], 1)

    @cached_property
    def nearness(self) -> Array:
        """How near the nearest passage of each note is to the question, without the words that tell nothing apart.

        Worked out for passages that hold such words; of the others their vectors are stored.
        """
        found, question = np.zeros(self.size), self._evidence.question
        word, place = self.distinct
        everywhere = self._evidence.is_everywhere(self._evidence.note_counts[self._corpus.words.stems[word]])
        if self._prose is None or question is None or not everywhere.any():
            return found
        rows = self._corpus.words.rows[word]
        worth = self._prose.vectors_at(rows) * (self._prose.weights_at(rows) * ~everywhere)[:, None]
        windows = Windows(self.owner, self.lengths, NEAR_STEP)
        there = np.zeros(windows.count, bool)
        there[windows.around(np.flatnonzero(everywhere[place]))[1]] = True
        wanted = np.flatnonzero(there)
        owner, at = windows.words_in(wanted)
        sums = np.add.reduceat(worth[place[at]], first_of_each(owner), axis=0)
        # Not by BLAS, which adds up a row in another order when it stands in another place.
        near = np.einsum("ij,j->i", unit_length(sums), question.rows[0])
        np.maximum.at(found, windows.note_of(wanted), near)
        return found

    @cached_property
    def _asked_runs(self) -> tuple[Array, Array]:
        """For each run of letters its place in the question, or -1, and how much each of the question's runs tells."""
        distinct = np.unique(runs_of(self._evidence.plan.words)[1])
        table = np.full(RUN_NUMBERS, -1, np.int64)
        table[distinct] = np.arange(len(distinct))
        starts, words = self._corpus.words.having
        run, at = ranges(starts, distinct.astype(np.int64))
        # The notes that hold its words, as if these fell on notes by chance.
        held = np.bincount(run, self._evidence.note_counts[self._corpus.words.stems[words[at]]], len(distinct))
        population = max(self._evidence.population, 1)
        return table, idf(population, population * -np.expm1(-held / population))

    @property
    def enough_runs(self) -> float:
        """What a good part of the question's runs of letters would come to, each found once."""
        return GOOD_PART * float(self._asked_runs[1].sum())

    @cached_property
    def spelling(self) -> Array:
        """BM25 of runs of four letters: words that are spelt alike count in part."""
        starts, runs = self._corpus.words.runs
        table, tells = self._asked_runs
        word, place = self.distinct
        index, at = ranges(starts, word)
        run = table[runs[at]]
        hit = np.flatnonzero(run >= 0)
        # Of each word its runs that the question has, then of each note the sum over its words.
        low, high = (np.searchsorted(index[hit], np.arange(len(word)), side=side) for side in ("left", "right"))
        having = np.flatnonzero((high > low)[place])
        owner, run_at = spread(low[place[having]], high[place[having]])
        often = np.bincount(self.owner[having[owner]] * len(tells) + run[hit[run_at]], minlength=self.size * len(tells))
        often = often.reshape(self.size, len(tells))
        return bm25(often, self._long[:, None]) @ tells

    @cached_property
    def _long(self) -> Array:
        """What the length of each note does to its score."""
        return length_norm(self.lengths, max(self._corpus.mean_length, 1))

    @cached_property
    def pairs(self) -> Array:
        """Words that stand side by side in the question and in the note."""
        found = np.zeros(self.size)
        if len(self.words) < 2:
            return found
        together = (self.owner[1:] == self.owner[:-1]) & (self._term_of[1:] == self._term_of[:-1] + 1) & (self._term_of[:-1] >= 0)
        at = np.flatnonzero(together)
        first = self._term_of[at]
        for term in np.unique(first).tolist():
            often = np.bincount(self.owner[at[first == term]], minlength=self.size)
            tells = self._rarities[term] + self._rarities[term + 1]
            found += bm25(often, self._long, tells)
        return found

"""Which notes could answer? By their words, by the vectors of their passages, by the times they speak of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from whence.embed.encoder import Encoder, Vectors
from whence.memory.plan import NotePlan
from whence.memory.reader import NoteReader
from whence.storage.arrayfile import Array
from whence.storage.rows import first_of_each, highest
from whence.text.bm25 import bm25, idf, length_norm

#: Of what all words of a question tell, so much is a good match.
GOOD_PART = 0.5
#: Below so many notes every word may be in most of them.
FEWEST_NOTES = 6
#: Days of a year, and how many years back a time without one is looked for.
YEAR, MOST_YEARS = 365.2425, 60
#: How many more passages are looked at when they are of too few notes.
DEEPER = 4
#: The names of the retrievers.
WORDS, MEANING, TIMES, ASKED = "words", "meaning", "times", "asked"


@dataclass(frozen=True, slots=True)
class NoteScope:
    """Which notes may be returned, and which the statistics are of: all of the projects asked, whatever else narrows them."""

    allowed: Array
    population: Array
    name: object = None  # of the population, the same for the same notes


@dataclass(frozen=True, slots=True)
class NoteTermRows:
    """A word of the question as notes hold it."""

    stem: str
    number: int
    rows: Array
    counts: Array
    notes: int  # of the population
    rarity: float


class NoteTermStatistics:
    """What the words, the passages and the times of notes say of one question."""

    def __init__(self, corpus: NoteReader, plan: NotePlan, scope: NoteScope, encoder: Encoder | None, most: float = 2.0) -> None:
        """Words that a share of `most` of all notes hold, such as the names of two who talk in every one, tell nothing apart."""
        self.corpus, self.scope, self.encoder, self._most = corpus, scope, encoder, most
        self.population = int(scope.population.sum())
        found = self._held(plan)
        everywhere = frozenset(one.stem for one in found.values() if self.is_everywhere(one.notes))
        left = plan.without(everywhere)
        self.plan = left if left.stems else plan
        self.held: Mapping[str, NoteTermRows] = {stem: one for stem, one in found.items() if stem in self.plan.stems}

    def is_everywhere(self, notes: Any) -> Any:
        """Whether a word, or each of some, is in so many notes that it tells nothing apart."""
        return (notes >= self._most * self.population) & (self.population >= FEWEST_NOTES)

    def _held(self, plan: NotePlan) -> dict[str, NoteTermRows]:
        numbers = self.corpus.words.stem_ids(plan.stems)
        held = {}
        for stem, number in numbers.items():
            rows, counts = self.corpus.holding(number)
            notes = int(np.count_nonzero(self.scope.population[rows]))
            keep = self.scope.allowed[rows]
            held[stem] = NoteTermRows(stem, number, rows[keep], counts[keep], notes, float(idf(self.population, np.array(notes))))
        return held

    @cached_property
    def note_counts(self) -> Array:
        """How many notes of the population hold each stem."""
        return self.corpus.note_counts(self.scope.population, self.scope.name)

    def rarity_of(self, stem: str) -> float:
        """How much a word of the question tells; most, when no note holds it."""
        return self.held[stem].rarity if stem in self.held else float(idf(self.population, np.array(0)))

    @cached_property
    def enough(self) -> float:
        """What a good part of the question's words would come to, each found once."""
        return GOOD_PART * sum(self.rarity_of(stem) for stem in self.plan.stems)

    @cached_property
    def word_scores(self) -> Array:
        """BM25 of every note."""
        scores = np.zeros(self.corpus.size)
        lengths = self.corpus.column("lengths")
        for one in self.held.values():
            often = one.counts.astype(np.float64)
            scores[one.rows] += bm25(often, length_norm(lengths[one.rows], self.corpus.mean_length), one.rarity)
        return scores

    @cached_property
    def question(self) -> Vectors | None:
        """The question as a vector, without the words that tell nothing apart; None where there is none."""
        if self.encoder is None or not self.corpus.view.passages:
            return None
        vectors = self.encoder.encode_query(" ".join(self.plan.words))
        return vectors if vectors.rows.any() else None

    @cached_property
    def _every(self) -> Array | None:
        """How near all passages are, where there are few enough to compare them once."""
        return self.corpus.view.compare_all(self.question) if self.question is not None else None

    def similar(self, rows: Array) -> Array:
        """How near the nearest passage of each of some notes is to the question."""
        found = np.zeros(len(rows))
        if self.question is None or not len(rows):
            return found
        low, high = self.corpus.view.passages_of_units(rows)
        owner = np.repeat(np.arange(len(rows)), high - low)
        passages = np.arange(len(owner)) - np.repeat(np.cumsum(high - low) - (high - low), high - low) + np.repeat(low, high - low)
        near = self._every[passages] if self._every is not None else self.corpus.view.compare(self.question, passages)
        if len(owner):
            starts = first_of_each(owner)
            found[owner[starts]] = np.maximum.reduceat(near, starts)
        return found

    # Retrievers: (rows, scores) each.
    def by_words(self, count: int) -> tuple[Array, Array]:
        """The notes whose words fit best."""
        rows = np.flatnonzero(self.word_scores)
        return highest(rows, self.word_scores[rows], count)

    def by_meaning(self, count: int, at_least: float) -> tuple[Array, Array]:
        """The notes whose nearest passages are nearest, if that is nearer than chance."""
        if self.question is None:
            return np.empty(0, np.int64), np.empty(0)
        allowed = None if self.scope.allowed.all() else self.corpus.view.passages_with_units(self.scope.allowed)
        asked = count + count // 2
        while True:  # a long note has many passages: go on until there are notes enough, or none that is near
            passages, near = self.corpus.view.nearest(self.question, asked, allowed, self._every)
            enough = near >= at_least
            rows = self.corpus.view.first[passages[enough]]
            _, lead = np.unique(rows, return_index=True)  # passages come nearest first
            if len(lead) >= count or len(passages) < asked or not enough.all():
                break
            asked *= DEEPER
        lead = np.sort(lead)[:count]
        return rows[lead], near[enough][lead].astype(np.float64)

    @cached_property
    def spans(self) -> tuple[tuple[int, int], ...]:
        """The times that are asked for; of one that is of every year, the latest of which there are notes."""
        spans = self.plan.spans
        if not self.plan.yearly:
            return spans
        days = self.corpus.column("days")[self.scope.allowed] if self.corpus.size else np.empty(0, np.int32)
        for back in range(MOST_YEARS):
            moved = tuple((first - round(back * YEAR), last - round(back * YEAR)) for first, last in spans)
            if any(((days >= first) & (days <= last)).any() for first, last in moved):
                return moved
        return spans

    def by_times(self, count: int) -> tuple[Array, Array]:
        """The notes of the days that are asked for; where there are too many, those whose words fit best."""
        if not self.spans:
            return np.empty(0, np.int64), np.empty(0)
        days = self.corpus.column("days")
        of_then = np.zeros(self.corpus.size, bool)
        for first, last in self.spans:
            of_then |= (days >= max(first, 1)) & (days <= last)
        rows = np.flatnonzero(of_then & self.scope.allowed)
        rows, _ = highest(rows, self.word_scores[rows], count)
        return rows, np.ones(len(rows))

    def when(self, rows: Array) -> Array:
        """How well the times of notes fit the times that are asked for: 1 for the day, and for times they speak of up to 1 more."""
        found = np.zeros(len(rows))
        days = self.corpus.column("days")[rows] if len(rows) else np.empty(0, np.int32)
        owner, spoken = self.corpus.spans(rows)
        for first, last in self.spans:
            found = np.maximum(found, ((days >= max(first, 1)) & (days <= last)).astype(np.float64))
            if len(owner):
                overlap = np.minimum(spoken[:, 1], last) - np.maximum(spoken[:, 0], first) + 1
                longer = np.maximum(spoken[:, 1] - spoken[:, 0] + 1, min(last - first + 1, 366))
                share = np.clip(overlap / longer, 0, 1)
                best = np.zeros(len(rows))
                np.maximum.at(best, owner, share)
                found = np.maximum(found, best)
        return found

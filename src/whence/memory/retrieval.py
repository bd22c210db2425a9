"""Which notes could answer a query: the query plan, the statistics of its terms, and the retrievers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import cached_property
from typing import Any

import numpy as np

from whence.embed.encoder import Encoder, Vectors
from whence.memory.reader import NoteReader
from whence.query.parser import clean_paste
from whence.storage.arrayfile import Array
from whence.storage.postings import first_of_each, highest, spread
from whence.text.analyzer import NO_LANGUAGE, ProseLanguage, prose_language
from whence.text.bm25 import bm25, idf, length_norm
from whence.text.dates import DateSpan, find_dates

#: Characters of a query that are read, and distinct words of it that count.
MAX_QUERY, MAX_QUERY_WORDS = 20_000, 64
#: This share of the idf of all query terms makes a good match.
GOOD_SHARE = 0.5
#: With fewer notes than this, any word may be in most of them.
MIN_NOTES = 6
#: Days in a year, and how many years back a date without a year is tried.
YEAR, MAX_YEARS = 365.2425, 60
#: How many times more passages are fetched when they belong to too few notes.
DEEPER = 4
#: The names of the retrievers.
WORDS, MEANING, TIMES, INCLUDED = "words", "meaning", "times", "asked"
_HYPHENATED = re.compile(r"\w+(?:-\w+)+")
#: Words that place a time relative to today. Any other time without a year, such as "in July", may be of any year.
_DEICTIC = re.compile(
    r"\b(?:today|tonight|yesterday|tomorrow|ago|last|past|previous|this|next|coming|current|since|recent(?:ly)?|night|morning|before|after)\b",
    re.IGNORECASE,
)
#: What asks for the newest of several statements, or for the oldest. "When" asks for the statement of a time, however old it is.
_NEWEST = re.compile(
    r"\b(?:latest|newest|most\s+recent(?:ly)?|current(?:ly)?|nowadays|now|still|these\s+days|at\s+the\s+moment|up\s+to\s+date|any\s?more)\b",
    re.IGNORECASE,
)
_OLDEST = re.compile(
    r"\b(?:original(?:ly)?|initial(?:ly)?|at\s+first|(?:in|at)\s+the\s+beginning|to\s+begin\s+with|back\s+then|formerly)\b", re.IGNORECASE
)
_WHEN = re.compile(r"^\W*when\b|\bago\b|\bhow\s+many\s+(?:days|weeks|months|years)\b|\b(?:first|last)\s+time\b", re.IGNORECASE)

#: A weekday, or the beginning of a range, names days that notes must be of; "today" may only mean "now".
_DAYS = re.compile(r"(?:between|from|since)\b|.*\b(?:mon|tues?|wednes|thurs?|fri|satur|sun)(?:day)?\b", re.IGNORECASE)
_TODAY = re.compile(r"(?:today|tonight)", re.IGNORECASE)
#: Days of a range such as "3 to 9 November", at most; a month or a year may be that of what is asked about.
MAX_RANGE = 20


def _constrains(text: str, span: DateSpan, *, relative: bool) -> bool:
    """Whether a time says which days the notes must be of: last week, on Monday, between 1 and 7 October."""
    words = text[span.start : span.end]
    if _TODAY.fullmatch(words):
        return False
    return (
        relative or _DAYS.match(words) is not None or (words[:1].isdigit() and not span.exact and 0 < span.last - span.first <= MAX_RANGE)
    )


class Asks(IntEnum):
    """Which of several statements about one subject a query asks for."""

    ANY = 0  # it asks when something was
    STATE = 1  # the one that holds
    NEWEST = 2  # the same, in so many words
    OLDEST = 3


def asks_for(text: str) -> Asks:
    """Which statement a query asks for."""
    if _OLDEST.search(text):
        return Asks.OLDEST
    if _NEWEST.search(text):
        return Asks.NEWEST
    return Asks.ANY if _WHEN.search(text) else Asks.STATE


@dataclass(frozen=True, slots=True)
class NotePlan:
    """A query as it is put to the notes."""

    text: str
    words: tuple[str, ...] = ()  # distinct content words in lower case
    stems: tuple[str, ...] = ()  # of each word
    hyphenated: tuple[str, ...] = ()  # names such as `valencia-v1`, in lower case
    spans: tuple[tuple[int, int], ...] = ()  # times, as first and last day
    yearly: bool = False  # whether they may be of any year; the one given is the latest
    remark: str = ""  # how the question was found in pasted text
    asks: Asks = Asks.STATE
    within: tuple[tuple[int, int], ...] = ()  # days, first and last, that notes must be of, if any is

    def without(self, stems: frozenset[str]) -> NotePlan:
        """The plan without some words."""
        left = [(word, stem) for word, stem in zip(self.words, self.stems, strict=True) if stem not in stems]
        return replace(self, words=tuple(word for word, _ in left), stems=tuple(stem for _, stem in left))


def plan_query(text: str, language: ProseLanguage, today: int) -> NotePlan:
    """The plan for a query, or for the question in pasted text. Words that only name a recognized time do not count."""
    question = clean_paste(text)
    text = question.text[:MAX_QUERY]
    spans = find_dates(text, today)
    relative = [span for span in spans if not span.exact and _DEICTIC.search(text, span.start, span.end)]
    within = [span for span in spans if _constrains(text, span, relative=span in relative)]
    left = text
    for span in reversed([span for span in spans if span in relative or span in within]):
        left = left[: span.start] + " " + left[span.end :]
    words = language.content_words(left)
    if not words and not spans:
        words = prose_language(NO_LANGUAGE).content_words(left)  # nothing but stop words: better than no answer
    first = {language.stem(word): word for word in reversed(words)}
    stems = list(dict.fromkeys(language.stem(word) for word in words))[:MAX_QUERY_WORDS]
    exact = [span for span in spans if span.exact] or spans
    return NotePlan(
        text,
        tuple(first[stem] for stem in stems),
        tuple(stems),
        tuple(dict.fromkeys(found.lower() for found in _HYPHENATED.findall(text))),
        tuple((span.first, span.last) for span in exact),
        yearly=bool(exact) and not any(span.exact or span in relative for span in exact),
        remark=question.note,
        asks=asks_for(text),
        within=tuple((span.first, span.last) for span in within),
    )


@dataclass(frozen=True, slots=True)
class NoteScope:
    """Which notes may be returned, and which the statistics cover: all of the requested projects, whatever else filters."""

    allowed: Array
    population: Array
    name: object = None  # identifies the population, for caching

    def within(self, reader: NoteReader, spans: Sequence[tuple[int, int]]) -> NoteScope:
        """The notes of some days, or those that name such a day; all if there are none."""
        rows = np.flatnonzero(self.allowed)
        if not spans or not len(rows):
            return self
        days, inside = reader.column("days")[rows], np.zeros(len(rows), bool)
        owner, mentioned = reader.spans(rows)
        for first, last in spans:
            inside |= (days >= max(first, 1)) & (days <= last)
            inside[owner[(mentioned[:, 0] >= first) & (mentioned[:, 1] <= last)]] = True
        allowed = np.zeros(len(self.allowed), bool)
        allowed[rows[inside]] = True
        return replace(self, allowed=allowed) if inside.any() else self


@dataclass(frozen=True, slots=True)
class NoteTerm:
    """A term of the query with its postings among the allowed notes."""

    stem: str
    id: int
    rows: Array
    counts: Array
    notes: int  # of the population that contain it
    idf: float


class NoteTermStatistics:
    """What the index knows of one query: its terms, its vector, its times; and the retrievers, which read nothing else."""

    def __init__(self, reader: NoteReader, plan: NotePlan, scope: NoteScope, encoder: Encoder | None, everywhere: float = 2.0) -> None:
        """Words in a share of `everywhere` of the notes, such as the names of the two people in every session, are dropped."""
        self.reader, self.scope, self.encoder, self._everywhere = reader, scope, encoder, everywhere
        self.population = int(scope.population.sum())
        found = self._lookup(plan)
        left = plan.without(frozenset(one.stem for one in found.values() if self.is_everywhere(one.notes)))
        self.plan = left if left.stems else plan
        self.terms: Mapping[str, NoteTerm] = {stem: one for stem, one in found.items() if stem in self.plan.stems}

    def is_everywhere(self, notes: Any) -> Any:
        """Whether so many notes contain a word, or each of some words, that it does not tell them apart."""
        return (notes >= self._everywhere * self.population) & (self.population >= MIN_NOTES)

    def _lookup(self, plan: NotePlan) -> dict[str, NoteTerm]:
        found = {}
        for stem, number in self.reader.vocabulary.stem_ids(plan.stems).items():
            rows, counts = self.reader.postings(number)
            notes = int(np.count_nonzero(self.scope.population[rows]))
            keep = self.scope.allowed[rows]
            found[stem] = NoteTerm(stem, number, rows[keep], counts[keep], notes, float(idf(self.population, np.array(notes))))
        return found

    @cached_property
    def note_counts(self) -> Array:
        """How many notes of the population contain each stem."""
        return self.reader.note_counts(self.scope.population, self.scope.name)

    def idf_of(self, stem: str) -> float:
        """The idf of a term of the query; highest when no note contains it."""
        return self.terms[stem].idf if stem in self.terms else float(idf(self.population, np.array(0)))

    @cached_property
    def good_score(self) -> float:
        """The score of a good match: half of the terms, once each."""
        return GOOD_SHARE * sum(self.idf_of(stem) for stem in self.plan.stems)

    @cached_property
    def word_scores(self) -> Array:
        """BM25 of every note."""
        scores = np.zeros(self.reader.size)
        lengths = self.reader.column("lengths")
        for one in self.terms.values():
            norm = length_norm(lengths[one.rows], self.reader.mean_length)
            scores[one.rows] += bm25(one.counts.astype(np.float64), norm, one.idf)
        return scores

    @cached_property
    def query_vector(self) -> Vectors | None:
        """The vector of the query, without the words that are everywhere."""
        if self.encoder is None or not self.reader.vectors.passages:
            return None
        vectors = self.encoder.encode_query(" ".join(self.plan.words))
        return vectors if vectors.rows.any() else None

    @cached_property
    def _similarities(self) -> Array | None:
        """The similarity of every passage, where there are few enough to compare them all."""
        return self.reader.vectors.compare_all(self.query_vector) if self.query_vector is not None else None

    def similarity(self, rows: Array) -> Array:
        """The similarity of each note's nearest passage."""
        found = np.zeros(len(rows))
        if self.query_vector is None or not len(rows):
            return found
        owner, passages = spread(*self.reader.vectors.passages_of_units(rows))
        every = self._similarities
        near = every[passages] if every is not None else self.reader.vectors.compare(self.query_vector, passages)
        if len(owner):
            starts = first_of_each(owner)
            found[owner[starts]] = np.maximum.reduceat(near, starts)
        return found

    # Retrievers: (rows, scores) each.
    def by_words(self, count: int) -> tuple[Array, Array]:
        """The notes with the highest BM25."""
        rows = np.flatnonzero(self.word_scores)
        return highest(rows, self.word_scores[rows], count)

    def by_meaning(self, count: int, min_similarity: float) -> tuple[Array, Array]:
        """The notes with the most similar passages."""
        if self.query_vector is None:
            return np.empty(0, np.int64), np.empty(0)
        vectors = self.reader.vectors
        allowed = None if self.scope.allowed.all() else vectors.passages_with_units(self.scope.allowed)
        limit = count + count // 2
        while True:  # a long note has many passages: fetch more until there are enough notes, or no similar passage is left
            passages, near = vectors.nearest(self.query_vector, limit, allowed, self._similarities)
            similar = near >= min_similarity
            rows = vectors.first[passages[similar]]
            _, lead = np.unique(rows, return_index=True)  # passages come most similar first
            if len(lead) >= count or len(passages) < limit or not similar.all():
                break
            limit *= DEEPER
        lead = np.sort(lead)[:count]
        return rows[lead], near[similar][lead].astype(np.float64)

    def by_times(self, count: int) -> tuple[Array, Array]:
        """The notes of the days in the query; of too many, those with the highest BM25."""
        if not self.spans:
            return np.empty(0, np.int64), np.empty(0)
        days = self.reader.column("days")
        matches = np.zeros(self.reader.size, bool)
        for first, last in self.spans:
            matches |= (days >= max(first, 1)) & (days <= last)
        rows = np.flatnonzero(matches & self.scope.allowed)
        rows, _ = highest(rows, self.word_scores[rows], count)
        return rows, np.ones(len(rows))

    @cached_property
    def spans(self) -> tuple[tuple[int, int], ...]:
        """The times in the query; one that may be of any year is of the latest year that has notes."""
        spans = self.plan.spans
        if not self.plan.yearly:
            return spans
        days = self.reader.column("days")[self.scope.allowed] if self.reader.size else np.empty(0, np.int32)
        for back in range(MAX_YEARS):
            moved = tuple((first - round(back * YEAR), last - round(back * YEAR)) for first, last in spans)
            if any(((days >= first) & (days <= last)).any() for first, last in moved):
                return moved
        return spans

    def time_match(self, rows: Array) -> Array:
        """How well notes match the times in the query: 1 for their own day, up to 1 for dates in their text."""
        found = np.zeros(len(rows))
        days = self.reader.column("days")[rows] if len(rows) else np.empty(0, np.int32)
        owner, mentioned = self.reader.spans(rows)
        for first, last in self.spans:
            found = np.maximum(found, ((days >= max(first, 1)) & (days <= last)).astype(np.float64))
            if len(owner):
                overlap = np.minimum(mentioned[:, 1], last) - np.maximum(mentioned[:, 0], first) + 1
                longer = np.maximum(mentioned[:, 1] - mentioned[:, 0] + 1, min(last - first + 1, 366))
                best = np.zeros(len(rows))
                np.maximum.at(best, owner, np.clip(overlap / longer, 0, 1))
                found = np.maximum(found, best)
        return found

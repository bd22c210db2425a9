"""Signals that rank notes: one documented function each."""

from __future__ import annotations

import re

import numpy as np

from whence.memory.pool import NotePool
from whence.memory.retrieval import Asks
from whence.ranking.ledger import Column, Operation, Phase, signal
from whence.ranking.pool import share_of_best
from whence.storage.arrayfile import Array
from whence.text.dates import OPEN

_WORD = re.compile(r"[^\W_]+")
#: Letters that a stem shares with all its words.
_PREFIX = 2
#: Notes answer from the same subject if they score this share of the best one, their best passages hold this share of the
#: query that its best passage holds, and are this similar to it. Measured, see docs/experiments/memory.md.
SAME_SCORE, SAME_WORDS, SAME_MEANING = 0.65, 0.5, 0.5
#: Among so many of the best notes; where more than so many are near, the subject is too wide for dates to decide.
AMONG, MOST_NEAR = 5, 3
#: Near-duplicates are ordered by date among so many of the best notes.
DUPLICATES_AMONG = 30


@signal()
def note_words(pool: NotePool) -> Column:
    """Notes: BM25 of the whole note, with idf over all notes of the requested projects."""
    raw = pool.statistics.word_scores[pool.units]
    return Column(share_of_best(raw, pool.statistics.good_score), lambda row: f"BM25 {raw[row]:.2f}")


@signal()
def note_passage(pool: NotePool) -> Column:
    """Notes: BM25 of the best passage of 32 words."""
    raw = pool.text.passage
    return Column(share_of_best(raw, pool.statistics.good_score), lambda row: f"BM25 {raw[row]:.2f} in its best passage")


@signal()
def note_pairs(pool: NotePool) -> Column:
    """Notes: pairs of words that are adjacent in the query and in the note."""
    raw = pool.text.pairs
    found = share_of_best(raw, pool.statistics.good_score)
    return Column(found, lambda row: f"{raw[row]:.2f} by adjacent words" if raw[row] else "no adjacent words")


@signal()
def note_kin(pool: NotePool) -> Column:
    """Notes: BM25 of the best passage, with words that the shipped model finds similar counting in part."""
    raw = pool.text.similar_words
    return Column(share_of_best(raw, pool.statistics.good_score), lambda row: f"{raw[row]:.2f} by similar words")


@signal()
def note_spelling(pool: NotePool) -> Column:
    """Notes: BM25 of character 4-grams, so that misspelt and compound words count in part."""
    raw = pool.text.spelling
    return Column(share_of_best(raw, pool.text.good_ngram_score), lambda row: f"BM25 {raw[row]:.2f} by character n-grams")


@signal()
def note_meaning(pool: NotePool) -> Column:
    """Notes: how similar the nearest passage is to the query, above chance, by the vectors of the model in use."""
    return Column(share_of_best(pool.semantic), lambda row: f"similarity {pool.similarity[row]:.2f} of its nearest passage")


@signal()
def note_semantic(pool: NotePool) -> Column:
    """Notes: the similarity of the nearest passage above chance, from 0 to 1."""
    values = pool.semantic
    return Column(values, lambda row: f"similarity {pool.similarity[row]:.2f}" if values[row] else "not found by vectors")


@signal()
def note_strength(pool: NotePool) -> Column:
    """Notes: for each word shared with the query 1 / (notes with it), more for a word of the note's name."""
    terms = pool.statistics.terms
    notes = np.array([max(terms[stem].notes, 1) if stem in terms else np.inf for stem in pool.plan.stems])
    worth = np.where(_in_name(pool), pool.slug_bonus, 1.0) / notes if len(notes) else np.zeros((len(pool.units), 0))
    values = (pool.matched * worth).sum(axis=1) + _whole_names(pool)

    def because(row: int) -> str:
        words = [word for word, matched in zip(pool.plan.words, pool.matched[row], strict=True) if matched]
        return f"shares {', '.join(words[:6])}" if words else "shares no word"

    return Column(values, because)


def _in_name(pool: NotePool) -> Array:
    """Whether each word of the query is a whole word of each note's name."""
    found = np.zeros((len(pool.units), len(pool.plan.stems)), bool)
    for row, facts in enumerate(pool.facts):
        slug = facts.slug.lower()
        if any(stem[:_PREFIX] in slug for stem in pool.plan.stems):  # rules out most of hundreds of names
            stems = set(map(pool.stem_of, _WORD.findall(slug)))
            found[row] = [stem in stems for stem in pool.plan.stems]
    return found


def _whole_names(pool: NotePool) -> Array:
    """A hyphenated name counts as one word for the notes that have all of it in their name."""
    found = np.zeros(len(pool.units))
    for name in pool.plan.hyphenated:
        named = np.array([f"-{name}-" in f"-{facts.slug.lower()}-" for facts in pool.facts], bool)
        if named.any():
            found += named * pool.slug_bonus / named.sum()
    return found


@signal()
def note_name(pool: NotePool) -> Column:
    """Notes: the share of the note's name, its topic or file name, that the query has, times the share of the query that is in the name."""
    idfs = np.array([pool.statistics.idf_of(stem) for stem in pool.plan.stems])
    values = np.zeros(len(pool.units))
    for row, facts in enumerate(pool.facts):
        stems = {pool.stem_of(word) for word in _WORD.findall((facts.topic or facts.slug).lower()) if word not in pool.stop_words}
        held = np.array([stem in stems for stem in pool.plan.stems], bool)
        if held.any():
            values[row] = held.sum() / len(stems) * idfs[held].sum() / idfs.sum()
    return Column(values, lambda row: f"its name fits by {values[row]:.0%}")


@signal()
def note_when(pool: NotePool) -> Column:
    """Notes: how well the note's date, or a date in its text, matches the times in the query."""
    values = pool.statistics.time_match(pool.units)
    dated = bool(pool.plan.spans)
    return Column(values, lambda row: f"matches the time by {values[row]:.0%}" if dated else "the query names no time")


@signal()
def note_here(pool: NotePool) -> Column:
    """Notes: whether the note belongs to the project that the query comes from."""
    values = np.array([bool(pool.project) and facts.project == pool.project for facts in pool.facts], np.float64)
    other = "of another project" if pool.project else "the query comes from no project"
    return Column(values, lambda row: f"of {pool.project}" if values[row] else other)


@signal(Phase.RERANK)
def note_rerank(pool: NotePool) -> Column:
    """Notes: how similar the nearest passage is as a sentence encoder reads it, above the least similar of the first candidates."""
    look = pool.second_look
    if look is None:
        return Column(np.zeros(len(pool.units)), lambda _: "no second look")
    return Column(look.values(), look.because)


@signal(Phase.PENALTY, Operation.MULTIPLY)
def note_code(pool: NotePool) -> Column:
    """Notes: a factor for a note whose code has changed or is gone."""
    values = np.array([pool.changed_factor if change else 1.0 for change in pool.changes], np.float64)
    return Column(values, lambda row: pool.changes[row] or "its code is unchanged, or it is about none")


@signal(Phase.COHERENCE)
def note_newest(pool: NotePool) -> Column:
    """Notes: near-duplicates, and notes that answer from the same subject, exchange their scores so that the newest has the highest.

    The oldest has it if the query asks for that, and none is moved if it asks when something was.
    """
    scores, reasons = pool.scores.copy(), dict[int, str]()
    for group in _groups(pool):
        by_date = _by_date(pool, group)
        for row, score in zip(by_date, sorted(scores[group].tolist(), reverse=True), strict=True):
            scores[row] = score
        first, *later = by_date
        reasons |= dict.fromkeys(later, f"{pool.facts[first].key} is of the same subject, and by its date it comes first")
        reasons[first] = f"of the same subject as {', '.join(pool.facts[row].key for row in later)}; by its date it comes first"
    return Column(scores - pool.scores, lambda row: reasons.get(row, "no other note is of the same subject"))


def _by_date(pool: NotePool, group: list[int]) -> list[int]:
    """Those of the time in the query first, then those that held at that time; then the newest, or the oldest if it asks for that."""
    rows = pool.units[group]
    last = max((last for _, last in pool.statistics.spans), default=OPEN)
    matches, days, times = pool.statistics.time_match(rows), *(pool.statistics.reader.column(name)[rows] for name in ("days", "at"))
    order = np.lexsort((times if pool.plan.asks is Asks.OLDEST else -times, days > last, -matches))
    return [group[at] for at in order.tolist()]


def _groups(pool: NotePool) -> list[list[int]]:
    """Rows that are of the same subject, best first: near-duplicates, then those that answer nearly as well from the same words."""
    best, groups = pool.order(pool.scores)[:DUPLICATES_AMONG], dict[int, list[int]]()
    for row in best:
        leader = pool.duplicates.first(row, list(groups))
        groups.setdefault(row if leader is None else leader, []).append(row)
    subject = _same_subject(pool, best[:AMONG]) if pool.plan.asks is not Asks.ANY and best else []
    dated = ([row for row in group if pool.facts[row].day and not pool.changes[row]] for group in [*groups.values(), subject])
    return [group for group in dated if len(group) > 1]


def _same_subject(pool: NotePool, best: list[int]) -> list[int]:
    """Those of the best notes that answer nearly as well as the first, from the same words in a similar passage."""
    near = [row for row in best if pool.scores[row] >= SAME_SCORE * pool.scores[best[0]]]
    if len(near) > MOST_NEAR and pool.plan.asks is Asks.STATE:
        return []
    held, vectors = pool.text.best_passages(near)
    shared = np.minimum(held, held[0]).sum(axis=1) >= SAME_WORDS * held[0].sum()
    similar = vectors @ vectors[0] >= SAME_MEANING
    return [row for row, one, other in zip(near, shared, similar, strict=True) if one and (other or pool.prose is None)]

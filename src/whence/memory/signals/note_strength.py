"""How distinctive the words are that a note shares with the query."""

from __future__ import annotations

import re

import numpy as np

from whence.memory.pool import NotePool
from whence.ranking.ledger import Column, signal
from whence.storage.arrayfile import Array

_WORD = re.compile(r"[^\W_]+")
#: Letters that a stem shares with all its words.
_PREFIX = 2


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

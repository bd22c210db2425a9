"""How much the words tell that a note shares with the question."""

from __future__ import annotations

import re

import numpy as np

from whence.memory.pool import NotePool
from whence.ranking.ledger import Column
from whence.ranking.registry import signal
from whence.storage.arrayfile import Array

_WORD = re.compile(r"[^\W_]+")
#: Letters that a stem shares with every word of it.
_FIRST = 2


@signal()
def note_strength(pool: NotePool) -> Column:
    """Notes: for each word they share with the question 1 / (notes that hold it), more for a word that is part of the note's name (M3)."""
    notes = np.array([max(pool.evidence.held[stem].notes, 1) if stem in pool.evidence.held else np.inf for stem in pool.plan.stems])
    named = _named(pool)
    worth = np.where(named, pool.slug_bonus, 1.0) / notes if len(notes) else np.zeros((len(pool.units), 0))
    whole = _whole_names(pool)
    values = (pool.matched * worth).sum(axis=1) + whole

    def because(row: int) -> str:
        words = [word for word, held in zip(pool.plan.words, pool.matched[row], strict=True) if held]
        return f"shares {', '.join(words[:6])}" if words else "shares no word"

    return Column(values, because)


def _named(pool: NotePool) -> Array:
    """Whether each word of the question is a whole word of each note's name."""
    stem = pool.stem_of
    found = np.zeros((len(pool.units), len(pool.plan.stems)), bool)
    for row, facts in enumerate(pool.facts):
        slug = facts.slug.lower()
        if any(one[:_FIRST] in slug for one in pool.plan.stems):  # most names have nothing of the question, and there are hundreds
            of_name = {stem(word) for word in _WORD.findall(slug)}
            found[row] = [one in of_name for one in pool.plan.stems]
    return found


def _whole_names(pool: NotePool) -> Array:
    """A name with hyphens counts as one word: what it is worth to the notes that are called by the whole of it."""
    found = np.zeros(len(pool.units))
    for name in pool.plan.hyphenated:
        called = np.array([f"-{name}-" in f"-{facts.slug.lower()}-" for facts in pool.facts], bool)
        if called.any():
            found += called * pool.slug_bonus / called.sum()
    return found

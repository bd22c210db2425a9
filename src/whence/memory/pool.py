"""The pool of a question to notes: every candidate once, and what there is to know of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from whence.core.profiles import Profile
from whence.embed.prose import ProseEncoder
from whence.memory.passages import NoteText
from whence.memory.plan import NotePlan
from whence.memory.retrieval import NoteTermStatistics
from whence.storage.arrayfile import Array
from whence.storage.rows import is_member

#: Names of what a signal works out that others use as well.
_KEPT = ("text", "nearness", "semantic", "matched")


@dataclass(frozen=True, slots=True)
class NoteFacts:
    """What is known of a candidate beside its text."""

    key: str
    project: str
    topic: str
    changed: str = ""  # what has become of the code it speaks of, if that is not as it was

    @property
    def slug(self) -> str:
        """The name of its file."""
        return self.key.partition("/")[2]


@dataclass(frozen=True)
class NotePool:
    """Candidates to be ranked. Signals read it and change nothing."""

    evidence: NoteTermStatistics
    units: Array  # rows of the corpus
    retrieved: Mapping[str, Array]  # raw scores by retriever; NaN where it did not find the note
    facts: Sequence[NoteFacts]
    profile: Profile
    scores: Array
    here: str = ""  # the project of whoever asks
    slug_bonus: float = 3.0
    changed_factor: float = 0.5
    prose: ProseEncoder | None = None
    stem_of: Callable[[str], str] = str

    @property
    def plan(self) -> NotePlan:
        """The question."""
        return self.evidence.plan

    @cached_property
    def text(self) -> NoteText:
        """The words of the candidates."""
        return NoteText(self.evidence, self.units, self.prose)

    @cached_property
    def nearness(self) -> Array:
        """How near the nearest passage of each candidate is to the question."""
        return np.maximum(self.evidence.similar(self.units), self.text.nearness)

    @cached_property
    def semantic(self) -> Array:
        """The semantic score: from 0, where likeness is no more than chance, to 1 (M3, M5)."""
        noise = self.evidence.encoder.noise if self.evidence.encoder is not None else 0.0
        return np.clip((self.nearness - noise) / (1 - noise), 0, 1)

    @cached_property
    def matched(self) -> Array:
        """Whether each candidate holds each word of the question: (candidates, words)."""
        found = np.zeros((len(self.units), len(self.plan.stems)), bool)
        for place, stem in enumerate(self.plan.stems):
            if stem in self.evidence.held:
                found[:, place] = is_member(self.units, self.evidence.held[stem].rows)
        return found

    def work_out(self) -> None:
        """Work out what the phases of ranking and those who read the answer share."""
        for name in _KEPT:
            getattr(self, name)

    def with_scores(self, scores: Array) -> NotePool:
        """The same pool in a later phase; what was worked out stays worked out."""
        later = replace(self, scores=scores)
        for name in _KEPT:
            if name in self.__dict__:
                later.__dict__[name] = self.__dict__[name]
        return later

"""Weights of notes learned from questions whose sessions are known (B5): leave-one-conversation-out, and fitted to all.

A softmax over the sessions of a question, each wanted one with an equal share, held
back by L2 on signals scaled to variance 1. No weight is negative: a signal that
would only be right upside down is dropped. What weighs by hand stays as it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from whence.core.errors import UsageError
from whence.core.profiles import FIXED_NOTE_WEIGHTS, NOTE_RERANK, NOTES, NOTES_CLASSIC, Profile, Weight
from whence.memory.recall import RankedNotes
from whence.ranking.ledger import OF_NOTES, Operation, signal_names
from whence.storage.arrayfile import Array
from whence_bench.memory.corpus import Question

#: Strength of the L2; measured, see docs/experiments/memory.md.
RIDGE = 30.0
STEPS, HALVINGS = 50, 12
_SMALL = 1e-9
#: Exchanges scores under the weights in use, so it has no part in learning them.
NEWEST = "note_newest"

Weights = Mapping[str, float]


def learnable() -> tuple[str, ...]:
    """The signals of notes that a benchmark can teach: not those that weigh by hand, nor those of the classic rule."""
    others = {*FIXED_NOTE_WEIGHTS, *NOTES_CLASSIC.signals, NOTE_RERANK}
    return tuple(name for name in signal_names() if name.startswith(OF_NOTES) and name not in others)


@dataclass(frozen=True, slots=True)
class Case:
    """One question: what every signal says of every session, and which sessions were wanted."""

    conversation: str
    question: Question
    sessions: tuple[int, ...]  # in the order in which equals are shown
    columns: Array  # (sessions, signals); 0 for a session that nothing finds
    fixed: Array  # what signals that weigh by hand give each session
    found: Array | None = None  # whether recall finds each; None for all

    @property
    def share(self) -> Array:
        """What each session should have of the whole: an equal share, if it is wanted."""
        wanted = np.isin(self.sessions, self.question.wanted)
        return np.asarray(wanted / wanted.sum())

    def ranked(self, weights: Weights, names: Sequence[str]) -> list[int]:
        """The sessions that were found, as weights rank them: what was not found is not returned by any weights."""
        scores = self.columns @ np.array([weights.get(name, 0.0) for name in names]) + self.fixed
        order = np.argsort(-scores, kind="stable").tolist()
        return [self.sessions[at] for at in order if self.found is None or self.found[at]]


def speaking(names: Sequence[str], weights: Weights | None = None) -> Profile:
    """The profile of notes in which all the named signals speak, with weight 1 where none are given."""
    chosen = {name: Weight(*[1.0 if weights is None else weights.get(name, 0.0)] * 2) for name in names}
    fixed = {name: weight for name, weight in FIXED_NOTE_WEIGHTS.items() if name != NEWEST}
    return replace(NOTES, signals={**chosen, **fixed})


def case_of(ranked: RankedNotes, conversation: str, question: Question, keys: Mapping[str, int], names: Sequence[str]) -> Case:
    """What was said of the sessions of a conversation; `keys` of their notes, with their numbers."""
    shown = [ranked.pool.facts[row].key for row in ranked.pool.order(np.zeros(len(ranked.pool.units)))]
    known = [key for key in dict.fromkeys([*shown, *sorted(keys)]) if key in keys]
    place = {key: at for at, key in enumerate(known)}
    rows = [(row, place[facts.key]) for row, facts in enumerate(ranked.pool.facts) if facts.key in place]
    here, there = (np.array([pair[side] for pair in rows], np.int64) for side in (0, 1))
    columns, fixed = np.zeros((len(known), len(names))), np.zeros(len(known))
    for entry in ranked.ledger.entries:
        if entry.signal in names:
            columns[there, names.index(entry.signal)] = entry.column.values[here]
        elif entry.operation is Operation.ADD:
            fixed[there] += entry.contribution[here]
    found = np.zeros(len(known), bool)
    found[there] = True
    return Case(conversation, question, tuple(keys[key] for key in known), columns, fixed, found)


def learn(cases: Sequence[Case], names: Sequence[str], ridge: float = RIDGE) -> dict[str, float]:
    """The weights, none of them negative, that make the wanted sessions most likely."""
    if not cases:
        raise UsageError("there is no question to learn from")
    spread = np.sqrt(np.mean([one.columns.var(axis=0) for one in cases], axis=0))
    spread = np.where(spread > _SMALL, spread, 1.0)
    table = _Table.of(cases, spread)
    vector = np.zeros(len(names))
    for _ in range(STEPS):
        after = _stepped(table, vector, ridge)
        moved = float(np.abs(after - vector).max(initial=0.0))
        vector = after
        if moved < 1e-6:
            break
    return dict(zip(names, (vector / spread).tolist(), strict=True))


def _stepped(table: _Table, vector: Array, ridge: float) -> Array:
    """One step of Newton's method among the weights that are not held at 0, halved until it leads down."""
    here, slope, curvature = table.slopes(vector, ridge)
    free = np.flatnonzero((vector > 0) | (slope < 0))
    if not len(free):
        return vector
    step = np.zeros(len(vector))
    step[free] = np.linalg.solve(curvature[np.ix_(free, free)], slope[free])
    for halving in range(HALVINGS):
        there = np.maximum(vector - step / 2**halving, 0.0)
        if table.loss(there, ridge) < here:
            return np.asarray(there)
    downhill = np.maximum(vector - slope / np.diag(curvature).max(), 0.0)  # a weight that came to 0 may have turned the step
    return np.asarray(downhill) if table.loss(downhill, ridge) < here else vector


@dataclass(frozen=True, slots=True)
class _Table:
    """All questions side by side: (questions, sessions, signals), and where sessions are missing."""

    rows: Array
    absent: Array
    share: Array
    fixed: Array

    @classmethod
    def of(cls, cases: Sequence[Case], spread: Array) -> _Table:
        shape = len(cases), max(len(one.sessions) for one in cases)
        rows, absent = np.zeros((*shape, len(spread))), np.ones(shape, bool)
        share, fixed = np.zeros(shape), np.zeros(shape)
        for at, one in enumerate(cases):
            size = len(one.sessions)
            rows[at, :size], absent[at, :size] = one.columns / spread, False
            share[at, :size], fixed[at, :size] = one.share, one.fixed
        return cls(rows, absent, share, fixed)

    def _chances(self, vector: Array) -> Array:
        """The logarithm of the chance of every session."""
        scores = np.where(self.absent, -np.inf, self.rows @ vector + self.fixed)
        scores = scores - scores.max(axis=1, keepdims=True)
        return np.asarray(scores - np.log(np.exp(scores).sum(axis=1, keepdims=True)))

    def loss(self, vector: Array, ridge: float) -> float:
        """How unlikely the wanted sessions are, and how large the weights."""
        likely = np.where(self.share > 0, self._chances(vector), 0.0)
        return float(-(likely * self.share).sum() + ridge * vector @ vector)

    def slopes(self, vector: Array, ridge: float) -> tuple[float, Array, Array]:
        """The loss with its gradient and curvature."""
        chances = np.exp(self._chances(vector))
        mean = np.einsum("nm,nmf->nf", chances, self.rows)
        gradient = np.einsum("nm,nmf->f", chances - self.share, self.rows) + 2 * ridge * vector
        curvature = np.tensordot(self.rows * chances[:, :, None], self.rows, axes=((0, 1), (0, 1))) - mean.T @ mean
        return self.loss(vector, ridge), gradient, curvature + 2 * ridge * np.eye(len(vector))


def left_out(cases: Sequence[Case], names: Sequence[str], ridge: float = RIDGE) -> dict[str, dict[str, float]]:
    """For each conversation the weights learned from all others."""
    conversations = list(dict.fromkeys(one.conversation for one in cases))
    return {name: learn([one for one in cases if one.conversation != name], names, ridge) for name in conversations}


def without(cases: Sequence[Case], names: Sequence[str], name: str) -> tuple[list[Case], tuple[str, ...]]:
    """The same questions as if a signal had never been."""
    kept = [at for at, other in enumerate(names) if other != name]
    return [replace(one, columns=one.columns[:, kept]) for one in cases], tuple(names[at] for at in kept)

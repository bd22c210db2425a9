"""Weights learned from judged questions: a softmax over a question's files, by Newton's method, held back by L2.

The score stays a sum of weighted signals, so the ledger explains it. Each signal
has two weights, for short questions and for long ones. A file stands for its best
candidate under the weights of the round before, since that is how it is ranked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from whence.bench.features import Judged, ndcg, weights_at
from whence.index.arrayfile import Array
from whence.profiles import Weight

#: Strength of the L2 on weights of signals scaled to variance 1; RESEARCH found 3 for 600 questions.
RIDGE = 3.0
ROUNDS, STEPS = 3, 6
#: Files of a question that take part: the best under the weights so far, and the wanted ones.
RIVALS = 60

Weights = Mapping[str, Weight]


@dataclass(frozen=True, slots=True)
class _Case:
    """A question ready to be learned from: one row of features for each rival, and which rows are wanted."""

    rows: Array
    wanted: Array
    worth: float


def learn(
    judged: Sequence[Judged], start: Weights, *, ridge: float = RIDGE, worth: Callable[[Judged], float] | None = None
) -> dict[str, Weight]:
    """The weights that make wanted files most likely, starting from others."""
    names = judged[0].signals
    scale = _spread(judged)
    vector = _as_vector(start, names) * np.concatenate([scale, scale])
    for _ in range(ROUNDS):
        weights = _as_weights(vector / np.concatenate([scale, scale]), names)
        cases = [_case(one, weights, scale, worth(one) if worth else 1.0) for one in judged]
        cases = [case for case in cases if len(case.wanted)]
        for _ in range(STEPS):
            gradient, curvature = _slopes(cases, vector)
            step = np.linalg.solve(curvature + 2 * ridge * np.eye(len(vector)), gradient + 2 * ridge * vector)
            vector = vector - step * min(1.0, 4.0 / max(float(np.abs(step).max()), 1e-9))
    return _as_weights(vector / np.concatenate([scale, scale]), names)


def _spread(judged: Sequence[Judged]) -> Array:
    """How much each signal varies among the candidates of a question."""
    variances = np.mean([one.columns.var(axis=0) for one in judged], axis=0)
    return np.asarray(np.where(variances > 1e-12, np.sqrt(variances), 1.0))


def _as_vector(weights: Weights, names: Sequence[str]) -> Array:
    known = [weights.get(name, Weight()) for name in names]
    return np.array([one.short for one in known] + [one.long for one in known])


def _as_weights(vector: Array, names: Sequence[str]) -> dict[str, Weight]:
    short, long = vector[: len(names)].tolist(), vector[len(names) :].tolist()
    return {name: Weight(a, b) for name, a, b in zip(names, short, long, strict=True)}


def _case(judged: Judged, weights: Weights, scale: Array, worth: float) -> _Case:
    scores = judged.columns @ weights_at(judged, weights)
    order = np.lexsort((-scores, judged.owner))
    leading = order[np.searchsorted(judged.owner[order], np.arange(len(judged.files)))]  # each file's best candidate
    wanted = {row for rows in judged.wanted for row in rows}
    best = np.argsort(-scores[leading], kind="stable")[:RIVALS].tolist()
    rivals = sorted({*best, *wanted})
    plain = judged.columns[leading[rivals]] / scale
    rows = np.concatenate([plain * (1 - judged.length), plain * judged.length], axis=1)
    return _Case(rows, np.array([at for at, row in enumerate(rivals) if row in wanted], np.int64), worth)


def _slopes(cases: Sequence[_Case], vector: Array) -> tuple[Array, Array]:
    """Gradient and curvature of the loss: minus the log of the probability of the wanted files, each against the rest."""
    gradient, curvature = np.zeros(len(vector)), np.zeros((len(vector), len(vector)))
    for case in cases:
        scores = case.rows @ vector
        odds = np.exp(scores - scores.max())
        odds /= odds.sum()
        share = np.zeros(len(odds))
        share[case.wanted] = 1 / len(case.wanted)
        mean = odds @ case.rows
        gradient += case.worth * (mean - share @ case.rows)
        curvature += case.worth * (case.rows.T @ (case.rows * odds[:, None]) - np.outer(mean, mean))
    return gradient, curvature


def left_out(
    judged: Sequence[Judged], start: Weights, *, ridge: float = RIDGE, worth: Callable[[Judged], float] | None = None
) -> dict[str, dict[str, Weight]]:
    """For each repository the weights learned from all others."""
    everything = learn(judged, start, ridge=ridge, worth=worth)
    return {
        name: learn([one for one in judged if one.repository != name], everything, ridge=ridge, worth=worth)
        for name in dict.fromkeys(one.repository for one in judged)
    }


def scored_apart(judged: Sequence[Judged], folds: Mapping[str, Weights]) -> list[float]:
    """NDCG@10 of every question, under weights that its repository had no part in."""
    return [ndcg(one, folds[one.repository]) for one in judged]

"""Weights learned from judged questions: a softmax over a question's files, by Newton's method, held back by L2.

The score stays a sum of weighted signals, so the ledger explains it. Each signal
has two weights, for short questions and for long ones. A file stands for its best
candidate under the weights of the round before, since that is how it is ranked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from whence.core.errors import UsageError
from whence.core.profiles import Weight
from whence.storage.arrayfile import Array
from whence_bench.search.features import Judged, ndcg, weights_at

#: Strength of the L2 on weights of signals scaled to variance 1; measured, see docs/experiments/search.md.
RIDGE = 30.0
ROUNDS, STEPS, HALVINGS = 4, 6, 8
#: Files of a question that take part: the best under the weights so far, and the wanted ones.
RIVALS = 60

Weights = Mapping[str, Weight]
#: Where learning starts that must not know what was learned before.
UNLEARNED: Weights = {"unit": Weight(1.0, 1.0), "meaning": Weight(1.0, 1.0)}


@dataclass(frozen=True, slots=True)
class _Cases:
    """Questions ready to be learned from: the rivals of each, the share of each that is wanted, and what it counts."""

    rows: Array  # (questions, rivals, features)
    absent: Array  # (questions, rivals): where a question has fewer rivals
    share: Array  # (questions, rivals)
    worth: Array  # (questions,)


def learn(
    judged: Sequence[Judged], start: Weights, *, ridge: float = RIDGE, worth: Callable[[Judged], float] | None = None
) -> dict[str, Weight]:
    """The weights that make wanted files most likely, starting from others."""
    judged = [one for one in judged if any(one.wanted)]
    if not judged:
        raise UsageError("no question has a wanted file among its candidates", hint="there is nothing to learn from")
    names = judged[0].signals
    scale = _spread(judged)
    vector = _as_vector(start, names) * np.concatenate([scale, scale])
    for _ in range(ROUNDS):
        weights = _as_weights(vector / np.concatenate([scale, scale]), names)
        cases = _cases(judged, weights, scale, worth)
        for _ in range(STEPS):
            vector = _stepped(cases, vector, ridge)
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


def _cases(judged: Sequence[Judged], weights: Weights, scale: Array, worth: Callable[[Judged], float] | None) -> _Cases:
    most = RIVALS + max(sum(map(len, one.wanted)) for one in judged)
    rows = np.zeros((len(judged), most, 2 * len(scale)), np.float32)
    absent, share = np.ones((len(judged), most), bool), np.zeros((len(judged), most), np.float32)
    for at, one in enumerate(judged):
        leading, rivals, wanted = _rivals(one, weights)
        plain = one.columns[leading[rivals]] / scale
        rows[at, : len(rivals)] = np.concatenate([plain * (1 - one.length), plain * one.length], axis=1)
        absent[at, : len(rivals)] = False
        share[at, [rivals.index(row) for row in wanted]] = 1 / len(wanted)
    return _Cases(rows, absent, share, np.array([worth(one) if worth else 1.0 for one in judged], np.float32))


def _rivals(judged: Judged, weights: Weights) -> tuple[Array, list[int], list[int]]:
    """Each file's best candidate, the files that take part, and the wanted ones among them."""
    scores = judged.columns @ weights_at(judged, weights)
    order = np.lexsort((-scores, judged.owner))
    leading = order[np.searchsorted(judged.owner[order], np.arange(len(judged.files)))]
    wanted = sorted({row for rows in judged.wanted for row in rows})
    best = np.argsort(-scores[leading], kind="stable")[:RIVALS].tolist()
    return leading, sorted({*best, *wanted}), wanted


def _stepped(cases: _Cases, vector: Array, ridge: float) -> Array:
    """One step of Newton's method, halved until it leads down."""
    gradient, curvature = _slopes(cases, vector)
    step = np.linalg.solve(curvature + 2 * ridge * np.eye(len(vector)), gradient + 2 * ridge * vector)
    here = _loss(cases, vector, ridge)
    for _ in range(HALVINGS):
        there = vector - step
        if _loss(cases, there, ridge) < here:
            return np.asarray(there)
        step = step / 2
    return vector


def _loss(cases: _Cases, vector: Array, ridge: float) -> float:
    scores = np.where(cases.absent, -np.inf, cases.rows @ vector.astype(np.float32)).astype(np.float64)
    highest = scores.max(axis=1, keepdims=True)
    total = highest[:, 0] + np.log(np.exp(scores - highest).sum(axis=1))
    wanted = (np.where(cases.absent, 0, scores) * cases.share).sum(axis=1)
    return float(((total - wanted) * cases.worth).sum() + ridge * vector @ vector)


def _slopes(cases: _Cases, vector: Array) -> tuple[Array, Array]:
    """Gradient and curvature of the loss: minus the log of the probability of the wanted files, each against the rest."""
    scores = np.where(cases.absent, -np.inf, cases.rows @ vector.astype(np.float32))
    odds = np.exp(scores - scores.max(axis=1, keepdims=True))
    odds /= odds.sum(axis=1, keepdims=True)
    odds = odds.astype(np.float32)
    mean = (odds[:, None, :] @ cases.rows)[:, 0]
    flat = cases.rows.reshape(-1, cases.rows.shape[2])
    gradient = ((odds - cases.share) * cases.worth[:, None]).reshape(-1) @ flat
    curvature = (flat * (odds * cases.worth[:, None]).reshape(-1, 1)).T @ flat - (mean * cases.worth[:, None]).T @ mean
    return gradient, curvature


def left_out(
    judged: Sequence[Judged], start: Weights, *, ridge: float = RIDGE, worth: Callable[[Judged], float] | None = None
) -> dict[str, dict[str, Weight]]:
    """For each repository the weights learned from all others; `start` must know nothing of any of them."""
    repositories = dict.fromkeys(one.repository for one in judged)
    if len(repositories) == 1:
        raise UsageError("learning without a repository needs at least two repositories", hint="drop --repo")
    # Starting from what all together teach would be quicker, and each would have a part in its own weights.
    return {name: learn([one for one in judged if one.repository != name], start, ridge=ridge, worth=worth) for name in repositories}


def scored_apart(judged: Sequence[Judged], folds: Mapping[str, Weights]) -> list[float]:
    """NDCG@10 of every question, under weights that its repository had no part in."""
    return [ndcg(one, folds[one.repository]) for one in judged]

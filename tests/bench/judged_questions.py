"""Judged questions made up for a purpose: signals drawn at random, files wanted by weights that a test knows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from whence.core.profiles import Weight
from whence_bench.search.features import Judged

SIGNALS = ("likeness", "penalty", "noise")
#: What makes a file wanted: for short questions one signal, for long ones another.
PLANTED = {"likeness": Weight(3.0, 0.5), "penalty": Weight(-1.5, -3.0), "noise": Weight(0.0, 0.0)}


def question(
    chance: np.random.Generator,
    repository: str,
    weights: Mapping[str, Weight] = PLANTED,
    *,
    files: int = 15,
    units: int = 3,
    length: float = 0.0,
) -> Judged:
    """A question whose wanted file is drawn by how good it is under some weights."""
    columns = chance.standard_normal((files * units, len(SIGNALS))).astype(np.float32)
    owner = np.repeat(np.arange(files), units).astype(np.int32)
    scores = columns @ np.array([weights[name].at_length(length) for name in SIGNALS])
    best = scores.reshape(files, units).max(axis=1) + chance.gumbel(size=files)
    return Judged(
        repository,
        "python",
        "semantic",
        "a question",
        length,
        SIGNALS,
        columns,
        owner,
        tuple(f"file{number}.py" for number in range(files)),
        ((int(best.argmax()),),),
        ("words", "meaning"),
        np.ones((files * units, 2), bool),
    )


def questions(count: int, repositories: Sequence[str], weights: Mapping[str, Weight] = PLANTED, seed: int = 0) -> list[Judged]:
    """Questions of several repositories in turn, short and long."""
    chance = np.random.default_rng(seed)
    return [question(chance, repositories[at % len(repositories)], weights, length=float(chance.random() < 0.5)) for at in range(count)]

"""What every signal says of every candidate of a question: the table that weights are learned from and ablated on."""

from __future__ import annotations

import json
import math
import operator
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from whence.app.index import Index
from whence.core.profiles import Profile, Weight
from whence.ranking.ledger import OF_NOTES, Operation, Phase, signal_named, signal_names
from whence.search import metrics
from whence.storage.arrayfile import Array

#: Scaled over the pool for the classic profile; not to be added to others.
FUSED = frozenset({"lexical", "semantic"})


@dataclass(frozen=True, slots=True)
class Judged:
    """One question: its candidates with what each signal says of them, and which files were wanted."""

    repository: str
    language: str
    category: str
    text: str
    length: float
    signals: tuple[str, ...]
    columns: Array  # (candidates, signals)
    owner: Array  # of each candidate its file
    files: tuple[str, ...]
    wanted: tuple[tuple[int, ...], ...]  # for each wanted file those that are it; empty when not retrieved
    retrievers: tuple[str, ...] = ()
    found_by: Array | None = None  # (candidates, retrievers)


def additive_signals() -> list[str]:
    """The signals of files and symbols that a learned sum may use."""
    found = [signal_named(name) for name in signal_names() if not name.startswith(OF_NOTES)]
    return [
        one.name
        for one in found
        if one.phase is Phase.MATCH and one.operation is Operation.ADD and not one.relative and one.name not in FUSED
    ]


def open_profile(profile: Profile, names: Sequence[str]) -> Profile:
    """A profile in which all the named signals speak."""
    return replace(profile, signals={name: Weight(1.0, 1.0) for name in names})


@dataclass(frozen=True, slots=True)
class Asked:
    """A question to be judged: where it comes from, what it says, and which files it wants."""

    repository: str
    language: str
    category: str
    text: str
    wanted: Sequence[str]
    exactly: bool = False  # whether a path must be the wanted one from the root on


def judge(index: Index, profile: Profile, asked: Asked) -> Judged:
    """Ask one question and keep everything that was said."""
    ranked = index.ranked(asked.text, profile)
    pool = ranked.pool
    files, owner = np.unique(pool.files, return_inverse=True)
    paths = tuple(pool.snapshot.path(file) for file in files.tolist())
    same = operator.eq if asked.exactly else metrics.same_file
    columns = np.stack([entry.column.values for entry in ranked.ledger.entries], axis=1).astype(np.float32)
    return Judged(
        asked.repository,
        asked.language,
        asked.category,
        asked.text,
        pool.plan.length,
        tuple(entry.signal for entry in ranked.ledger.entries),
        columns,
        owner.astype(np.int32),
        paths,
        tuple(tuple(row for row, path in enumerate(paths) if same(path, target)) for target in asked.wanted),
        tuple(pool.retrieved),
        np.stack([np.isfinite(scores) for scores in pool.retrieved.values()], axis=1),
    )


def without_signals(judged: Sequence[Judged], names: Collection[str]) -> list[Judged]:
    """The same questions as if some signals did not exist."""
    kept = [[at for at, name in enumerate(one.signals) if name not in names] for one in judged]
    return [
        replace(one, signals=tuple(one.signals[at] for at in rows), columns=one.columns[:, rows])
        for one, rows in zip(judged, kept, strict=True)
    ]


def weights_at(judged: Judged, weights: Mapping[str, Weight]) -> Array:
    """The weight of each signal for a question's length."""
    return np.array([weights[name].at_length(judged.length) if name in weights else 0.0 for name in judged.signals])


def ranking(judged: Judged, weights: Mapping[str, Weight], *, without: str = "") -> list[int]:
    """The files of a question, best first, under some weights; at will without what only one retriever found."""
    scores = judged.columns @ weights_at(judged, weights)
    if without in judged.retrievers and judged.found_by is not None:
        others = [at for at, name in enumerate(judged.retrievers) if name != without]
        scores = np.where(judged.found_by[:, others].any(axis=1), scores, -np.inf)
    best = np.full(len(judged.files), -np.inf)
    np.maximum.at(best, judged.owner, scores)
    return [row for row in np.argsort(-best, kind="stable").tolist() if np.isfinite(best[row])]


def ndcg(judged: Judged, weights: Mapping[str, Weight], *, without: str = "") -> float:
    """NDCG@10 of a question under some weights."""
    if not judged.wanted:
        return 0.0
    place = {row: at for at, row in enumerate(ranking(judged, weights, without=without)[: metrics.DEPTH], 1)}
    ranks = [min((place[row] for row in rows if row in place), default=0) for rows in judged.wanted]
    gained = sum(1 / math.log2(rank + 1) for rank in ranks if rank)
    return gained / sum(1 / math.log2(at + 1) for at in range(1, min(metrics.DEPTH, len(judged.wanted)) + 1))


_PLAIN = ("repository", "language", "category", "text", "length", "signals", "files", "wanted", "retrievers")


def save(judged: Sequence[Judged], path: Path) -> None:
    """Keep judged questions in one file of arrays, to be learned from later."""
    arrays: dict[str, Any] = {"plain": np.array(json.dumps([{name: getattr(one, name) for name in _PLAIN} for one in judged]))}
    for at, one in enumerate(judged):
        arrays |= {f"columns.{at}": one.columns, f"owner.{at}": one.owner, f"found_by.{at}": one.found_by}
    np.savez_compressed(path, **arrays)


def load(path: Path) -> list[Judged]:
    """Judged questions as they were saved."""
    with np.load(path, allow_pickle=False) as found:
        listed = json.loads(str(found["plain"]))
        return [
            Judged(
                **{name: _frozen(value) for name, value in one.items()},
                columns=found[f"columns.{at}"],
                owner=found[f"owner.{at}"],
                found_by=found[f"found_by.{at}"],
            )
            for at, one in enumerate(listed)
        ]


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, list) else value

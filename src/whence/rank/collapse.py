"""From ranked units to ranked files: the best unit leads, ties are broken by more than the path."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from whence.fuse.pool import Pool
from whence.index.arrayfile import Array


@dataclass(frozen=True, slots=True)
class Hit:
    """One file of the answer: its leading candidate, its score, and all of its candidates."""

    file: int
    row: int  # of the leading candidate in the pool
    score: float
    rows: tuple[int, ...]


def collapse(pool: Pool, scores: Array) -> list[Hit]:
    """One hit per file, best first; equal scores in the order of the pool. What is not finite comes last (F4)."""
    order = np.lexsort((np.arange(len(scores)), -np.where(np.isfinite(scores), scores, -np.inf)))
    hits: dict[int, list[int]] = {}
    for row in order.tolist():
        hits.setdefault(int(pool.files[row]), []).append(row)
    return [Hit(file, rows[0], float(scores[rows[0]]), tuple(sorted(rows))) for file, rows in hits.items()]


def break_ties(hits: list[Hit], concentration: Callable[[int], int], path: Callable[[int], str]) -> list[Hit]:
    """Order hits of equal score by how many words of the query one of their lines holds, then by path (Q3)."""
    ordered: list[Hit] = []
    at = 0
    while at < len(hits):
        end = at + 1
        while end < len(hits) and hits[end].score == hits[at].score:
            end += 1
        group = hits[at:end]
        ordered += sorted(group, key=lambda hit: (-concentration(hit.file), path(hit.file))) if len(group) > 1 else group
        at = end
    return ordered

"""From ranked units to ranked files: the best unit leads, ties are broken by more than the path."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from whence.ranking.pool import CandidatePool
from whence.storage.arrayfile import Array


@dataclass(frozen=True, slots=True)
class FileHit:
    """One file of the answer: its leading candidate and its score."""

    file: int
    row: int  # of the leading candidate in the pool
    score: float


def collapse(pool: CandidatePool, scores: Array) -> list[FileHit]:
    """One hit per file, best first; equal scores in the order of the pool. What is not finite comes last (F4)."""
    order = np.argsort(-np.where(np.isfinite(scores), scores, -np.inf), kind="stable")
    files = pool.files[order]
    _, first = np.unique(files, return_index=True)
    first.sort()
    leading = order[first]
    return [FileHit(*hit) for hit in zip(files[first].tolist(), leading.tolist(), scores[leading].tolist(), strict=True)]


def candidates_of(pool: CandidatePool, hit: FileHit) -> list[int]:
    """All rows of the pool that belong to a hit's file."""
    return [int(row) for row in np.flatnonzero(pool.files == hit.file)]


def break_ties(hits: list[FileHit], concentration: Callable[[int], int], path: Callable[[int], str]) -> list[FileHit]:
    """Order hits of equal score by how many words of the query one of their lines holds, then by path (Q3)."""
    ordered: list[FileHit] = []
    at = 0
    while at < len(hits):
        end = at + 1
        while end < len(hits) and hits[end].score == hits[at].score:
            end += 1
        group = hits[at:end]
        ordered += sorted(group, key=lambda hit: (-concentration(hit.file), path(hit.file))) if len(group) > 1 else group
        at = end
    return ordered

"""The receipt of one result: its ledger, which retrievers found it, and its rank without each signal (E1)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from whence.ranking.ledger import Ledger, LedgerLine, Operation, fold, score
from whence.ranking.pool import INCLUDED, CandidatePool
from whence.storage.arrayfile import Array


@dataclass(frozen=True, slots=True)
class Retrieval:
    """The score and rank that one retriever gave the file's best unit."""

    retriever: str
    score: float
    rank: int


@dataclass(frozen=True, slots=True)
class WhyLine:
    """A line of the ledger, with the result's rank without it."""

    line: LedgerLine
    rank_without: int


@dataclass(frozen=True, slots=True)
class Why:
    """The receipt of one file for one query, or of one symbol for one task."""

    query: str
    path: str
    unit: str
    kind: str
    line: int
    rank: int  # from 1
    candidates: int  # files ranked
    score: float
    found_by: tuple[Retrieval, ...]
    lines: tuple[WhyLine, ...]
    leader: str  # the first result, for comparison
    leader_score: float
    leader_is_symbol: bool = False  # for a task


def totals(lines: Sequence[LedgerLine]) -> list[float]:
    """The score after each line of a ledger; the last one is the final score."""
    sums, total = [], 0.0
    for line in lines:
        total = total + line.contribution if line.operation == Operation.ADD.value else total * line.contribution
        sums.append(total)
    return sums


def scores_without(signal: str, pool: CandidatePool, ledger: Ledger) -> Array:
    """The scores without one signal; later phases are computed again without it."""
    phase = next(entry.phase for entry in ledger.entries if entry.signal == signal)
    if phase == ledger.entries[-1].phase:
        return fold(ledger.size, [entry for entry in ledger.entries if entry.signal != signal])
    return score(pool, leave_out=signal).scores()


def retrievals(pool: CandidatePool, rows: list[int]) -> list[Retrieval]:
    """The best score and rank that each retriever gave some rows."""
    found = []
    for name, scores in pool.retrieved.items():
        mine = [float(scores[row]) for row in rows if math.isfinite(scores[row])]
        if mine and name != INCLUDED:
            found.append(Retrieval(name, max(mine), 1 + int(np.nansum(scores > max(mine)))))
    return found

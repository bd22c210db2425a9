"""The receipt of one candidate: its ledger, who found it, and its rank without each signal (E1)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from whence.ranking.ledger import Ledger, LedgerLine, Operation, fold
from whence.ranking.pool import ASKED, CandidatePool
from whence.ranking.score import score
from whence.storage.arrayfile import Array


@dataclass(frozen=True, slots=True)
class Retrieval:
    """What one retriever said of the file's best unit."""

    retriever: str
    score: float
    rank: int


@dataclass(frozen=True, slots=True)
class WhyLine:
    """A line of the ledger, with the rank the file would have without it."""

    line: LedgerLine
    rank_without: int


@dataclass(frozen=True, slots=True)
class Why:
    """The whole receipt of one file for one query."""

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
    leader: str  # the first file of the answer, and its score, to compare with
    leader_score: float
    leader_is_symbol: bool = False  # in the answer to a task the first is a symbol, not a file


def totals(lines: Sequence[LedgerLine]) -> list[float]:
    """The score after each line of a ledger; the last of them is the score itself."""
    found, total = [], 0.0
    for line in lines:
        total = total + line.contribution if line.operation == Operation.ADD.value else total * line.contribution
        found.append(total)
    return found


def scores_without(signal: str, pool: CandidatePool, ledger: Ledger) -> Array:
    """The scores without one signal. The others stay what they were, unless some are read in a later phase and see it missing."""
    phase = next(entry.phase for entry in ledger.entries if entry.signal == signal)
    if phase == ledger.entries[-1].phase:
        return fold(ledger.size, [entry for entry in ledger.entries if entry.signal != signal])
    return score(pool, leave_out=signal).scores()


def retrievals(pool: CandidatePool, rows: list[int]) -> list[Retrieval]:
    """What each retriever said of some rows: its best score and rank."""
    found = []
    for name, scores in pool.retrieved.items():
        mine = [float(scores[row]) for row in rows if math.isfinite(scores[row])]
        if mine and name != ASKED:
            found.append(Retrieval(name, max(mine), 1 + int(np.nansum(scores > max(mine)))))
    return found

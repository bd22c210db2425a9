"""What a file lacks against one that stands before it: two ledgers, line by line."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from whence.answer import Ranked
from whence.explain.why import totals
from whence.index.arrayfile import Array
from whence.index.rows import member
from whence.rank.ledger import Line


@dataclass(frozen=True, slots=True)
class Gap:
    """What one signal makes of two files: how much it changes the score of each, and why."""

    signal: str
    mine: float
    theirs: float
    because_mine: str
    because_theirs: str


@dataclass(frozen=True, slots=True)
class Rival:
    """A file that stands before another, and what makes the difference, the largest first."""

    path: str
    place: int  # from 1
    score: float
    gaps: tuple[Gap, ...]  # together they are the difference of the scores


def rival_of(units: Array, ranked: Ranked, shown: int) -> Rival | None:
    """The last of the files that are shown, or the first where the file of some units is shown; None for the first itself."""
    pool, scores = ranked.pool, ranked.ledger.scores()
    rows = np.flatnonzero(member(pool.units, np.sort(units)))
    row = int(rows[np.argmax(scores[rows])])
    at = next((place for place, hit in enumerate(ranked.hits) if hit.file == int(pool.files[row])), len(ranked.hits))
    place = 0 if at < shown else shown - 1
    if at == 0:
        return None
    other = ranked.hits[place]
    gaps = _gaps(ranked.ledger.lines(row), ranked.ledger.lines(other.row))
    return Rival(pool.path(other.row), place + 1, other.score, tuple(sorted(gaps, key=lambda gap: -abs(gap.theirs - gap.mine))))


def _gaps(mine: list[Line], theirs: list[Line]) -> list[Gap]:
    return [
        Gap(one.signal, my, their, one.because, other.because)
        for one, other, my, their in zip(mine, theirs, _changes(mine), _changes(theirs), strict=True)
        if my != their
    ]


def _changes(lines: list[Line]) -> list[float]:
    """How much each line changes the score."""
    return [after - before for before, after in pairwise([0.0, *totals(lines)])]

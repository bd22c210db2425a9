"""Why a symbol stands where it stands among those for a task (E1)."""

from __future__ import annotations

import numpy as np

from whence.context.pipeline import RankedSymbols
from whence.core.errors import UsageError
from whence.ranking.receipt import Why, WhyLine, retrievals, scores_without
from whence.storage.arrayfile import Array
from whence.storage.rows import is_member


def explain_symbol(task: str, units: Array, ranked: RankedSymbols) -> Why:
    """Read the receipt of a symbol off the answer to a task whose pool holds at least one of some units."""
    pool, scores = ranked.pool, ranked.scores
    rows = np.flatnonzero(is_member(pool.units, np.sort(units)))
    if not len(rows):
        raise UsageError("what has no place in the source is not ranked", hint="ask for a symbol that is defined here")
    row = int(rows[np.argmax(scores[rows])])
    unit, leader = int(pool.units[row]), ranked.order[0]

    def rank(totals: Array) -> int:
        return 1 + int((totals[ranked.order] > totals[row]).sum())

    return Why(
        query=task,
        path=pool.path(row),
        unit=pool.snapshot.symbols.written_name(unit),
        kind=pool.snapshot.kind(unit),
        line=int(pool.snapshot.column("units.first")[unit]),
        rank=ranked.order.index(row) + 1 if row in ranked.order else rank(scores),
        candidates=len(ranked.order),
        score=float(scores[row]),
        found_by=tuple(retrievals(pool, [row])),
        lines=tuple(WhyLine(line, rank(scores_without(line.signal, pool, ranked.ledger))) for line in ranked.ledger.lines(row)),
        leader=pool.snapshot.symbols.written_name(int(pool.units[leader])),
        leader_score=float(scores[leader]),
        leader_is_symbol=True,
    )

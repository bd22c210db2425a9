"""It defines a word of the query (R3)."""

from __future__ import annotations

import numpy as np

from whence.index.segment_writer import DEFINES
from whence.ranking.ledger import Column
from whence.ranking.pool import CandidatePool
from whence.ranking.registry import Phase, signal
from whence.text.analyzer import terms


@signal(Phase.DEFINITION, relative=True)
def definition_boost(pool: CandidatePool) -> Column:
    """A share of the best score when a word of the query is the name of the unit, or a part of it; runs of lines define nothing."""
    asked = {part.stem for part in pool.plan.parts} | {term.text for term in pool.plan.terms}
    defines = pool.snapshot.column("units.flags")[pool.units] & DEFINES > 0
    names = [pool.snapshot.unit_name(unit) if ok else "" for unit, ok in zip(pool.units.tolist(), defines.tolist(), strict=True)]
    values = np.array([float(any(term in asked for term in terms(name))) for name in names])
    return Column(values, lambda row: f"defines {names[row]}" if values[row] else "defines no word of the query")

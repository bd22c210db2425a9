import numpy as np

from whence.index.segment import DEFINES
from whence.ranking.ledger import Column, Phase, signal
from whence.ranking.pool import CandidatePool
from whence.text.analyzer import terms


@signal(Phase.DEFINITION, relative=True)
def definition_boost(pool: CandidatePool) -> Column:
    """Boost, as a share of the best score, if the unit's name or a part of it is a word of the query."""
    asked = {part.stem for part in pool.plan.parts} | {term.text for term in pool.plan.terms}
    defines = pool.snapshot.column("units.flags")[pool.units] & DEFINES > 0
    names = [pool.snapshot.unit_name(unit) if ok else "" for unit, ok in zip(pool.units.tolist(), defines.tolist(), strict=True)]
    values = np.array([float(any(term in asked for term in terms(name))) for name in names])
    return Column(values, lambda row: f"defines {names[row]}" if values[row] else "defines no word of the query")

import numpy as np

from whence.ranking.ledger import Column, Phase, signal
from whence.ranking.pool import CandidatePool


@signal(Phase.COHERENCE, relative=True)
def coherence_boost(pool: CandidatePool) -> Column:
    """Boost for each file's best unit, as a share of the best score.

    It grows with the summed scores of the file's units, relative to the highest such sum.
    """
    owner = np.searchsorted(pool.distinct_files, pool.files)
    total = np.bincount(owner, weights=np.nan_to_num(pool.scores), minlength=len(pool.distinct_files))
    order = np.lexsort((-np.nan_to_num(pool.scores), owner))
    best = order[np.flatnonzero(np.diff(owner[order], prepend=-1))]
    values = np.zeros(len(pool.units))
    values[best] = total[owner[best]] / max(float(total.max(initial=0.0)), 1e-9)
    return Column(
        values,
        lambda row: f"its units together have {values[row]:.0%} of the fullest file's score" if values[row] else "not the file's best unit",
    )

import numpy as np

from whence.index.segment import lead_hash
from whence.ranking.ledger import Column, signal
from whence.ranking.pool import CandidatePool, relative_to_best
from whence.storage.postings import distinct, ranges

#: How many different hashes of a term there are.
LEAD_HASHES = 1 << 16


@signal()
def lead(pool: CandidatePool) -> Column:
    """How much of the query the first 250 letters of the symbol's leading comment hold, relative to the best of the pool."""
    snapshot = pool.snapshot
    owner, at = ranges(snapshot.lead_starts, pool.units)
    hashes = snapshot.column("leads.term")[at]
    worth = np.zeros(LEAD_HASHES)
    for found in pool.statistics.terms:
        worth[lead_hash(found.term.text)] += found.term.weight * found.unit_idf
    spoken = worth[hashes] > 0
    once = distinct(owner[spoken] * LEAD_HASHES + hashes[spoken])
    total = np.bincount(once // LEAD_HASHES, worth[once % LEAD_HASHES], minlength=len(pool.units))
    values = relative_to_best(total / (total + 1))
    return Column(values, lambda row: f"{values[row]:.0%} of the best comment" if values[row] else "its comment does not speak of it")

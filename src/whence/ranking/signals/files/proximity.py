import numpy as np

from whence.ranking.ledger import Column, signal
from whence.ranking.pool import CandidatePool
from whence.storage.postings import is_member


@signal()
def proximity(pool: CandidatePool) -> Column:
    """The share of neighbouring words of the query that occur in one window of the file; pairs with an absent word are skipped."""
    pairs = pool.statistics.close_files
    values = np.zeros(len(pool.distinct_files))
    for files in pairs:
        values += is_member(pool.distinct_files, files)
    found = pool.by_file(values / len(pairs) if pairs else values)
    return Column(found, lambda row: f"{found[row]:.0%} of the neighbouring words stand together")

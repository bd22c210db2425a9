import numpy as np

from whence.ranking.ledger import Column, signal
from whence.ranking.pool import CandidatePool


@signal()
def centrality(pool: CandidatePool) -> Column:
    """How many other files mention a name that this file defines, as ln(1 + files).

    Names that more than two other files also define do not count.
    """
    count = pool.by_file(pool.snapshot.centrality[pool.distinct_files])
    return Column(np.log1p(count), lambda row: f"{count[row]} files mention what it defines")

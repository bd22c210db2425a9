import numpy as np

from whence.ranking.ledger import Column, signal
from whence.ranking.pool import CandidatePool


@signal()
def old_version(pool: CandidatePool) -> Column:
    """1 for files in a `vN/` folder next to a newer version, unless a short query mentions versions.

    Newer is a folder with a higher N, or a file of the same name outside such folders.
    """
    if pool.plan.asks_for("old_version"):
        return Column(np.zeros(len(pool.units)), lambda _: "the query speaks of versions")
    values = pool.by_file(pool.snapshot.outdated[pool.distinct_files]).astype(np.float64)
    return Column(values, lambda row: "there is a newer version" if values[row] else "no older version")

import numpy as np

from whence.ranking.ledger import Column, signal
from whence.ranking.pool import CandidatePool
from whence.retrieval.exact import definition_worth


@signal()
def defines(pool: CandidatePool) -> Column:
    """For a query that is a single name: 1 if the file defines a type or top-level unit of that name, 0.6 if a member."""
    values = np.zeros(len(pool.units))
    if pool.plan.symbol:
        rows = pool.snapshot.definitions(pool.plan.symbol)
        worth = definition_worth(pool.snapshot, rows)
        for file in set(pool.snapshot.file_of_unit[rows].tolist()):
            values[pool.files == file] = worth[pool.snapshot.file_of_unit[rows] == file].max()
    return Column(values, lambda row: f"defines {pool.plan.symbol}" if values[row] else "defines no name that was asked for")

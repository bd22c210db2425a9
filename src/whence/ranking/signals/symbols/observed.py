import numpy as np

from whence.ranking.ledger import Column, signal
from whence.ranking.pool import CandidatePool
from whence.storage.arrayfile import Array
from whence.storage.postings import ranges

DAY = 86_400.0
#: Observed at most so many days ago: so much; longer ago, and never.
BY_DAYS = ((1, 1.0), (7, 0.8), (30, 0.5))
LONG_AGO = 0.2
NEVER = 0.3


@signal()
def observed(pool: CandidatePool) -> Column:
    """How recently the symbol was seen at run time: 1.0 within a day, 0.8 within 7, 0.5 within 30, else 0.2; 0.3 if never (S1)."""
    seen, now = _last_seen(pool), pool.seed_scores.now if pool.seed_scores is not None else 0.0
    days = (now - seen) / DAY
    recent = np.select([days <= limit for limit, _ in BY_DAYS], [worth for _, worth in BY_DAYS], LONG_AGO)
    values = np.where(seen > 0, recent, NEVER)
    return Column(values, lambda row: f"last seen to run {max(days[row], 0):.0f} days ago" if seen[row] else "never seen to run")


def _last_seen(pool: CandidatePool) -> Array:
    """When an edge of each candidate was last observed; 0 where none was."""
    seen, graph = np.zeros(len(pool.units)), pool.graph
    if graph is None or not graph.seen.any():
        return seen
    place, edges = ranges(graph.starts, pool.units)
    np.maximum.at(seen, place, graph.seen[edges])
    place, at = ranges(graph.in_starts, pool.units)
    np.maximum.at(seen, place, graph.seen[graph.in_edges[at]])
    return seen

from whence.ranking.ledger import Column, signal
from whence.ranking.pool import CandidatePool, relative_to_best
from whence.retrieval.lexical import mass as window_mass


@signal()
def mass(pool: CandidatePool) -> Column:
    """How much of the file is about the query, relative to the best file.

    It sums the ten best windows of 800 bytes, each later one counting less.
    """
    values = pool.by_file(relative_to_best(window_mass(pool.statistics, pool.distinct_files)))
    return Column(values, lambda row: f"{values[row]:.0%} of the fullest file")

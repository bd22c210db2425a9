from whence.ranking.ledger import Column, signal
from whence.ranking.pool import CandidatePool


@signal()
def directory_fit(pool: CandidatePool) -> Column:
    """The share of the words in the two nearest folder names that the query contains, weighted by idf."""
    values = pool.by_file(pool.path_match.directory_fit(pool.distinct_files))
    return Column(values, lambda row: f"folder {pool.path(row).rpartition('/')[0] or '.'}")

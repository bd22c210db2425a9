from whence.ranking.ledger import Column, signal
from whence.ranking.pool import CandidatePool


@signal()
def stem_fit(pool: CandidatePool) -> Column:
    """How well the file's name fits the query, in both directions: how much of each the other matches.

    Words match if equal, by stem, as prefix or synonym, weighted by idf.
    """
    values = pool.by_file(pool.path_match.stem_fit(pool.distinct_files))
    return Column(values, lambda row: f"name {pool.path(row).rsplit('/', 1)[-1]}")

from whence.ranking.ledger import Column, signal
from whence.ranking.pool import CandidatePool


@signal()
def precedent(pool: CandidatePool) -> Column:
    """How much the file was changed by commits with messages like the query, relative to the file changed most."""
    values = pool.by_file(pool.commits.of_files(pool.distinct_files))
    return Column(values, lambda row: f"{values[row]:.0%} of the most" if values[row] else "no commit like this")

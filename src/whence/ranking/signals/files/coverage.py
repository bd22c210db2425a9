import numpy as np

from whence.ranking.ledger import Column, signal
from whence.ranking.pool import CandidatePool
from whence.storage.postings import is_member


@signal()
def coverage(pool: CandidatePool) -> Column:
    """The share of the query's words that the file holds in its text or path, weighted by idf."""
    total, held = 0.0, np.zeros(len(pool.distinct_files))
    for found in pool.statistics.terms:
        if not found.term.whole:
            weight = found.term.weight * found.file_idf
            total += weight
            held += weight * (is_member(pool.distinct_files, found.files) | is_member(pool.distinct_files, found.paths[0]))
    values = pool.by_file(held / total if total else held)
    return Column(values, lambda row: f"holds {values[row]:.0%} of the query, by rarity")

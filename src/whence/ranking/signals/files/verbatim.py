import numpy as np

from whence.ranking.ledger import Column, signal
from whence.ranking.pool import CandidatePool
from whence.storage.postings import is_member
from whence.text.bm25 import idf


@signal()
def verbatim(pool: CandidatePool) -> Column:
    """The share of the query's words of four or more letters that the file contains exactly as written, weighted by idf."""
    total, values = 0.0, np.zeros(len(pool.distinct_files))
    for word in pool.plan.exact:
        files = pool.snapshot.files_with_word(word)
        weight = idf(pool.snapshot.live_files, pool.snapshot.count_files_with_word(word))
        total += weight
        values += weight * is_member(pool.distinct_files, files)
    shares = pool.by_file(values / total if total else values)
    return Column(shares, lambda row: f"{shares[row]:.0%} of the words as written, by rarity")

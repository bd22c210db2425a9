import numpy as np

from whence.ranking.ledger import Column, signal
from whence.ranking.pool import CandidatePool
from whence.storage.postings import is_member

#: A word singles a file out when at most this many hold it, and at most this share of all.
MOST_FILES = 3
MOST_SHARE = 1 / 200


@signal()
def only_here(pool: CandidatePool) -> Column:
    """1 / n if the file holds a word of the query that only n files hold; n is at most 3."""
    values, rarest = np.zeros(len(pool.distinct_files)), np.full(len(pool.distinct_files), -1)
    most = min(MOST_FILES, pool.snapshot.live_files * MOST_SHARE)
    for number, found in enumerate(pool.statistics.terms):
        if 0 < found.holders <= most:
            better = is_member(pool.distinct_files, found.files) & (values < 1 / found.holders)
            values[better], rarest[better] = 1 / found.holders, number
    worth, word = pool.by_file(values), pool.by_file(rarest)

    def because(row: int) -> str:
        if not worth[row]:
            return "holds no word that singles it out"
        found = pool.statistics.terms[int(word[row])]
        return f"{found.term.text} is in {found.holders} file{'s' if found.holders > 1 else ''} only"

    return Column(worth, because)

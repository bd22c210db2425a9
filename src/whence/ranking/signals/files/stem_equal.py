import numpy as np

from whence.index.segment import name_hash
from whence.ranking.ledger import Column, signal
from whence.ranking.pool import CandidatePool


@signal()
def stem_equal(pool: CandidatePool) -> Column:
    """1 if the file's name is a word of the query, or two or three neighbouring words joined; singular or plural."""
    joined = pool.plan.joined
    wanted = {name_hash(word) for word in joined}
    singular = wanted | {name_hash(word[:-1]) for word in joined if word.endswith("s")}
    stems, without_s = pool.column("files.stem").tolist(), pool.column("files.singular_stem").tolist()
    values = np.array([float(one in singular or other in wanted) for one, other in zip(stems, without_s, strict=True)])
    return Column(values, lambda row: "the file's name is in the query" if values[row] else "the file's name is not a word of the query")

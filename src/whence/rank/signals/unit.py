"""The best piece of the file."""

from __future__ import annotations

import numpy as np

from whence.fuse.pool import Pool
from whence.rank.ledger import Column
from whence.rank.registry import signal
from whence.rank.terms import coverage, relative_to_best, spoken_terms


@signal()
def unit(pool: Pool) -> Column:
    """How well one unit speaks of the query.

    BM25 over its name, enclosing names, signature, doc, body and path; 1 is the best of the pool.
    """
    matrix = pool.matrix()
    weight = np.array([found.term.weight * found.unit_rarity for found in pool.evidence.terms])
    scores = weight @ (matrix / (matrix + pool.profile.fields.saturation)) * coverage(pool)
    return Column(relative_to_best(scores), lambda row: spoken_terms(pool, row))

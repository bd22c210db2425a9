import numpy as np

from whence.core.types import AST, PROVENANCES
from whence.graph.reader import PARSED_CONFIDENCE
from whence.ranking.ledger import Column, signal
from whence.ranking.pool import CandidatePool
from whence.storage.postings import first_of_each, ranges


@signal()
def confidence(pool: CandidatePool) -> Column:
    """The highest confidence of an edge that ends at the symbol; edges found by the parser count at most 0.7 (S1, W2)."""
    values = np.zeros(len(pool.units))
    if pool.graph is not None:
        place, at = ranges(pool.graph.in_starts, pool.units)
        edges = pool.graph.in_edges[at]
        sure, parsed = pool.graph.confidence[edges], pool.graph.provenance[edges] == PROVENANCES.index(AST)
        first = first_of_each(place)
        if len(first):
            values[place[first]] = np.maximum.reduceat(np.where(parsed, np.minimum(sure, PARSED_CONFIDENCE), sure), first)
    return Column(values, lambda row: f"its surest edge has confidence {values[row]:.2f}" if values[row] else "no edge ends here")

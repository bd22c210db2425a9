"""Units like a given one: near in meaning, and speaking of the same rare words (Q9)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

import numpy as np

from whence.core.profiles import RELATED
from whence.embed.encoder import UnitText
from whence.query.plan import QueryPlan, make_plan
from whence.ranking.ledger import score
from whence.ranking.pool import DENSE, CandidatePool, FileHit, union
from whence.retrieval import lexical
from whence.retrieval.dense import DenseMatches
from whence.retrieval.files import CommitMatches, PathMatch
from whence.retrieval.filters import file_mask, unit_mask
from whence.retrieval.lexical import FieldWeights, TermStatistics
from whence.search.pipeline import RankedFile, RankedPool, SearchRun, within
from whence.storage.arrayfile import Array
from whence.text import analyzer
from whence.text.analyzer import QUERY_STOP_WORDS
from whence.text.bm25 import idf

#: Words of a unit that stand for it: those that are frequent in it and rare elsewhere.
MOST_WORDS = 24


@dataclass(frozen=True, slots=True)
class RelatedQuery:
    """The unit that others are to be like."""

    unit: int
    names: str
    body: str


def related(example: RelatedQuery, run: SearchRun) -> list[RankedFile]:
    """The units most like another, best first; what lies in it or around it is no answer."""
    run = replace(run, profile=RELATED, weights=FieldWeights.of(RELATED))
    plan = _telling_words(example, run)
    statistics = TermStatistics(run.snapshot, plan, RELATED, run.weights)
    allowed = _others(example.unit, run)
    request = run.request
    count = max(run.pool, request.k * run.pool_per_result)
    found = {"words": lexical.best_units(statistics, count, allowed)} if request.strategy != "vector" else {}
    dense = _dense_of(example, run)
    if dense is not None and request.strategy != "lexical":
        passages, scores = dense.nearest(count, allowed)
        found[DENSE] = dense.units_of(passages, scores, statistics.unit_scores, allowed)
    if request.max_distance is not None:
        found = within(found, request.max_distance)
    units, retrieved = union(found)
    pool = CandidatePool(
        statistics, PathMatch(statistics), units, retrieved, 0, np.zeros(len(units)), CommitMatches(run.snapshot, plan), dense
    )
    ledger = score(pool)
    totals = ledger.scores()
    ranked = RankedPool(pool, ledger, [])
    order = np.argsort(-totals, kind="stable")[: request.k]
    return [RankedFile(ranked, FileHit(int(pool.files[row]), row, float(totals[row])), alone=True) for row in order.tolist()]


def _telling_words(example: RelatedQuery, run: SearchRun) -> QueryPlan:
    """The words by which a unit can be told: counted in it, weighed by how few units hold them."""
    snapshot = run.snapshot
    counts = Counter(word for word in analyzer.words(f"{example.names} {example.body}") if analyzer.parts(word))

    def worth(word: str) -> float:
        rows = snapshot.find_term(analyzer.terms(word)[-1])
        return (1 + float(np.log(counts[word]))) * idf(snapshot.live_units, len(snapshot.unit_postings(rows)[0]))

    telling = sorted((word for word in counts if word.lower() not in QUERY_STOP_WORDS), key=lambda word: (-worth(word), word))
    return make_plan(" ".join(telling[:MOST_WORDS]) or example.names or "unit", decay=RELATED.decay, quoted=RELATED.quoted)


def _others(unit: int, run: SearchRun) -> Array:
    """A mask of the units that may be answers."""
    snapshot = run.snapshot
    allowed = snapshot.unit_mask(file_mask(snapshot, run.request.filters)).copy()
    kinds = unit_mask(snapshot, run.request.filters)
    if kinds is not None:
        allowed &= kinds
    file = int(snapshot.file_of_unit[unit])
    here = slice(int(snapshot.unit_starts[file]), int(snapshot.unit_starts[file + 1]))
    first, last = snapshot.column("units.first"), snapshot.column("units.last")
    apart = (first[here] > last[unit]) | (last[here] < first[unit])
    allowed[here] &= apart
    return allowed


def _dense_of(example: RelatedQuery, run: SearchRun) -> DenseMatches | None:
    """The unit as a question; its path is left out, or its neighbours would always be nearest."""
    view = run.snapshot.vectors
    if run.encoder is None or view is None:
        return None
    vectors = run.encoder.encode_units([UnitText("", example.names, example.body.encode("utf-8", "replace"))])
    dense = DenseMatches(run.snapshot, view, vectors, example=example.unit)
    return None if dense.is_empty else dense

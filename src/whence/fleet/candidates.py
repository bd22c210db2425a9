"""Which files of a fleet could answer a question: found by the engine, by words, sketches, paths, names and past commits.

Each way gives files in an order; what stands high in any of them is fetched and ranked. Nothing is weighed here.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

import numpy as np

from whence.embed.encoder import Encoder
from whence.fleet.milvus.engine import Engine, EngineHit
from whence.fleet.milvus.filters import EVERYTHING, Filter, equals
from whence.fleet.remote_reader import TermCounts
from whence.fleet.rows import file_key
from whence.index.segment_writer import name_hash
from whence.query.plan import QueryPlan
from whence.retrieval.commits import COMMIT_DECAY, USUAL_TERMS
from whence.retrieval.dense import MAX_ENCODED
from whence.storage.arrayfile import Array
from whence.text.bm25 import idf

#: Files that are fetched and ranked: at least so many, and so many for each that is wanted.
FILES, FILES_EACH = 48, 4
#: Rows that each way gives, for each file that is fetched.
UNITS, PASSAGES, PATHS, COMMITS, NAMES = 3.0, 3.0, 0.5, 60, 100
#: What a place is worth to which file is fetched: as in the fusion of ranks.
RANK_CONSTANT = 60
#: Terms of a question that the engine is asked for, the weightiest: a pasted document has thousands.
MOST_TERMS = 40
#: A term is told to the engine as often as it weighs, up to so many times.
MOST_TIMES = 4


@dataclass(frozen=True, slots=True)
class Candidates:
    """Files that could answer by their keys, the likeliest first, and what past commits say of some."""

    files: list[str] = field(default_factory=list)
    precedents: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CandidateFilter:
    """What the engine itself is to leave out: of every row, and of rows of files and units by what they hold."""

    access: Filter  # whose rows may be seen at all, and of which repositories
    content: Filter = EVERYTHING  # by language and content


def find_candidates(
    engine: Engine,
    plan: QueryPlan,
    narrowing: CandidateFilter,
    encoder: Encoder | None,
    wanted: int,
    counts: TermCounts,
    names: Sequence[str] = (),
) -> Candidates:
    """The files that stand highest in any of the ways to find them; those that define some names before all others.

    The engine weighs words by all rows it has, also by those that the caller may not see. So only its order is taken,
    and of no score of its own does anything come into an answer.
    """
    count = max(FILES, FILES_EACH * wanted)
    both = narrowing.access & narrowing.content
    words = _told(plan)
    ways: list[Iterable[str]] = [
        _files(engine.search_words("units", words, int(UNITS * count), both)),
        _files(engine.search_words("files", words, int(PATHS * count), both & equals("part", 0))),
    ]
    if encoder is not None and plan.terms:
        ways.append(_files(engine.search_bits("passages", _sketch(encoder, plan), int(PASSAGES * count), narrowing.access)))
    for name in dict.fromkeys(names):
        named = islice(engine.rows("units", both & equals("name", name), ("file",)), NAMES)
        ways.insert(0, dict.fromkeys(row["file"] for row in named))
    if plan.symbol and plan.symbol not in names:  # who has the name has its words: postings are walked, not all rows
        ways.insert(0, _files(engine.search_words("units", words, NAMES, both & equals("name", plan.symbol))))
    commits = engine.search_words("commits", words, COMMITS, narrowing.access, ("repo", "touched", "terms", "words"))
    past, precedents = _touched(commits, _worth(plan, counts))
    ways.append(past)
    return Candidates(_fused(ways)[:count], precedents)


def _told(plan: QueryPlan) -> str:
    """The terms of a question, each as often as it weighs against the others."""
    terms = sorted(plan.terms, key=lambda term: -term.weight)[:MOST_TERMS]
    least = min((term.weight for term in terms), default=1.0) or 1.0
    return " ".join(" ".join([term.text] * max(1, min(MOST_TIMES, round(term.weight / least)))) for term in terms)


def _sketch(encoder: Encoder, plan: QueryPlan) -> bytes:
    """The signs of what a question means, as the sketches of passages are made."""
    rows: Array = encoder.encode_query(plan.text[:MAX_ENCODED]).rows
    return np.packbits(rows.mean(axis=0) > 0).tobytes()


def _files(hits: Sequence[EngineHit]) -> Iterable[str]:
    """The files of rows, each where it first stands: a row's key begins with its file's."""
    return dict.fromkeys(hit.id.partition(".")[0] for hit in hits)


def _worth(plan: QueryPlan, counts: TermCounts) -> dict[str, float]:
    """What each term of a question is worth in the message of a commit: more the fewer files hold it."""
    held = {term.text: counts.terms.get(name_hash(term.text)) for term in plan.terms}
    return {term.text: term.weight * idf(counts.files, known.files if (known := held[term.text]) else 0) for term in plan.terms}


def _touched(hits: Sequence[EngineHit], worth_of: Mapping[str, float]) -> tuple[list[str], dict[str, float]]:
    """The files that commits like the question changed, the best first, and how much they are worth."""
    worths: dict[str, list[float]] = {}
    for hit in hits:
        paths = _paths(hit.fields["touched"])
        like = sum(worth_of.get(word, 0.0) for word in dict.fromkeys(hit.fields["words"].split()))
        worth = like / (0.5 + 0.5 * math.sqrt(max(hit.fields["terms"], 1) / USUAL_TERMS)) / math.sqrt(max(len(paths), 1))
        for path in paths:
            worths.setdefault(file_key(hit.fields["repo"], path), []).append(worth)
    sums = {key: sum(worth * COMMIT_DECAY**at for at, worth in enumerate(sorted(found, reverse=True))) for key, found in worths.items()}
    return sorted(sums, key=lambda key: (-sums[key], key)), sums


def _paths(touched: str) -> list[str]:
    try:
        found = json.loads(touched)
    except ValueError:
        return []
    return [path for path in found if isinstance(path, str)] if isinstance(found, list) else []


def _fused(ways: Sequence[Iterable[str]]) -> list[str]:
    worth: dict[str, float] = {}
    for way in ways:
        for place, key in enumerate(way):
            worth[key] = worth.get(key, 0.0) + 1 / (RANK_CONSTANT + place + 1)
    return sorted(worth, key=lambda key: (-worth[key], key))

"""One query over one snapshot, from words to ranked files. Reads top to bottom."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from whence.fuse.pool import Pool, union
from whence.index.arrayfile import Array
from whence.index.snapshot import Snapshot
from whence.query.plan import Plan
from whence.rank.collapse import Hit, collapse
from whence.rank.ledger import Ledger
from whence.rank.score import score
from whence.retrieve import lexical
from whence.retrieve.evidence import Evidence, FieldWeights
from whence.retrieve.paths import PathMatch
from whence.settings import Profile

Watch = Callable[[str, Pool, Array], None]
#: Files that other retrievers may add for each unit that the lexical one finds.
FILE_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class Scope:
    """What may be returned: a mask over files and one over units. None allows everything alive."""

    files: Array
    units: Array | None = None
    every_word: bool = False


@dataclass(frozen=True, slots=True)
class Ranked:
    """Candidates with their ledger, and the files they come to."""

    pool: Pool
    ledger: Ledger
    hits: list[Hit]


def rank(snapshot: Snapshot, plan: Plan, profile: Profile, weights: FieldWeights, scope: Scope, count: int, include: Array | None = None) -> Ranked:
    """Retrieve at least `count` candidates where there are as many, score them, collapse them by file.

    `include` names units that are ranked whether or not they were found, so that
    one can ask why a file is not in an answer.
    """
    evidence = Evidence(snapshot, plan, profile, weights)
    path_match = PathMatch(evidence)
    scope = _with_every_word(evidence, scope)
    found = _candidates(evidence, path_match, scope, count)
    if include is not None:
        found["asked"] = (include, np.zeros(len(include)))
    units, retrieved = union(found)
    shallow = snapshot.column("files.depth")[scope.files]
    pool = Pool(evidence, path_match, units, retrieved, int(shallow.min(initial=255)), np.zeros(len(units)))
    ledger = score(pool)
    return Ranked(pool, ledger, collapse(pool, ledger.scores()))


def _with_every_word(evidence: Evidence, scope: Scope) -> Scope:
    """Where every word is wanted, only files that hold them all (Q2)."""
    if not scope.every_word:
        return scope
    required = set(evidence.plan.required)
    files = scope.files.copy()
    for found in evidence.terms:
        if found.term.text in required:
            holds = np.zeros(len(files), bool)
            holds[found.files] = True
            files &= holds
    return Scope(files, scope.units, every_word=True)


def _candidates(evidence: Evidence, path_match: PathMatch, scope: Scope, count: int) -> dict[str, tuple[Array, Array]]:
    """What each retriever finds: units by their words; files by windows, paths and definitions, as their best unit."""
    snapshot = evidence.snapshot
    unit_scope = _unit_mask(snapshot, scope)
    found = {"words": lexical.best_units(evidence, count, unit_scope)}
    by_file = {
        "windows": lexical.best_windows(evidence, int(count * FILE_SHARE), scope.files),
        "paths": path_match.candidates(int(count * FILE_SHARE), scope.files),
    }
    for name, (files, scores) in by_file.items():
        units = lexical.best_unit_of(evidence, files)
        keep = unit_scope[units] if unit_scope is not None and len(units) else np.ones(len(units), bool)
        keep &= _holds_a_word(evidence, units) if scope.units is not None else True
        found[name] = (units[keep], scores[keep])
    if evidence.plan.symbol:
        units = snapshot.definitions(evidence.plan.symbol)
        units = units[unit_scope[units]] if unit_scope is not None and len(units) else units
        found["names"] = (units, np.ones(len(units)))
    return found


def _holds_a_word(evidence: Evidence, units: Array) -> Array:
    return evidence.unit_scores[units] > 0


def _unit_mask(snapshot: Snapshot, scope: Scope) -> Array | None:
    if scope.units is None and scope.files.all():
        return None
    by_file = np.repeat(scope.files, np.diff(snapshot.unit_starts))
    return by_file if scope.units is None else by_file & scope.units

"""One query over one snapshot, from words to ranked files. Reads top to bottom."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from whence.encode.encoder import Encoder
from whence.errors import QueryError, UsageError
from whence.fuse.pool import ASKED, MEANING, Pool, union
from whence.index.arrayfile import Array
from whence.index.rows import distinct, member
from whence.index.snapshot import Snapshot
from whence.pack.excerpt import concentration
from whence.parse.tokens import terms
from whence.profiles import Profile
from whence.query.options import FEWEST_WORDS_TO_RELAX, Options
from whence.query.plan import NOTHING, Plan, make_plan
from whence.rank.collapse import Hit, break_ties, collapse
from whence.rank.ledger import Ledger
from whence.rank.score import score
from whence.rank.tracing import place, trace_ranking
from whence.retrieve import lexical
from whence.retrieve.evidence import Evidence, FieldWeights
from whence.retrieve.filters import file_mask, unit_mask
from whence.retrieve.matches import ReadText, lines_in_units, matching_lines, units_with_lines
from whence.retrieve.past import Precedent
from whence.retrieve.paths import PathMatch
from whence.retrieve.semantic import Semantics, asked_of_vectors
from whence.trace import Trace

#: Files that other retrievers may add for each unit that the lexical one finds.
FILE_SHARE = 0.5
#: The same for files that past commits point at: they are few, and seldom the only ones to find a file.
PAST_SHARE = 0.1
#: An answer may need more candidates than are fetched at first: this much more each time.
DEEPER = 4
#: How much of a file is read to break a tie.
TIE_CHARACTERS = 200_000


@dataclass(frozen=True, slots=True)
class Asking:
    """Everything a query is asked with."""

    snapshot: Snapshot
    profile: Profile
    weights: FieldWeights
    options: Options
    pool: int
    pool_per_result: int
    read: ReadText
    encoder: Encoder | None = None
    trace: Trace | None = None
    include: Array | None = None  # units to rank whether or not they are found


@dataclass(frozen=True, slots=True)
class Scope:
    """What may be returned: a mask over files, and one over units where that is not enough."""

    files: Array
    units: Array | None = None
    every_word: bool = False


@dataclass(frozen=True, slots=True)
class Ranked:
    """Candidates with their ledger, and the files they come to."""

    pool: Pool
    ledger: Ledger
    hits: list[Hit]


@dataclass(frozen=True, slots=True)
class Found:
    """One file of the answer."""

    ranked: Ranked
    hit: Hit
    matched: str = ""  # the words that had to match, when some were let go (Q4)
    lines: tuple[int, ...] = ()  # lines that match the pattern
    alone: bool = False  # whether it is a unit by itself and does not stand for its file


def answer(query: str, asking: Asking) -> list[Found]:
    """The best files for a query, exactly k where that many match."""
    options = asking.options
    if not query.strip() and options.pattern is None:
        raise QueryError("the query is empty", hint="say what to search for, or give a pattern with -e")
    files = file_mask(asking.snapshot, options)
    units = unit_mask(asking.snapshot, options)
    lines: dict[int, list[int]] = {}
    if options.pattern is not None:
        lines = matching_lines(asking.snapshot, np.flatnonzero(files).tolist(), options.pattern, asking.read)
        if units is not None:
            lines = lines_in_units(asking.snapshot, lines, units)
        matching = units_with_lines(asking.snapshot, lines)
        units = matching if units is None else units & matching
    if not query.strip():
        return _in_path_order(asking, lines, units)
    scope = Scope(files, units, every_word=options.operator == "and")
    found = _relaxed(query, asking, scope) if options.relax_above is not None else _ask(query, asking, scope)
    return [replace(one, lines=tuple(lines.get(one.hit.file, ()))) for one in found]


def _plan(query: str, asking: Asking) -> Plan:
    return make_plan(query, decay=asking.profile.decay, quoted=asking.profile.quoted)


def _ask(query: str, asking: Asking, scope: Scope) -> list[Found]:
    """Rank ever more candidates until k files are found or there are no more."""
    plan, options = _plan(query, asking), asking.options
    count = max(asking.pool, options.k * asking.pool_per_result)
    while True:
        ranked = rank(asking, plan, scope, count)
        if len(ranked.hits) >= options.k or count >= asking.snapshot.units:
            break
        count *= DEEPER
    hits = _settled(ranked, asking)
    if asking.trace is not None:
        trace_stages(asking.trace, plan, ranked, hits)
    return [Found(ranked, hit) for hit in hits[: options.k]]


def ranked_with(query: str, asking: Asking, units: Array | None = None) -> Ranked:
    """The pool of a query that holds at least one of some units: as it was searched when they were found, else with them."""
    scope = Scope(file_mask(asking.snapshot, asking.options), unit_mask(asking.snapshot, asking.options))
    plan = _plan(query, asking)
    count = max(asking.pool, asking.options.k * asking.pool_per_result)
    if units is None:
        return rank(asking, plan, scope, count)
    allowed = units[scope.files[asking.snapshot.file_of_unit[units]]]
    if scope.units is not None:
        allowed = allowed[scope.units[allowed]]
    if not len(allowed):
        raise UsageError("what you ask about is outside what was searched", hint="drop the filters, or use --content all")
    ranked = rank(asking, plan, scope, count)
    if member(ranked.pool.units, np.sort(allowed)).any():
        return ranked
    return rank(replace(asking, include=allowed), plan, scope, count)


def _settled(ranked: Ranked, asking: Asking) -> list[Hit]:
    """Hits with ties broken, as far as they can reach the answer."""
    hits, k = ranked.hits, asking.options.k
    reach = k
    while reach < len(hits) and hits[reach].score == hits[k - 1].score:
        reach += 1
    asked = frozenset(term.text for term in ranked.pool.plan.terms)
    snapshot = asking.snapshot

    def concentrated(file: int) -> int:
        text = asking.read(snapshot.path(file))
        return concentration(text[:TIE_CHARACTERS], asked) if text else 0

    return [*break_ties(hits[:reach], concentrated, snapshot.path), *hits[reach:]]


def _relaxed(query: str, asking: Asking, scope: Scope) -> list[Found]:
    """Ask for all words, then for ever shorter beginnings; a file keeps the longest that it matches (Q4)."""
    distinct: dict[tuple[str, ...], str] = {}
    for word in _plan(query, asking).words:
        distinct.setdefault(terms(word), word)
    words = list(distinct.values())
    fewest = (asking.options.relax_above or 0) + 1
    lengths = [len(words)] if len(words) < FEWEST_WORDS_TO_RELAX else range(len(words), max(fewest, 1) - 1, -1)
    best: dict[int, Found] = {}
    for length in lengths or [len(words)]:
        for found in _ask(" ".join(words[:length]), asking, scope):
            best.setdefault(found.hit.file, replace(found, matched=" ".join(words[:length])))
    return list(best.values())[: asking.options.k]


def _in_path_order(asking: Asking, lines: dict[int, list[int]], units: Array | None) -> list[Found]:
    """A pattern alone: every file that matches, in the order of paths, as grep has it."""
    snapshot = asking.snapshot
    if not lines:
        return []
    plan = NOTHING
    evidence = Evidence(snapshot, plan, asking.profile, asking.weights)
    rows = np.flatnonzero(units) if units is not None else np.empty(0, np.int64)
    pool = Pool(evidence, PathMatch(evidence), rows, {}, 0, np.zeros(len(rows)), Precedent(snapshot, plan))
    ranked = Ranked(pool, Ledger(len(rows)), [])
    grouped: dict[int, int] = {}  # the first matching unit of each file
    for row, file in enumerate(pool.files.tolist()):
        grouped.setdefault(file, row)
    ordered = sorted(grouped, key=snapshot.path)
    return [Found(ranked, Hit(file, grouped[file], 0.0), lines=tuple(lines[file])) for file in ordered if file in lines][: asking.options.k]


def rank(asking: Asking, plan: Plan, scope: Scope, count: int) -> Ranked:
    """Retrieve about `count` candidates, score them, and collapse them by file."""
    snapshot = asking.snapshot
    evidence = Evidence(snapshot, plan, asking.profile, asking.weights)
    path_match = PathMatch(evidence)
    scope = _with_every_word(evidence, scope)
    semantics = asked_of_vectors(snapshot, asking.encoder, plan.text)
    precedent = Precedent(snapshot, plan)
    found = _candidates(evidence, path_match, precedent, scope, count) if asking.options.strategy != "vector" else {}
    if semantics is not None and asking.options.strategy != "lexical":
        found[MEANING] = _by_meaning(asking, semantics, evidence, _unit_mask(snapshot, scope), count)
    if asking.options.max_distance is not None:
        found = within(found, asking.options.max_distance)
    if asking.include is not None:
        found[ASKED] = (asking.include, np.zeros(len(asking.include)))
    units, retrieved = union(found)
    shallow = snapshot.column("files.depth")[scope.files]
    pool = Pool(evidence, path_match, units, retrieved, int(shallow.min(initial=255)), np.zeros(len(units)), precedent, semantics)
    ledger = score(pool)
    return Ranked(pool, ledger, collapse(pool, ledger.scores()))


def trace_stages(trace: Trace, plan: Plan, ranked: Ranked, hits: list[Hit]) -> None:
    """Write every stage of a query: what each retriever found, the pool after each signal, the answer."""
    pool = ranked.pool
    trace_ranking(trace, pool, ranked.ledger)
    scores = ranked.ledger.scores()
    final = [(*place(pool, hit.row), hit.score) for hit in hits]
    trace.stage("final", plan.text, final, not_finite=int((~np.isfinite(scores)).sum()), length=plan.length)


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


def _by_meaning(asking: Asking, semantics: Semantics, evidence: Evidence, allowed: Array | None, count: int) -> tuple[Array, Array]:
    """The units nearest in meaning, of k files where there are as many, whatever else finds candidates (F1).

    Something is always nearest: only what is nearer than chance counts, so that a word that does not exist finds nothing.
    """
    noise = asking.encoder.noise if asking.encoder is not None else 0.0
    while True:
        passages, scores = semantics.nearest(count, allowed, at_least=noise)
        units, similar = semantics.units_of(passages, scores, evidence.unit_scores, allowed)
        if len(passages) < count or len(distinct(evidence.snapshot.file_of_unit[units])) >= asking.options.k:
            return units, similar
        count *= DEEPER


def within(found: dict[str, tuple[Array, Array]], distance: float) -> dict[str, tuple[Array, Array]]:
    """Only what vectors found, and near enough: what words alone found has no distance (F1)."""
    units, similar = found.get(MEANING, (np.empty(0, np.int64), np.empty(0, np.float32)))
    near = np.sort(units[1 - similar <= distance])
    return {name: (rows[kept], scores[kept]) for name, (rows, scores) in found.items() for kept in (member(rows, near),)}


def _candidates(
    evidence: Evidence, path_match: PathMatch, precedent: Precedent, scope: Scope, count: int
) -> dict[str, tuple[Array, Array]]:
    """What each retriever finds: units by their words; files by windows, paths, past commits and definitions, as their best unit."""
    snapshot = evidence.snapshot
    unit_scope = _unit_mask(snapshot, scope)
    found = {"words": lexical.best_units(evidence, count, unit_scope)}
    by_file = {
        "windows": lexical.best_windows(evidence, int(count * FILE_SHARE), scope.files),
        "paths": path_match.candidates(int(count * FILE_SHARE), scope.files),
        "past": precedent.best_files(int(count * PAST_SHARE), scope.files),
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
    by_file = snapshot.units_of(scope.files)
    return by_file if scope.units is None else by_file & scope.units

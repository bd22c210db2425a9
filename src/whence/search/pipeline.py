"""One query over one reader: the stages from words to ranked files, top to bottom, and the `Searcher` that runs them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from whence.core.errors import QueryError, UsageError
from whence.core.profiles import RERANK, Profile
from whence.core.trace import Trace
from whence.embed.encoder import Encoder, is_shipped
from whence.index.reader import Reader, TextReader
from whence.index.segment import DEFINES
from whence.index.snapshot import Snapshot
from whence.query.filters import Filters
from whence.query.parser import Condition, Leaf, ParsedQuery
from whence.query.plan import EMPTY_PLAN, QueryPlan, make_plan
from whence.ranking.confidence import MAX_LEADING, Confidence, LeadingFiles, confidence_of, nothing_found
from whence.ranking.ledger import Ledger, score, trace_ranking
from whence.ranking.pool import DENSE, INCLUDED, CandidatePool, FileHit, break_ties, collapse, union
from whence.retrieval import lexical
from whence.retrieval.dense import DenseMatches, dense_matches
from whence.retrieval.exact import ExactMatches, find_exact
from whence.retrieval.files import CommitMatches, PathMatch
from whence.retrieval.filters import (
    Restriction,
    file_mask,
    lines_in_units,
    matching_lines,
    restrict,
    unit_mask,
    units_with_lines,
)
from whence.retrieval.lexical import FieldWeights, TermStatistics
from whence.search.request import ResolvedRequest, SearchRequest, check_profile
from whence.search.result import SearchResponse, SearchResult
from whence.source.read import strip_secrets
from whence.storage.arrayfile import Array
from whence.storage.postings import distinct, is_member, ranges
from whence.text.analyzer import terms
from whence.text.excerpt import concentration

if TYPE_CHECKING:
    from whence.query.patterns import Pattern
    from whence.ranking.receipt import Why
    from whence.ranking.rerank import UnitReranker
    from whence.search.explain import Absence, Rival
    from whence.search.related import RelatedQuery

#: Files that other retrievers may add for each unit that the lexical one finds.
FILE_SHARE = 0.5
#: The same for files that past commits point at: they are few, and seldom the only ones to find a file.
PAST_SHARE = 0.1
#: An answer may need more candidates than are fetched at first: this much more each time.
DEEPER = 4
#: Relaxation speaks of long queries; a short one is asked as it is (Q4).
FEWEST_WORDS_TO_RELAX = 4
#: How much of a file is read to break a tie.
TIE_CHARACTERS = 200_000


@dataclass(frozen=True, slots=True)
class SearchRun:
    """Everything a query is asked with."""

    snapshot: Snapshot
    profile: Profile
    weights: FieldWeights
    request: ResolvedRequest
    pool: int
    pool_per_result: int
    reader: TextReader
    encoder: Encoder | None = None
    trace: Trace | None = None
    reranker: UnitReranker | None = None
    units: Profile | None = None  # how the unit of a file that is shown is chosen; None: the best ranked one
    include: Array | None = None  # units to rank whether or not they are found
    restriction: Restriction | None = None  # what the conditions of the query leave


@dataclass(frozen=True, slots=True)
class SearchScope:
    """What may be returned: a mask over files, and one over units where that is not enough."""

    files: Array
    units: Array | None = None
    every_word: bool = False


@dataclass(frozen=True, slots=True)
class Retrieval:
    """What retrievers know of a query, however many candidates are fetched."""

    scope: SearchScope
    statistics: TermStatistics
    path_match: PathMatch
    commits: CommitMatches
    dense: DenseMatches | None
    exact: ExactMatches | None


@dataclass(frozen=True, slots=True)
class RankedPool:
    """Candidates with their ledger, and the files they come to."""

    pool: CandidatePool
    ledger: Ledger
    hits: list[FileHit]


@dataclass(frozen=True, slots=True)
class UnitChoice:
    """The unit of a file that answers, by its own evidence; it does not change the file's score."""

    unit: int
    ledger: Ledger
    row: int  # of the unit in the ledger


@dataclass(frozen=True, slots=True)
class RankedFile:
    """One file of the answer."""

    ranked: RankedPool
    hit: FileHit
    matched: str = ""  # the words that had to match, when some were let go (Q4)
    lines: tuple[int, ...] = ()  # lines that match the pattern
    shows_all: bool = False  # of these lines, as grep does; else so many at most
    max_count: int | None = None
    alone: bool = False  # whether it is a unit by itself and does not stand for its file
    choice: UnitChoice | None = None  # the unit to show, where another than the best ranked answers

    @property
    def unit(self) -> int:
        """The unit that is shown."""
        return self.choice.unit if self.choice is not None else int(self.ranked.pool.units[self.hit.row])


def leading_files(found: Sequence[RankedFile]) -> LeadingFiles:
    """The first files of an answer, however few of them were asked for."""
    ranked, first = found[0].ranked, found[0].hit
    hits = [first, *(hit for hit in ranked.hits[:MAX_LEADING] if hit.file != first.file)][:MAX_LEADING]
    return LeadingFiles(ranked.pool, ranked.ledger, hits, np.sort(np.array([one.hit.file for one in found])))


def answer(query: str, run: SearchRun) -> list[RankedFile]:
    """The best files for a query, exactly k where that many match."""
    request = run.request
    if not query.strip() and request.pattern is None and run.restriction is None:
        raise QueryError("the query is empty", hint="say what to search for, or give a pattern")
    scope = _scope(run)
    lines = run.restriction.lines if run.restriction is not None else {}
    if request.pattern is not None:
        scope, lines = _with_pattern(run, request.pattern, scope, lines)
    if not query.strip():
        return _listed(run, lines, scope)
    run = _with_named(run, scope)
    found = _relaxed(query, run, scope) if request.relax_above is not None else _ask(query, run, scope)
    return [replace(one, lines=tuple(lines.get(one.hit.file, ())), max_count=request.max_count) for one in found]


def _scope(run: SearchRun) -> SearchScope:
    """What may be returned by the options and the conditions of a query."""
    snapshot, every_word = run.snapshot, run.request.operator == "and"
    if run.restriction is None:
        return SearchScope(file_mask(snapshot, run.request.filters), unit_mask(snapshot, run.request.filters), every_word)
    units = run.restriction.units
    files = np.zeros(snapshot.files, bool)
    files[snapshot.file_of_unit[units]] = True
    whole = bool((snapshot.unit_mask(files) == units).all())  # only whole files are left out
    return SearchScope(files, None if whole else units, every_word)


def _with_named(run: SearchRun, scope: SearchScope) -> SearchRun:
    """Where units are asked for by name, all of them are ranked: words say which comes first, not which is there."""
    named = run.restriction.ordered if run.restriction is not None else None
    if named is None or scope.every_word or run.request.max_distance is not None:
        return run
    mask = _unit_mask(run.snapshot, scope)
    return replace(run, include=np.sort(named if mask is None else named[mask[named]]))


def _with_pattern(
    run: SearchRun, pattern: Pattern, scope: SearchScope, known: dict[int, list[int]]
) -> tuple[SearchScope, dict[int, list[int]]]:
    """What a pattern leaves of what may be returned, and the lines that match it or matched something before."""
    snapshot = run.snapshot
    lines = matching_lines(snapshot, scope.files, pattern, run.reader)
    if scope.units is not None:
        lines = lines_in_units(snapshot, lines, scope.units)
    matching = units_with_lines(snapshot, lines)
    both = {file: sorted({*numbers, *known.get(file, ())}) for file, numbers in lines.items()}
    return replace(scope, units=matching if scope.units is None else scope.units & matching), both


def _plan(query: str, run: SearchRun) -> QueryPlan:
    return make_plan(query, decay=run.profile.decay, quoted=run.profile.quoted)


def _ask(query: str, run: SearchRun, scope: SearchScope) -> list[RankedFile]:
    """The best files, ties broken."""
    plan, request = _plan(query, run), run.request
    ranked = _enough(run, plan, scope)
    hits = _settled(ranked, run)
    if run.trace is not None:
        trace_stages(run.trace, plan, ranked, hits)
    found = [RankedFile(ranked, hit) for hit in hits[: request.k]]
    return found if run.units is None else with_units(found, run.units, scope.units)


def with_units(found: list[RankedFile], profile: Profile, allowed: Array | None) -> list[RankedFile]:
    """Each file with the unit that answers, chosen among those that contain a word of the query or mean the same.

    What is found by name or as typed is shown where it is.
    """
    pool = found[0].ranked.pool if found else None
    if pool is None or pool.plan.symbol:
        return found
    as_typed = {int(pool.snapshot.file_of_unit[unit]) for unit in pool.exact.lines} if pool.exact is not None else set()
    files = {one.hit.file: one for one in found if one.hit.file not in as_typed}
    _, units = ranges(pool.snapshot.unit_starts, np.array(sorted(files), np.int64))
    best = np.array(sorted(one.unit for one in files.values()), np.int64)
    likely = (pool.statistics.unit_scores[units] > 0) & (True if allowed is None else allowed[units])
    choosing = pool.with_candidates(np.union1d(units[likely], best), {})
    ledger = score(choosing, profile.signals)
    chosen = {hit.file: UnitChoice(int(choosing.units[hit.row]), ledger, hit.row) for hit in collapse(choosing, ledger.scores())}
    return [replace(one, choice=chosen[one.hit.file]) if one.hit.file in files else one for one in found]


def _enough(run: SearchRun, plan: QueryPlan, scope: SearchScope) -> RankedPool:
    """Rank ever more candidates until k files are found or there are no more."""
    count = max(run.pool, run.request.k * run.pool_per_result)
    retrieval = _retrieval(run, plan, scope)
    while True:
        ranked = rank(run, retrieval, count)
        if len(ranked.hits) >= run.request.k or count >= run.snapshot.units:
            return ranked
        count *= DEEPER


def ranked_with(query: str, run: SearchRun, units: Array | None = None) -> RankedPool:
    """The pool of a query that holds at least one of some units: as it was searched when they were found, else with them."""
    scope, plan = _scope(run), _plan(query, run)
    if units is None:
        return rank(run, _retrieval(run, plan, scope), max(run.pool, run.request.k * run.pool_per_result))
    if run.request.pattern is not None:
        scope, _ = _with_pattern(run, run.request.pattern, scope, {})
    allowed = units[scope.files[run.snapshot.file_of_unit[units]]]
    if scope.units is not None:
        allowed = allowed[scope.units[allowed]]
    if not len(allowed):
        raise UsageError("what you ask about is outside what was searched", hint="drop the filters, or use --content all")
    run = _with_named(run, scope)
    ranked = _enough(run, plan, scope)
    if not is_member(ranked.pool.units, np.sort(allowed)).any():
        include = allowed if run.include is None else np.union1d(run.include, allowed)
        ranked = _enough(replace(run, include=include), plan, replace(scope, every_word=False))
    return replace(ranked, hits=_settled(ranked, run))


def _settled(ranked: RankedPool, run: SearchRun) -> list[FileHit]:
    """Hits with ties broken, as far as they can reach the answer."""
    hits, k = ranked.hits, run.request.k
    reach = k
    while reach < len(hits) and hits[reach].score == hits[k - 1].score:
        reach += 1
    asked = frozenset(term.text for term in ranked.pool.plan.terms)
    snapshot = run.snapshot

    def concentrated(file: int) -> int:
        text = run.reader.read_text(snapshot.path(file))
        return concentration(text[:TIE_CHARACTERS], asked) if text else 0

    return [*break_ties(hits[:reach], concentrated, snapshot.path), *hits[reach:]]


def _relaxed(query: str, run: SearchRun, scope: SearchScope) -> list[RankedFile]:
    """Ask for all words, then for ever shorter beginnings; a file keeps the longest that it matches (Q4)."""
    distinct: dict[tuple[str, ...], str] = {}
    for word in _plan(query, run).words:
        distinct.setdefault(terms(word), word)
    words = list(distinct.values())
    fewest = (run.request.relax_above or 0) + 1
    lengths = [len(words)] if len(words) < FEWEST_WORDS_TO_RELAX else range(len(words), max(fewest, 1) - 1, -1)
    best: dict[int, RankedFile] = {}
    for length in lengths or [len(words)]:
        for found in _ask(" ".join(words[:length]), run, scope):
            best.setdefault(found.hit.file, replace(found, matched=" ".join(words[:length])))
    return list(best.values())[: run.request.k]


def _listed(run: SearchRun, lines: dict[int, list[int]], scope: SearchScope) -> list[RankedFile]:
    """What is asked for without words: units by name surest first, all else in the order of paths, as grep has it."""
    snapshot, plan = run.snapshot, EMPTY_PLAN
    best = _one_of_each_file(run, lines, scope)
    if not best:
        return []
    statistics = TermStatistics(snapshot, plan, run.profile, run.weights)
    rows = np.sort(np.array(list(best.values()), np.int64))
    pool = CandidatePool(statistics, PathMatch(statistics), rows, {}, 0, np.zeros(len(rows)), CommitMatches(snapshot, plan))
    ranked = RankedPool(pool, Ledger(len(rows)), [])
    row_of = {unit: row for row, unit in enumerate(rows.tolist())}
    shown = list(best.items())[: run.request.k]
    most = run.request.max_count
    kept = {file: tuple(lines.get(file, ())[:most]) for file, _ in shown}
    return [RankedFile(ranked, FileHit(file, row_of[unit], 0.0), lines=kept[file], shows_all=True) for file, unit in shown]


def _one_of_each_file(run: SearchRun, lines: dict[int, list[int]], scope: SearchScope) -> dict[int, int]:
    """The files that are left, in the order of the answer, each with the unit that it is shown by."""
    snapshot, restriction = run.snapshot, run.restriction
    mask = _unit_mask(snapshot, scope)
    rows = np.flatnonzero(mask) if mask is not None else np.arange(snapshot.units)
    if restriction is None:
        best = _first_of_each_file(snapshot, rows)
        return {file: best[file] for file in sorted(best, key=snapshot.path) if file in lines}
    if restriction.ordered is not None:
        return _first_of_each_file(snapshot, restriction.ordered[is_member(restriction.ordered, rows)])
    length = snapshot.column("units.last")[rows].astype(np.int64) - snapshot.column("units.first")[rows]
    matched = np.isin(snapshot.file_of_unit[rows], list(lines))  # of these the narrowest unit, of others the first definition
    defines = (snapshot.column("units.flags")[rows] & DEFINES) > 0
    best = _first_of_each_file(snapshot, rows[np.lexsort((rows, np.where(matched, length, ~defines)))])
    return {file: best[file] for file in sorted(best, key=snapshot.path)}


def _first_of_each_file(snapshot: Snapshot, units: Array) -> dict[int, int]:
    found: dict[int, int] = {}
    for unit, file in zip(units.tolist(), snapshot.file_of_unit[units].tolist(), strict=True):
        found.setdefault(file, unit)
    return found


def _retrieval(run: SearchRun, plan: QueryPlan, scope: SearchScope) -> Retrieval:
    statistics = TermStatistics(run.snapshot, plan, run.profile, run.weights)
    scope = _with_every_word(statistics, scope, run.restriction.optional if run.restriction is not None else frozenset())
    by_text = "exact" in run.profile.signals and run.request.strategy != "vector"
    return Retrieval(
        scope,
        statistics,
        PathMatch(statistics),
        CommitMatches(run.snapshot, plan),
        dense_matches(run.snapshot, run.encoder, plan.text),
        find_exact(statistics, scope.files, run.reader.read_text) if by_text else None,
    )


def rank(run: SearchRun, retrieval: Retrieval, count: int) -> RankedPool:
    """Retrieve about `count` candidates, score them, and collapse them by file."""
    snapshot, scope, statistics = run.snapshot, retrieval.scope, retrieval.statistics
    path_match, commits, dense, exact = retrieval.path_match, retrieval.commits, retrieval.dense, retrieval.exact
    found = _candidates(statistics, path_match, commits, scope, count) if run.request.strategy != "vector" else {}
    if dense is not None and run.request.strategy != "lexical":
        found[DENSE] = _by_meaning(run, dense, statistics, _unit_mask(snapshot, scope), count)
    if exact is not None:
        found["exact"] = exact.candidates(_unit_mask(snapshot, scope))
    if run.request.max_distance is not None:
        found = within(found, run.request.max_distance)
    if run.include is not None:
        found[INCLUDED] = (run.include, np.zeros(len(run.include)))
    units, retrieved = union(found)
    shallow = snapshot.column("files.depth")[scope.files]
    pool = CandidatePool(
        statistics, path_match, units, retrieved, int(shallow.min(initial=255)), np.zeros(len(units)), commits, dense, exact
    )
    ledger = score(pool)
    hits = collapse(pool, ledger.scores())
    if run.reranker is not None and run.profile.weighs(RERANK):
        pool = run.reranker.look_at_files(pool, ledger.scores(), hits)
        ledger = score(pool, before=ledger)
        hits = collapse(pool, ledger.scores())
    return RankedPool(pool, ledger, hits)


def trace_stages(trace: Trace, plan: QueryPlan, ranked: RankedPool, hits: list[FileHit]) -> None:
    """Write every stage of a query: what each retriever found, the pool after each signal, the answer."""
    pool = ranked.pool
    trace_ranking(trace, plan.text, pool.retrieved, ranked.ledger, pool.location)
    scores = ranked.ledger.scores()
    final = [(*pool.location(hit.row), hit.score) for hit in hits]
    trace.stage("final", plan.text, final, not_finite=int((~np.isfinite(scores)).sum()), length=plan.length)


def _with_every_word(statistics: TermStatistics, scope: SearchScope, optional: frozenset[str]) -> SearchScope:
    """Where every word is wanted, only files that hold them all (Q2), but for those of which one is enough."""
    if not scope.every_word:
        return scope
    required = set(statistics.plan.required) - optional
    files = scope.files.copy()
    for found in statistics.terms:
        if found.term.text in required:
            holds = np.zeros(len(files), bool)
            holds[found.files] = True
            files &= holds
    return SearchScope(files, scope.units, every_word=True)


def _by_meaning(run: SearchRun, dense: DenseMatches, statistics: TermStatistics, allowed: Array | None, count: int) -> tuple[Array, Array]:
    """The units nearest in meaning, of k files where there are as many, whatever else finds candidates (F1).

    Something is always nearest: only what is nearer than chance counts, so that a word that does not exist finds nothing.
    """
    noise = run.encoder.noise if run.encoder is not None else 0.0
    while True:
        passages, scores = dense.nearest(count, allowed, at_least=noise)
        units, similar = dense.units_of(passages, scores, statistics.unit_scores, allowed)
        if len(passages) < count or len(distinct(statistics.snapshot.file_of_unit[units])) >= run.request.k:
            return units, similar
        count *= DEEPER


def within(found: dict[str, tuple[Array, Array]], distance: float) -> dict[str, tuple[Array, Array]]:
    """Only what vectors found, and near enough: what words alone found has no distance (F1)."""
    units, similar = found.get(DENSE, (np.empty(0, np.int64), np.empty(0, np.float32)))
    near = np.sort(units[1 - similar <= distance])
    return {name: (rows[kept], scores[kept]) for name, (rows, scores) in found.items() for kept in (is_member(rows, near),)}


def _candidates(
    statistics: TermStatistics, path_match: PathMatch, commits: CommitMatches, scope: SearchScope, count: int
) -> dict[str, tuple[Array, Array]]:
    """What each retriever finds: units by their words; files by windows, paths, past commits and definitions, as their best unit."""
    snapshot = statistics.snapshot
    unit_scope = _unit_mask(snapshot, scope)
    found = {"words": lexical.best_units(statistics, count, unit_scope)}
    by_file = {
        "windows": lexical.best_windows(statistics, int(count * FILE_SHARE), scope.files),
        "paths": path_match.candidates(int(count * FILE_SHARE), scope.files),
        "past": commits.best_files(int(count * PAST_SHARE), scope.files),
    }
    for name, (files, scores) in by_file.items():
        units = lexical.best_unit_of(statistics, files)
        keep = unit_scope[units] if unit_scope is not None and len(units) else np.ones(len(units), bool)
        keep &= statistics.unit_scores[units] > 0 if scope.units is not None else True
        found[name] = (units[keep], scores[keep])
    if statistics.plan.symbol:
        units = snapshot.definitions(statistics.plan.symbol)
        units = units[unit_scope[units]] if unit_scope is not None and len(units) else units
        found["names"] = (units, np.ones(len(units)))
    return found


def _unit_mask(snapshot: Snapshot, scope: SearchScope) -> Array | None:
    if scope.units is None and scope.files.all():
        return None
    by_file = snapshot.unit_mask(scope.files)
    return by_file if scope.units is None else by_file & scope.units


#: Said where the conditions of a query, and not its words, are why there is no answer.
NOTHING_LEFT = "nothing that is indexed meets these conditions"

#: The units that `sym:`, `callers:` or `callees:` stands for, surest first, and what is to be said of them.
NamedUnits = Callable[[ParsedQuery, Leaf], tuple[Array, Sequence[str]]]


@dataclass(frozen=True)
class Searcher:
    """Answers requests from one reader."""

    reader: Reader
    named_units: NamedUnits
    trace: Trace | None = None
    nothing_left: str = NOTHING_LEFT
    reranker: UnitReranker | None = None

    def search(self, request: SearchRequest) -> SearchResponse:
        """The best files for a request, best first: exactly k of them when that many match."""
        parsed = request.parsed
        run, notes = self.restricted(parsed, self.run_of(request))
        found = answer(parsed.text, run)
        removed: tuple[str, ...] = ()
        if self.nothing_left is NOTHING_LEFT and (not found or (request.is_narrowed and len(found) < run.request.k)):
            removed = self._removed(request, run, is_empty=not found)
        if run.restriction is not None and not run.restriction.units.any():
            return SearchResponse(notes=(*notes, *(removed or (self.nothing_left,))))
        results = (SearchResult(self.reader, one) for one in found)
        look = found[0].ranked.pool.second_look if found else None
        remarks = (*notes, *removed, *((look.remark,) if look is not None and look.remark else ()))
        return SearchResponse(results, confidence=self._confidence(parsed.text, found), notes=remarks, found=found)

    def _confidence(self, query: str, found: Sequence[RankedFile]) -> Confidence | None:
        """The confidence in an answer; None where the query has no words."""
        line = self.reader.settings.search.not_here
        if not query.strip():
            return None
        if not found:
            return nothing_found(query, line)
        return confidence_of(leading_files(found), line, shipped_model=is_shipped(self.reader.encoder))

    def _removed(self, request: SearchRequest, run: SearchRun, *, is_empty: bool) -> tuple[str, ...]:
        """What the filters and narrowing operators took from an answer that is empty or short."""
        from whence.search.explain import NARROWING, removed_note  # noqa: PLC0415  -- only where something may be missing

        parsed, snapshot, pattern = request.parsed, self.reader.snapshot, run.request.pattern
        if run.request.strategy == "vector" or (not is_empty and (pattern is not None or not parsed.text.strip())):
            return ()

        def left_by(conditions: Sequence[Condition]) -> Array:
            return self._restriction(parsed, conditions, snapshot.alive, None, []).units

        wanted = [one for one in parsed.conditions if isinstance(one, Leaf) and one.field in NARROWING]
        narrowing = [one for one in wanted if is_empty or not one.negated]  # nobody misses what they excluded
        units = left_by([one for one in parsed.conditions if one not in narrowing])
        if parsed.text.strip():
            statistics = TermStatistics(snapshot, _plan(parsed.text, run), run.profile, run.weights)
            scope = _with_every_word(statistics, replace(_scope(run), files=snapshot.alive), parsed.optional_terms)
            units = units & (statistics.unit_scores > 0) & snapshot.unit_mask(scope.files)
        if pattern is not None:
            files = np.zeros(snapshot.files, bool)
            files[snapshot.file_of_unit[units]] = True
            units = units & units_with_lines(snapshot, matching_lines(snapshot, files, pattern, run.reader))
        filters = run.request.filters
        if not is_empty:
            units = units & snapshot.unit_mask(file_mask(snapshot, Filters(exclude=filters.exclude)))
            filters = replace(filters, exclude=())
        in_default = units & snapshot.unit_mask(file_mask(snapshot, Filters(content=filters.content)))
        if request.content is None and request.is_narrowed and in_default.any():  # what was asked for removed the rest
            units, filters = in_default, replace(filters, content="all")
        said = removed_note(snapshot, units, filters, {str(one): left_by([one]) for one in narrowing})
        return (said,) if said else ()

    def find(self, target: str) -> Array:
        """The units that a target (a file, the end of a path, `file:line`, a symbol) stands for."""
        from whence.search.explain import find_target  # noqa: PLC0415  -- only where it is asked for

        return find_target(self.reader.snapshot, target)

    def why(self, request: SearchRequest, target: str) -> Why:
        """Why a file (or `file:line`, or a symbol) stands where it stands in the answer to a request."""
        from whence.search.explain import explain  # noqa: PLC0415  -- as above

        units, ranked = self._ranked_with(request, target)
        return explain(strip_secrets(request.query), units, ranked)

    def rival(self, request: SearchRequest, target: str) -> Rival | None:
        """What a file lacks against the last of k results, or against the first where it is one of them; None for the first."""
        from whence.search.explain import rival_of  # noqa: PLC0415  -- as above

        units, ranked = self._ranked_with(request, target)
        return rival_of(units, ranked, self.reader.settings.search.k if request.k is None else request.k)

    def absence(self, request: SearchRequest, units: Array) -> Absence | None:
        """Which condition keeps some units out of the answer to a request; None where none does."""
        from whence.search.explain import Absence, excluded_by  # noqa: PLC0415  -- as above

        snapshot, parsed = self.reader.snapshot, request.parsed
        filters = self.run_of(request).request.filters

        def left_by(conditions: Sequence[Condition]) -> Array:
            return self._restriction(parsed, conditions, snapshot.alive, None, []).units

        absence = excluded_by(units, snapshot, filters, parsed.conditions, left_by)
        if absence is None and request.compiled is not None:
            files = np.zeros(snapshot.files, bool)
            files[snapshot.file_of_unit[units]] = True
            lines = matching_lines(snapshot, files, request.compiled, self.reader)
            if not units_with_lines(snapshot, lines)[units].any():
                return Absence("kept_out", f"no line of it matches {request.pattern}", "drop -e")
        return absence

    def related(self, example: RelatedQuery, request: SearchRequest) -> list[SearchResult]:
        """Units like another, best first (Q9)."""
        from whence.search.related import related  # noqa: PLC0415  -- as above

        return [SearchResult(self.reader, found) for found in related(example, self.run_of(request))]

    def ranked(self, query: str, profile: Profile) -> RankedPool:
        """Every candidate of a query with its ledger, under a profile that need not be among the settings."""
        request = SearchRequest(query, plain=True)
        run = replace(self.run_of(request), profile=profile, weights=FieldWeights.of(profile))
        return ranked_with(request.parsed.text, run)

    def run_of(self, request: SearchRequest) -> SearchRun:
        """The request with everything its stages read."""
        reader, chosen = self.reader, self.reader.settings.search
        name = request.profile or chosen.profile
        check_profile(name)
        profile = reader.settings.profiles[name]
        return SearchRun(
            snapshot=reader.snapshot,
            profile=request.ranked_by(profile, name),
            weights=FieldWeights.of(profile),
            request=request.resolved(chosen, reader.snapshot.files),
            pool=chosen.pool,
            pool_per_result=chosen.pool_per_result,
            reader=reader,
            encoder=reader.encoder,
            trace=self.trace,
            reranker=self.reranker,
            units=reader.settings.profiles.get("units") if name == "default" else None,
        )

    def restricted(self, parsed: ParsedQuery, run: SearchRun) -> tuple[SearchRun, tuple[str, ...]]:
        """A run narrowed to what the operators of its query leave, and how the query was read."""
        if parsed.is_for_notes:
            raise UsageError(
                "in:notes asks for notes, and this is an index of files", hint="use Memory.recall, or whence search in a shell"
            )
        pasted = (parsed.paste_note,) if parsed.paste_note else ()
        if parsed.is_plain:
            return run, pasted
        notes: list[str] = []
        filters = run.request.filters
        files, units = file_mask(run.snapshot, filters), unit_mask(run.snapshot, filters)
        left = self._restriction(parsed, parsed.conditions, files, units, notes)
        return replace(run, restriction=replace(left, optional=parsed.optional_terms)), (*pasted, parsed.reading, *left.notes, *notes)

    def _restriction(
        self, parsed: ParsedQuery, conditions: Sequence[Condition], files: Array, units: Array | None, notes: list[str]
    ) -> Restriction:
        def named(leaf: Leaf) -> Array:
            found, remarks = self.named_units(parsed, leaf)
            notes.extend(remarks)
            return found

        return restrict(conditions, self.reader.snapshot, files, units, self.reader, named)

    def _ranked_with(self, request: SearchRequest, target: str) -> tuple[Array, RankedPool]:
        """The units that a target stands for, and the answer to a request with at least one of them in it."""
        parsed = request.parsed
        run, _ = self.restricted(parsed, self.run_of(request))
        if not parsed.text.strip():
            raise UsageError("a query without words ranks nothing", hint="add a word to ask why something comes first")
        units = self.find(target)
        return units, ranked_with(parsed.text, run, units)

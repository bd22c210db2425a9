"""Builds the context pack of a request: chooses the ranking, adds feedback, and records what was shown."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from whence.context.budget import PackHeader, PackItem
from whence.context.classic.pipeline import rank_classic
from whence.context.feedback.session import FeedbackSession, PendingFeedback, ReturnedSymbol
from whence.context.feedback.store import FeedbackStore
from whence.context.feedback.verdicts import boosts, learned_symbols
from whence.context.pack import ContextPack
from whence.context.pipeline import ContextRun, FeedbackOf, RankedSymbols, rank_symbols
from whence.context.request import ContextRequest, ResolvedContext
from whence.context.review import rank_changes, rank_files
from whence.core.errors import QueryError, StorageError, UsageError
from whence.core.trace import Trace
from whence.embed.encoder import is_shipped
from whence.graph.reader import Graph
from whence.index.reader import IndexReader
from whence.index.snapshot import Snapshot
from whence.query.filters import Filters
from whence.query.parser import clean_paste
from whence.ranking.confidence import Confidence
from whence.ranking.receipt import Why, WhyLine, retrievals, scores_without
from whence.retrieval.filters import file_mask, unit_mask
from whence.retrieval.lexical import FieldWeights
from whence.storage.arrayfile import Array
from whence.storage.postings import is_member
from whence.text.analyzer import QUERY_STOP_WORDS, words

if TYPE_CHECKING:
    from whence.context.sections import Review
    from whence.ranking.rerank import UnitReranker

#: Packs that are cached, the latest.
MAX_PACKS = 8
#: Symbols that learned words may lead to.
MAX_LEARNED = 40
#: The line for "not here" relative to that of searches: a task may ask for code that is yet to be written.
LINE_SHARE = 1 / 15
_HINT = "a larger budget gives more; callers, callees or search go on from a name"


class ContextBuilder:
    """Builds packs from one generation of an index and caches the latest (P4)."""

    def __init__(
        self,
        reader: IndexReader,
        graph: Graph,
        package_hash: Callable[[str], str],
        notes: list[str],
        trace: Trace | None = None,
        reranker: UnitReranker | None = None,
    ) -> None:
        self.graph, self._reranker = graph, reranker
        self._reader, self._package_hash, self._notes, self._trace = reader, package_hash, notes, trace
        self._packs: dict[tuple[ContextRequest, object], ContextPack] = {}
        self._store = FeedbackStore.beside(reader.layout.directory)

    def build(self, request: ContextRequest, now: float) -> ContextPack:
        """The pack of a request; the same one until the code or its feedback changes. What git knows of a change may change at any time."""
        key = (request, _version(self._store.path))
        if key in self._packs:
            return self._packs[key]
        if request.is_review:
            return self._reviewed(request, now)
        while len(self._packs) >= MAX_PACKS:
            del self._packs[next(iter(self._packs))]
        self._packs[key] = self._pack(request, self.rank(request, now), now)
        return self._packs[key]

    def _pack(
        self,
        request: ContextRequest,
        ranked: RankedSymbols,
        now: float,
        review: tuple[Sequence[PackItem], Mapping[str, float]] | None = None,
    ) -> ContextPack:
        return ContextPack(
            self._reader,
            ranked,
            PackHeader(request.title, _HINT, request.freshness),
            self._resolved(request),
            confidence=lambda: self._confidence(request, ranked),
            on_shown=lambda keys: self._record_shown(request, keys, now),
            shown_path=(lambda path: os.path.relpath(f"{self._reader.layout.root}/{path}", request.caller)) if request.caller else str,
            review=review,
        )

    def _reviewed(self, request: ContextRequest, now: float) -> ContextPack:
        from whence.context.sections import SHARES  # noqa: PLC0415  -- as below

        review = self._review(request)
        run = self._run("symbols_near", request, now, None)
        return self._pack(request, rank_changes(review.units, run), now, (review.items(), SHARES))

    def _review(self, request: ContextRequest) -> Review:
        from whence.context.changes import read_change, symbol_changes  # noqa: PLC0415  -- a task does without grammars
        from whence.context.sections import Review  # noqa: PLC0415  -- as above
        from whence.graph.questions import Questions  # noqa: PLC0415  -- as above

        since = "HEAD" if request.diff is None else request.diff
        files = read_change(self._reader, since, staged=request.staged)
        if files is None:
            raise UsageError(f"git cannot compare with {since!r}", hint="give a commit, branch or range of this repository")
        questions = self._reader.compute_once("questions", lambda: Questions(self.graph))
        return Review(files, symbol_changes(files), self._reader, questions, _within(self._reader.snapshot, request.filters))

    def rank(self, request: ContextRequest, now: float, include: Array | None = None) -> RankedSymbols:
        """The symbols of a request, ranked; `include` are units to rank whether or not they are found."""
        if request.files:
            return rank_files(request.files, self._run("symbols_near", request, now, include))
        if request.is_review:
            return rank_changes(self._review(request).units, self._run("symbols_near", request, now, include))
        task = clean_paste(request.task).text
        if all(word.lower() in QUERY_STOP_WORDS for word in words(task)):
            raise QueryError("the task holds no word to go by", hint="describe the task in words")
        try:
            if self._resolved(request).profile == "classic":
                return rank_classic(task, self._run("symbols_classic", request, now, include), self._reader.settings.classic)
            return rank_symbols(task, self._run("symbols", request, now, include))
        except QueryError as error:
            raise QueryError("the task holds no word to go by", hint="describe the task in words") from error

    def why(self, request: ContextRequest, units: Array, now: float) -> Why:
        """Why a symbol with some units has its rank among those of a request (E1)."""
        ranked = self.rank(request, now, include=units)
        pool, scores = ranked.pool, ranked.scores
        rows = np.flatnonzero(is_member(pool.units, np.sort(units)))
        if not len(rows):
            raise UsageError("what has no place in the source is not ranked", hint="name a symbol that is defined here")
        row = int(rows[np.argmax(scores[rows])])
        unit, leader = int(pool.units[row]), ranked.order[0]

        def rank(totals: Array) -> int:
            return 1 + int((totals[ranked.order] > totals[row]).sum())

        return Why(
            query=request.title,
            path=pool.path(row),
            unit=pool.snapshot.symbols.written_name(unit),
            kind=pool.snapshot.kind(unit),
            line=int(pool.snapshot.column("units.first")[unit]),
            rank=ranked.order.index(row) + 1 if row in ranked.order else rank(scores),
            candidates=len(ranked.order),
            score=float(scores[row]),
            found_by=tuple(retrievals(pool, [row])),
            lines=tuple(WhyLine(line, rank(scores_without(line.signal, pool, ranked.ledger))) for line in ranked.ledger.lines(row)),
            leader=pool.snapshot.symbols.written_name(int(pool.units[leader])),
            leader_score=float(scores[leader]),
            leader_is_symbol=True,
        )

    def _resolved(self, request: ContextRequest) -> ResolvedContext:
        return request.resolved(self._reader.settings.context)

    def _run(self, name: str, request: ContextRequest, now: float, include: Array | None) -> ContextRun:
        profiles = self._reader.settings.profiles
        return ContextRun(
            self._reader.snapshot,
            self.graph,
            profiles["symbols_first"],
            profiles[name],
            FieldWeights.of(profiles[name]),
            self._reader.encoder,
            include,
            _within(self._reader.snapshot, request.filters),
            now,
            self._feedback_of(request, now),
            self._learned_units(request.task),
            request.without,
            self._reranker,
            self._trace,
        )

    def _confidence(self, request: ContextRequest, ranked: RankedSymbols) -> Confidence | None:
        if not request.task:
            return None
        line = self._reader.settings.search.not_here * LINE_SHARE
        return ranked.confidence(line, shipped_model=is_shipped(self._reader.encoder))

    # Feedback. If its store cannot be read or written, the answer goes on without it and says so.
    def _feedback_of(self, request: ContextRequest, now: float) -> FeedbackOf | None:
        settings = self._reader.settings.learn
        if not settings.enabled or not self._store.path.exists():
            return None
        session = self._session(request.session)

        def contributions(units: Array) -> tuple[Array, Array]:
            keys = [self._reader.snapshot.symbols.key(unit) for unit in units.tolist()]
            try:
                shown = session.contributions(keys, now) if session is not None else np.zeros(len(keys))
                return boosts(self._store, keys, self._package_hash, settings), shown
            except StorageError as error:
                self._notes.append(f"feedback is not used for this answer: {error.message}")
                return np.zeros(len(keys)), np.zeros(len(keys))

        return contributions

    def _learned_units(self, task: str) -> Sequence[tuple[int, float]]:
        """Units that words of the task led to before, with weights (L5)."""
        settings = self._reader.settings.learn
        if not task or not settings.enabled or not self._store.path.exists():
            return ()
        try:
            learned = learned_symbols(self._store, task, settings)[:MAX_LEARNED]
        except StorageError as error:
            self._notes.append(f"feedback is not used for this answer: {error.message}")
            return ()
        symbols = self._reader.snapshot.symbols
        return [(unit, weight) for key, weight in learned for unit in symbols.find(key)]

    def _session(self, name: str) -> FeedbackSession | None:
        """A named session (L1). Without a name nothing is recorded, and the same request always has the same answer."""
        return FeedbackSession(self._reader.settings.learn, self._store, name) if name else None

    def _record_shown(self, request: ContextRequest, keys: Sequence[str], now: float) -> None:
        """In a session, record what was shown (L1) and, if use is reported, what is pending (L4)."""
        session, settings = self._session(request.session), self._reader.settings.learn
        if session is None or not settings.enabled:
            return
        try:
            session.record(keys, now)
            if settings.implicit:
                pending = PendingFeedback(self._store, settings, request.session)
                pending.returned(request.task, [self._returned(key) for key in keys], now)
        except StorageError as error:
            self._notes.append(f"what was shown is not recorded: {error.message}")

    def _returned(self, key: str) -> ReturnedSymbol:
        snapshot = self._reader.snapshot
        units = snapshot.symbols.find(key)
        first, last = (snapshot.column(name)[units].astype(int) for name in ("units.first", "units.last"))
        return ReturnedSymbol(key, self._package_hash(key), int(first.min(initial=1 << 30)), int(last.max(initial=1)))


def _within(snapshot: Snapshot, filters: Filters) -> Array | None:
    """A mask of the units that filters leave; None if there are none."""
    if filters == Filters():
        return None
    files, kinds = snapshot.unit_mask(file_mask(snapshot, filters)), unit_mask(snapshot, filters)
    return files if kinds is None else files & kinds


def _version(path: Path) -> object:
    """Changes whenever the feedback store does."""
    versions = []
    for file in (path, path.with_name(path.name + "-wal")):
        try:
            state = file.stat()
            versions.append((state.st_mtime_ns, state.st_size, state.st_ino))
        except OSError:
            versions.append((0, 0, 0))
    return tuple(versions)

"""From what is wanted to a pack: which symbols are ranked and how, what use taught of them, what is remembered of it."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from whence.context.budget import PackHeader
from whence.context.classic.pipeline import classic_pool
from whence.context.feedback.pending import PendingFeedback, ReturnedSymbol
from whence.context.feedback.session import FeedbackSession
from whence.context.feedback.store import FeedbackStore
from whence.context.feedback.verdicts import boosts
from whence.context.feedback.vocabulary import learned_symbols
from whence.context.pack import ContextPack
from whence.context.pipeline import ContextRun, RankedSymbols, rank_symbols, ranked
from whence.context.request import ContextRequest
from whence.context.review import rank_changes, rank_files
from whence.core.errors import QueryError, StorageError, UsageError
from whence.core.profiles import Profile
from whence.core.trace import Trace
from whence.embed.registry import is_shipped
from whence.graph.reader import Graph
from whence.index.reader import IndexReader
from whence.query.paste import clean_paste
from whence.query.plan import make_plan
from whence.ranking.confidence import Confidence
from whence.retrieval.term_statistics import FieldWeights
from whence.source.history import changed_lines
from whence.storage.arrayfile import Array

#: Packs that are remembered, the latest.
MOST_KEPT = 8
#: Symbols that learned words may lead to.
MOST_LEARNED = 40
#: "Not here" is said of a task only below this share of the line for searches: a task may ask for what is yet to be written.
LINE_SHARE = 1 / 15
_HINT = "a larger budget gives more; callers, callees or search go on from a name"


class ContextBuilder:
    """Makes packs of one snapshot, and remembers them as long as it stands (P4)."""

    def __init__(
        self, reader: IndexReader, graph: Graph, package_hash: Callable[[str], str], notes: list[str], trace: Trace | None = None
    ) -> None:
        self.graph = graph
        self._reader, self._package_hash, self._notes, self._trace = reader, package_hash, notes, trace
        self._kept: dict[tuple[ContextRequest, object], ContextPack] = {}
        self._weights: dict[str, FieldWeights] = {}
        self._learned = FeedbackStore.beside(reader.layout.directory)

    def pack(self, wanted: ContextRequest, now: float) -> ContextPack:
        """The answer; the same for the same question until the code or what was learned of it changes."""
        key = (wanted, _stamp(self._learned.path))
        if key not in self._kept:
            ranked = self.ranked(wanted, now)
            while len(self._kept) >= MOST_KEPT:
                del self._kept[next(iter(self._kept))]
            head = PackHeader(_asked(wanted), _HINT, wanted.freshness)
            self._kept[key] = ContextPack(
                self._reader,
                ranked,
                head,
                budget=wanted.budget,
                form=wanted.format,
                most=wanted.symbols,
                shown_path=_shown_path(self._reader.layout.root, wanted.caller),
                shown=lambda keys: self._remember(wanted, keys, now),
                confidence=lambda: self._confidence(wanted, ranked),
            )
        return self._kept[key]

    def _confidence(self, wanted: ContextRequest, ranked: RankedSymbols) -> Confidence | None:
        if not wanted.task:
            return None
        line = self._reader.settings.search.not_here * LINE_SHARE
        return ranked.confidence(line, shipped_model=is_shipped(self._reader.encoder))

    def ranked(self, wanted: ContextRequest, now: float, include: Array | None = None) -> RankedSymbols:
        """The symbols, ranked."""
        if wanted.files:
            return rank_files(wanted.files, self._run("symbols_near", wanted, now, include))
        if wanted.diff is not None:
            # The lines of a range are those of its end, which need not be what is indexed.
            changed = None if ".." in wanted.diff else changed_lines(self._reader.layout.root, wanted.diff)
            if changed is None:
                raise UsageError(f"git cannot compare with {wanted.diff!r}", hint="give a commit or branch of this repository")
            return rank_changes(changed, self._run("symbols_near", wanted, now, include))
        task = clean_paste(wanted.task).text
        try:
            if wanted.profile == "classic":
                return self._classic(task, self._run("symbols_classic", wanted, now, include))
            return rank_symbols(task, self._run("symbols", wanted, now, include))
        except QueryError as error:
            raise QueryError("the task holds no word to go by", hint="say in words what is to be done") from error

    def _classic(self, task: str, run: ContextRun) -> RankedSymbols:
        """Symbols by the rules N, W and S."""
        profile, symbols = run.profile, run.snapshot.symbols
        plan = make_plan(task, decay=profile.decay, quoted=profile.quoted)
        limits = self._reader.settings.classic
        pool = classic_pool(plan.text, run, plan, symbols.defines, now=run.now, learned=run.learned, limits=limits)
        return ranked(pool, run)

    def _run(self, name: str, wanted: ContextRequest, now: float, include: Array | None) -> ContextRun:
        profiles = self._reader.settings.profiles
        return ContextRun(
            self._reader.snapshot,
            self.graph,
            profiles["symbols_first"],
            profiles[name],
            self._weights_of(name, profiles[name]),
            self._reader.encoder,
            include,
            now,
            self._from_use(wanted, now),
            self._words_learned(wanted.task),
            wanted.without,
            self._trace,
        )

    def _weights_of(self, name: str, profile: Profile) -> FieldWeights:
        if name not in self._weights:
            self._weights[name] = FieldWeights.of(profile)
        return self._weights[name]

    # What use taught. Trouble with it is a note, never the end of an answer.
    def _from_use(self, wanted: ContextRequest, now: float) -> Any:
        chosen = self._reader.settings.learn
        if not chosen.enabled or not self._learned.path.exists():
            return None
        session = self._session(wanted.session)

        def taught(units: Array) -> tuple[Array, Array]:
            keys = [self._reader.snapshot.symbols.key(unit) for unit in units.tolist()]
            try:
                shown = session.contributions(keys, now) if session is not None else np.zeros(len(keys))
                return boosts(self._learned, keys, self._package_hash, chosen), shown
            except StorageError as trouble:
                self._notes.append(f"what was learned has no part in this answer: {trouble.message}")
                return np.zeros(len(keys)), np.zeros(len(keys))

        return taught

    def _words_learned(self, task: str) -> Sequence[tuple[int, float]]:
        chosen = self._reader.settings.learn
        if not task or not chosen.enabled or not self._learned.path.exists():
            return ()
        try:
            found = learned_symbols(self._learned, task, chosen)[:MOST_LEARNED]
        except StorageError as trouble:
            self._notes.append(f"what was learned has no part in this answer: {trouble.message}")
            return ()
        symbols = self._reader.snapshot.symbols
        return [(unit, weight) for key, weight in found for unit in symbols.find(key)]

    def _session(self, name: str) -> FeedbackSession | None:
        """What is remembered under a name; without one nothing is, and the same question has the same answer (L1)."""
        return FeedbackSession(self._reader.settings.learn, self._learned, name) if name else None

    def _remember(self, wanted: ContextRequest, keys: Sequence[str], now: float) -> None:
        """In a session: what was shown (L1), and, where somebody reports what is used, what waits for that (L4)."""
        session, chosen = self._session(wanted.session), self._reader.settings.learn
        if session is None or not chosen.enabled:
            return
        try:
            session.record(keys, now)
            if chosen.implicit:
                PendingFeedback(self._learned, chosen, wanted.session).returned(wanted.task, [self._returned(key) for key in keys], now)
        except StorageError as trouble:
            self._notes.append(f"what was shown is not remembered: {trouble.message}")

    def _returned(self, key: str) -> ReturnedSymbol:
        snapshot = self._reader.snapshot
        units = snapshot.symbols.find(key)
        first, last = (snapshot.column(name)[units].astype(int) for name in ("units.first", "units.last"))
        return ReturnedSymbol(key, self._package_hash(key), int(first.min(initial=1 << 30)), int(last.max(initial=1)))


def _shown_path(root: Path, caller: str) -> Callable[[str], str]:
    """How a path of the index is printed: as whoever asks would write it (A4)."""
    return (lambda path: os.path.relpath(f"{root}/{path}", caller)) if caller else str


def _asked(wanted: ContextRequest) -> str:
    if wanted.files:
        return f"files {' '.join(wanted.files)}"
    return f"changes since {wanted.diff}" if wanted.diff is not None else wanted.task


def _stamp(path: Path) -> object:
    """Moves when what was learned changes."""
    found = []
    for file in (path, path.with_name(path.name + "-wal")):
        try:
            state = file.stat()
            found.append((state.st_mtime_ns, state.st_size, state.st_ino))
        except OSError:
            found.append((0, 0, 0))
    return tuple(found)

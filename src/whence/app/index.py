"""The index as one object: a writer that keeps it fresh, a reader for each generation, and the jobs that read it."""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from whence.core.errors import IndexBusy, UsageError
from whence.core.profiles import Profile
from whence.core.settings import load_settings, resolve_root
from whence.core.trace import Trace
from whence.core.types import Edge, Freshness, ParsedFile, PendingWork, RefreshSummary
from whence.embed.encoder import NONE
from whence.index.reader import IndexReader
from whence.index.snapshot import Snapshot
from whence.index.store import IndexStore
from whence.index.writer import IndexWriter, Progress
from whence.query.parser import Leaf, ParsedQuery
from whence.search.pipeline import RankedPool, Searcher
from whence.search.request import SearchRequest, check_related
from whence.search.result import SearchResponse, SearchResult
from whence.source.walk import FileTree
from whence.storage.arrayfile import Array

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Self, Unpack

    from whence.context.builder import ContextBuilder
    from whence.context.pack import ContextPack
    from whence.context.request import ContextOptions, ContextRequest
    from whence.graph.names import NamedSymbol
    from whence.graph.neighbourhood import Neighbourhood
    from whence.graph.questions import Neighbour, PathStep, Questions
    from whence.graph.reader import Graph
    from whence.index.reuse import ReusableIndex
    from whence.ranking.receipt import Why
    from whence.ranking.rerank import UnitReranker
    from whence.search.explain import Absence, Rival
    from whence.search.related import RelatedQuery
    from whence.search.request import SearchOptions
    from whence.source.excluded import ExcludedMatches

#: Seconds between two looks whether another process has brought the index up to date.
FRESH_PAUSE = 0.1
#: Seconds that may be spent on files that are not indexed.
EXCLUDED_SECONDS = 0.3


class Index:
    """An index of one root. Open it with `Index.open`; it is a context manager.

    Each call answers from one generation, even if another thread refreshes the index meanwhile. `root` is the indexed folder,
    `layout` where the index lives on disk, `settings` what applies here, and `provenance` the source of each setting.
    """

    def __init__(self, writer: IndexWriter, trace: Trace | None = None) -> None:
        self.writer, self.trace = writer, trace
        self.layout, self.root, self.settings, self.provenance = writer.layout, writer.root, writer.settings, writer.provenance

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        data_dir: str | os.PathLike[str] | None = None,
        settings: Mapping[str, Any] | None = None,
        command_line: Mapping[str, Any] | None = None,
        refresh: bool = True,
        wait_fresh: bool = False,
        progress: Progress | None = None,
        trace: Trace | None = None,
        reuse: ReusableIndex | None = None,
    ) -> Self:
        """Open the index of a folder, building or refreshing it first.

        `settings` maps dotted names to values, such as `{"search.k": 5}`. A first build starts from an index archive
        (`index.archive`), else from the index of another worktree. `wait_fresh` waits for it as `wait_fresh()` does.
        """
        if wait_fresh:  # for another process that writes it, too
            chosen = load_settings(resolve_root(Path(path)), call=settings, command_line=command_line)[0].index
            settings = {**(settings or {}), "index.lock_wait": chosen.fresh_wait}
        writer = IndexWriter.open(
            path, data_dir=data_dir, settings=settings, command_line=command_line, refresh=refresh, progress=progress, reuse=reuse
        )
        index = cls(writer, trace)
        if wait_fresh:
            try:
                index.wait_fresh(refresh=refresh)
            except BaseException:
                index.close()
                raise
        return index

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close all files."""
        self.writer.close()

    def refresh(self, progress: Progress | None = None) -> RefreshSummary:
        """Index what changed on disk since the index was opened or last refreshed."""
        return self.writer.refresh(progress)

    def wait_fresh(self, seconds: float | None = None, *, refresh: bool = True) -> None:
        """Wait until the index is up to date, refreshing it unless another process is to do that; IndexBusy when time is up.

        `seconds` is the setting `index.fresh_wait` unless given.
        """
        limit = self.settings.index.fresh_wait if seconds is None else seconds
        until = time.monotonic() + limit
        while self.poll().needed:
            if time.monotonic() > until:
                hint = "whence status says what differs; the setting index.fresh_wait allows more time"
                raise IndexBusy(f"the index of {self.root} is not up to date after {limit:g} s", hint=hint)
            if refresh:
                self.refresh()
            else:
                time.sleep(FRESH_PAUSE)

    def poll(self) -> PendingWork:
        """Check what changed on disk and what other processes indexed, and return what a refresh would do."""
        return self.writer.poll()

    def add_edges(self, provenance: str, edges: Sequence[Edge], *, paths: Sequence[str] | None = None) -> None:
        """Store edges from a source other than the parser; they replace those of the same provenance, in some files or all."""
        self.writer.add_edges(provenance, edges, paths=paths)

    @property
    def reader(self) -> IndexReader:
        """The latest generation."""
        return self.writer.reader

    @property
    def notes(self) -> list[str]:
        """Remarks for the user on how this index was built."""
        return self.writer.notes

    @property
    def last_refresh(self) -> RefreshSummary:
        """What the last refresh did."""
        return self.writer.last_refresh

    @property
    def tree(self) -> FileTree:
        """The files of the root, as last seen."""
        return self.writer.tree

    @property
    def store(self) -> IndexStore:
        """The index store, opened."""
        return self.writer.store

    @property
    def snapshot(self) -> Snapshot:
        """The snapshot of the latest generation."""
        return self.reader.snapshot

    @property
    def freshness(self) -> Freshness:
        """The commit and time of the index, and whether files changed since."""
        return self.writer.freshness

    def read_text(self, path: str) -> str | None:
        """The current text of a file on disk, without its secrets; None if it is gone or not text."""
        return self.reader.read_text(path)

    def parsed(self, path: str) -> ParsedFile | None:
        """The units of a file, as indexed."""
        return self.reader.parsed(path)

    # Search.
    def _searcher(self) -> Searcher:
        reader = self.reader

        def named(parsed: ParsedQuery, leaf: Leaf) -> tuple[Array, list[str]]:
            return self._named_units(reader, parsed, leaf)

        return reader.compute_once("searcher", lambda: Searcher(reader, named, self.trace, reranker=self._reranker_of(reader)))

    def _reranker_of(self, reader: IndexReader) -> UnitReranker | None:
        """The second look at this generation, where a model is set."""
        if self.settings.rerank.model == NONE:
            return None
        from whence.ranking.rerank import UnitReranker  # noqa: PLC0415  -- only where there is a model

        return reader.compute_once("reranker", lambda: UnitReranker(reader))

    def search(self, query: str | SearchRequest = "", **options: Unpack[SearchOptions]) -> SearchResponse:
        """The best files for a query, best first: k of them if that many match.

        A query may contain operators (docs/query.md), unless it is `plain`. The options are the fields of `SearchRequest`,
        which may be given instead of a query.
        """
        return self._searcher().search(SearchRequest.of(query, **options))

    def why(self, query: str | SearchRequest, target: str, **options: Unpack[SearchOptions]) -> Why:
        """Why a file (or `file:line`, or a symbol) has its rank for a query, or is missing."""
        return self._searcher().why(SearchRequest.of(query, **options), target)

    def rival(self, query: str | SearchRequest, target: str, **options: Unpack[SearchOptions]) -> Rival | None:
        """Compare a file with the last of k results, or with the first if it is one of them; None for the first itself."""
        return self._searcher().rival(SearchRequest.of(query, **options), target)

    def absence(self, query: str | SearchRequest, target: str, **options: Unpack[SearchOptions]) -> Absence | None:
        """Why something is not ranked for a query at all; None if it is."""
        searcher, request = self._searcher(), SearchRequest.of(query, **options)
        try:
            units = searcher.find(target)
        except UsageError as error:
            from whence.search.explain import Absence, left_out  # noqa: PLC0415  -- only where it is asked for

            found = left_out(target, self.root, [*self.tree.skipped, *self.store.skipped_files()], self.tree.changed)
            return found or Absence("unknown", error.message, error.hint)
        return searcher.absence(request, units)

    def related(self, path: str, line: int, **options: Unpack[SearchOptions]) -> list[SearchResult]:
        """Units similar to the one at a line of a file, best first (Q9); options are filters as in `search`."""
        check_related(options)
        reader = self.reader
        request = SearchRequest.of("related", **options)
        from whence.search.explain import find_target  # noqa: PLC0415  -- a search does without

        unit = int(find_target(reader.snapshot, f"{path}:{line}", wants_line=True)[0])
        return self._searcher().related(_example(reader, unit), request)

    def ranked(self, query: str, profile: Profile) -> RankedPool:
        """Every candidate of a query with its ledger, under any profile."""
        return self._searcher().ranked(query, profile)

    def excluded(self, words: Sequence[str]) -> ExcludedMatches:
        """How many files that are not indexed contain all of some words, as far as time allows (Z1)."""
        from whence.source.excluded import count_excluded_matches  # noqa: PLC0415  -- only where an answer is in doubt

        until = time.monotonic() + EXCLUDED_SECONDS
        return count_excluded_matches(
            self.root, [*self.tree.skipped, *self.store.skipped_files()], words, in_time=lambda: time.monotonic() < until
        )

    def _named_units(self, reader: IndexReader, parsed: ParsedQuery, leaf: Leaf) -> tuple[Array, list[str]]:
        """The units of `sym:`, `callers:` or `callees:`, surest first; an unknown name is refused."""
        if leaf.field == "sym" and len(units := reader.snapshot.definitions(leaf.value)):
            return units, []
        questions = self._questions_of(reader)
        try:
            meant = questions.resolve(leaf.value)
        except UsageError as error:
            from whence.query.operators import syntax_error  # noqa: PLC0415  -- loaded for the operator

            raise syntax_error(error.message, parsed.query, parsed.query.index(":", leaf.at) + 1) from error
        if leaf.field == "sym":
            nodes = np.array([node for one in meant for node in one.nodes], np.int64)
            return nodes[nodes < reader.snapshot.units], []
        ask = questions.callers if leaf.field == "callers" else questions.callees
        answers = [ask(one) for one in meant]
        notes = []
        if leaf.field == "callers" and (unresolved := max((one.unresolved.total for one in answers), default=0)):
            notes.append(f"{leaf}: {unresolved} more call{'s' if unresolved > 1 else ''} of that name may mean it; whence callers tells")
        nodes = np.concatenate([one.rows.node for one in answers])
        surest = np.argsort(-np.concatenate([one.rows.confidence for one in answers]).round(4), kind="stable")
        ordered = np.array(list(dict.fromkeys(nodes[surest].tolist())), np.int64)
        return ordered[ordered < reader.snapshot.units], notes

    # Context.
    def context(self, task: str | ContextRequest = "", **options: Unpack[ContextOptions]) -> ContextPack:
        """Rank the symbols a task needs and pack them into a token budget.

        Instead of a task, `files=[...]` gives what depends on files, and `diff="HEAD"` what a change affects. The options
        are the fields of `ContextRequest`, which may be given instead of a task.
        """
        from whence.context.request import ContextRequest  # noqa: PLC0415  -- a search does without

        return self._context_builder(self.reader).build(ContextRequest.of(task, **options), time.time())

    def why_symbol(self, task: str | ContextRequest, name: str, **options: Unpack[ContextOptions]) -> Why:
        """Why a symbol has its rank for a task, or is missing."""
        from whence.context.request import ContextRequest  # noqa: PLC0415

        reader = self.reader
        meant = self._questions_of(reader).resolve(name)
        units = np.array([unit for one in meant for unit in one.nodes if unit < reader.snapshot.units], np.int64)
        return self._context_builder(reader).why(ContextRequest.of(task, **options), units, time.time())

    def _context_builder(self, reader: IndexReader) -> ContextBuilder:
        from whence.context.builder import ContextBuilder  # noqa: PLC0415

        graph = self._graph_of(reader)
        return reader.compute_once(
            "context",
            lambda: ContextBuilder(
                reader, graph, lambda key: self._package_hash(reader, key), self.notes, self.trace, self._reranker_of(reader)
            ),
        )

    # Questions to the graph (W5). A name of several symbols, or of none, is a UsageError that lists them, or the nearest.
    def open_graph(self) -> Graph:
        """The symbol graph of the latest generation; built and stored if it does not exist yet."""
        return self._graph_of(self.reader)

    def questions(self) -> Questions:
        """Questions to the graph; answers are cached per generation."""
        return self._questions_of(self.reader)

    def _graph_of(self, reader: IndexReader) -> Graph:
        from whence.graph.builder.build import open_graph  # noqa: PLC0415  -- a search does without

        return reader.compute_once("graph", lambda: open_graph(reader, self.notes))

    def _questions_of(self, reader: IndexReader) -> Questions:
        from whence.graph.questions import Questions  # noqa: PLC0415

        graph = self._graph_of(reader)
        return reader.compute_once("questions", lambda: Questions(graph))

    def callers(self, name: str, *, kinds: Collection[str] = ("calls", "decorates"), depth: int = 1) -> list[Neighbour]:
        """The callers of a symbol, surest first; with other kinds of edge its users; with depth also indirect ones."""
        questions = self.questions()
        return questions.callers(questions.resolve_one(name), kinds=frozenset(kinds), depth=depth).neighbours()

    def callees(self, name: str, *, kinds: Collection[str] = ("calls", "decorates"), depth: int = 1) -> list[Neighbour]:
        """The symbols that a symbol calls, surest first."""
        questions = self.questions()
        return questions.callees(questions.resolve_one(name), kinds=frozenset(kinds), depth=depth).neighbours()

    def impact(self, name: str, *, depth: int = 3) -> list[Neighbour]:
        """Everything that depends on a symbol, nearest first."""
        questions = self.questions()
        return questions.impact(questions.resolve_one(name), depth=depth).neighbours()

    def tests(self, name: str, *, depth: int = 4) -> list[Neighbour]:
        """The tests that call a symbol, direct callers first."""
        questions = self.questions()
        return questions.tests(questions.resolve_one(name), depth=depth).neighbours()

    def path(self, source: str, target: str, *, hops: int = 12) -> list[PathStep] | None:
        """The shortest path from one symbol to another, edge by edge; None if there is none."""
        questions = self.questions()
        return questions.path([questions.resolve_one(source)], [questions.resolve_one(target)], hops=hops)

    def around(self, symbol: NamedSymbol, **how: Any) -> Neighbourhood:
        """The neighbourhood of a symbol by random walk, with the edges within it; `how` as in `NeighbourhoodFinder.around`."""
        from whence.graph.neighbourhood import NeighbourhoodFinder  # noqa: PLC0415

        reader, graph = self.reader, self.open_graph()
        return reader.compute_once("neighbourhoods", lambda: NeighbourhoodFinder(graph)).around(symbol, **how)

    def completed(self, text: str, most: int) -> list[tuple[NamedSymbol, int]]:
        """Complete a name or part of one: symbols with their number of uses, most used first."""
        from whence.graph.names import Completion  # noqa: PLC0415

        reader, graph = self.reader, self.open_graph()
        return reader.compute_once("completion", lambda: Completion(graph)).symbols(text, most)

    def symbol_keys(self, name: str) -> list[str]:
        """The keys (`path#qualified.name`) of every symbol a name may mean."""
        return [one.key for one in self.questions().resolve(name)]

    def package_hash(self, key: str) -> str:
        """A hash of the code in a symbol's package; empty if the symbol is gone (L3)."""
        return self._package_hash(self.reader, key)

    def _package_hash(self, reader: IndexReader, key: str) -> str:
        from whence.index.symbols import PackageHashes  # noqa: PLC0415

        return reader.compute_once("packages", lambda: PackageHashes(reader.snapshot.symbols, reader.store.hashes)).of(key)


def _example(reader: IndexReader, unit: int) -> RelatedQuery:
    snapshot = reader.snapshot
    path = snapshot.path(int(snapshot.file_of_unit[unit]))
    first, last = int(snapshot.column("units.first")[unit]), int(snapshot.column("units.last")[unit])
    lines = (reader.read_text(path) or "").split("\n")[first - 1 : last]
    parsed = reader.parsed(path) or ParsedFile("", ())
    parents = [one.parents for one in parsed.units if one.first_line == first and one.last_line == last]
    from whence.search.related import RelatedQuery  # noqa: PLC0415  -- a search does without

    return RelatedQuery(unit, " ".join((*(parents[0] if parents else ()), snapshot.unit_name(unit))), "\n".join(lines))

"""The engine: an index that can be asked. The only module that knows every stage."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from whence.core.errors import UsageError
from whence.core.profiles import Profile
from whence.core.settings import load_settings
from whence.core.types import Freshness, Parsed
from whence.embed.registry import SHIPPED
from whence.index.opened import OpenIndex
from whence.query.lexer import fault
from whence.query.parser import Condition, Leaf, ParsedQuery
from whence.query.parser import read as read_query
from whence.query.paste import question_in
from whence.retrieval.filters import file_mask, restrict, unit_mask
from whence.retrieval.term_statistics import FieldWeights
from whence.search.asking import make_asking, with_content
from whence.search.confidence import confidence_of
from whence.search.explain import Why, explain, explain_symbol, find_target
from whence.search.options import check_compared
from whence.search.pipeline import RankedPool, SearchRun, answer, ranked_with
from whence.search.related import RelatedQuery, related
from whence.search.result import SearchResponse, SearchResult
from whence.source.read import without_secrets
from whence.storage.arrayfile import Array

if TYPE_CHECKING:
    from whence.context.builder import ContextBuilder
    from whence.context.pack import ContextPack
    from whence.graph.names import Completion, NamedSymbol
    from whence.graph.neighbourhood import Neighbourhood, NeighbourhoodFinder
    from whence.graph.neighbours import Neighbour
    from whence.graph.package_hash import PackageHashes
    from whence.graph.questions import Questions
    from whence.graph.shortest_path import PathStep
    from whence.search.explain import Absence, Rival
    from whence.source.excluded import ExcludedMatches

#: Seconds that may be spent on files that are not indexed.
LEFT_OUT_SECONDS = 0.3

#: Said where the conditions of a query, and not its words, are why there is no answer.
NOTHING_LEFT = "nothing that is indexed meets these conditions"

_Question = TypeVar("_Question", bound=Callable[..., Any])

__all__ = ["Freshness", "Index", "load_settings"]


def _from_one_view(question: _Question) -> _Question:
    """Have a question answered from one view of the index, also where another thread refreshes it meanwhile."""

    @wraps(question)
    def asked(self: Index, *given: Any, **named: Any) -> Any:
        return question(copy(self), *given, **named)

    return cast("_Question", asked)


class Index(OpenIndex):
    """An index of one root. Open it with `Index.open`; it is a context manager."""

    def __init__(self, *opened: Any) -> None:
        super().__init__(*opened)
        self._weights: dict[str, FieldWeights] = {}

    def _made(self, what: str, make: Callable[[], Any]) -> Any:
        """What was worked out of the view that answers are of, once for all who ask."""
        made = self._seen_now.made
        return made[what] if what in made else made.setdefault(what, make())

    def _weights_of(self, name: str, profile: Profile) -> FieldWeights:
        """What codes are worth under a profile, worked out once."""
        if name not in self._weights:
            self._weights[name] = FieldWeights.of(profile)
        return self._weights[name]

    @_from_one_view
    def search(
        self, query: str = "", *, k: int | None = None, profile: str | None = None, plain: bool = False, **asked: Any
    ) -> SearchResponse:
        """The best files for a query, best first: exactly k of them when that many match.

        A query may hold operators (docs/query.md); `plain` reads it as words alone.
        `asked` are the filters and modes of `query.options.make_options`: operator,
        relaxation, include, exclude, languages, kinds, content, paths, pattern, ...; `factors` move the weights of signals.
        """
        query = without_secrets(query)
        question = question_in(query)
        read = read_query(question.text, plain=plain)
        asking, notes = self._restricted(read, self._asking(query, k, profile, with_content(read, asked)))
        notes = (question.because, *notes) if question.because else notes
        found = answer(read.text, asking)
        if asking.restriction is not None and not asking.restriction.units.any():
            return SearchResponse(notes=(*notes, NOTHING_LEFT))
        sure = confidence_of(found, self.settings.search.not_here, query=read.text, meaning=self._is_shipped) if read.text.strip() else None
        return SearchResponse((SearchResult(self, one) for one in found), confidence=sure, notes=notes, found=found)

    def left_out(self, words: Sequence[str]) -> ExcludedMatches:
        """How many files that are not indexed hold all of some words, as far as can be told in a moment (Z1)."""
        from whence.source.excluded import count_matching  # noqa: PLC0415  -- only where an answer is in doubt

        until = time.monotonic() + LEFT_OUT_SECONDS
        return count_matching(self.root, [*self.tree.skipped, *self.store.left_out()], words, in_time=lambda: time.monotonic() < until)

    @property
    def _is_shipped(self) -> bool:
        return self.encoder is not None and self.encoder.name == SHIPPED

    @_from_one_view
    def why(self, query: str, target: str, *, k: int | None = None, profile: str | None = None, plain: bool = False, **asked: Any) -> Why:
        """Why a file (or `file:line`, or a symbol) stands where it stands in the answer to a query, or is not in it."""
        units, ranked = self._ranked_with(target, read_query(_question(query), plain=plain), k, profile, asked)
        return explain(without_secrets(query), units, ranked)

    @_from_one_view
    def rival(self, query: str, target: str, *, k: int | None = None, profile: str | None = None, **asked: Any) -> Rival | None:
        """What a file lacks against the last of k results, or against the first where it is one of them; None for the first."""
        from whence.search.explain import rival_of  # noqa: PLC0415  -- only where it is asked for

        units, ranked = self._ranked_with(target, read_query(_question(query)), k, profile, asked)
        return rival_of(units, ranked, self.settings.search.k if k is None else k)

    @_from_one_view
    def absence(self, query: str, target: str, **asked: Any) -> Absence | None:
        """Why something has no place in the answer to a query at all; None where it has one."""
        from whence.search.explain import Absence, kept_out, left_out  # noqa: PLC0415  -- as above

        try:
            units = find_target(self.snapshot, target)
        except UsageError as error:
            found = left_out(target, self.root, [*self.tree.skipped, *self.store.left_out()], self.tree.changed)
            return found or Absence("unknown", error.message, error.hint)
        read = read_query(_question(query))
        options = self._asking(query, None, None, with_content(read, asked)).options
        every = self.snapshot.alive

        def left_by(conditions: Sequence[Condition]) -> Array:
            named = partial(self._units_named, read, told=[])
            return restrict(conditions, self.snapshot, every, None, self.read_text, named).units

        return kept_out(units, self.snapshot, options, read.conditions, left_by)

    def _ranked_with(
        self, target: str, read: ParsedQuery, k: int | None, profile: str | None, asked: Mapping[str, Any]
    ) -> tuple[Array, RankedPool]:
        """The units that a target stands for, and the answer to a query with at least one of them in it."""
        asking, _ = self._restricted(read, self._asking(read.query, k, profile, with_content(read, asked)))
        if not read.text.strip():
            raise UsageError("a query without words ranks nothing", hint="add a word to ask why something comes first")
        units = find_target(self.snapshot, target)
        return units, ranked_with(read.text, asking, units)

    def _restricted(self, read: ParsedQuery, asking: SearchRun) -> tuple[SearchRun, tuple[str, ...]]:
        """What a query is asked with, narrowed to what its operators leave, and how it was read."""
        if read.notes:
            raise UsageError(
                "in:notes asks for notes, and this is an index of files", hint="use Memory.recall, or whence search in a shell"
            )
        if read.plain:
            return asking, ()
        told: list[str] = []
        files, units = file_mask(self.snapshot, asking.options), unit_mask(self.snapshot, asking.options)
        left = restrict(read.conditions, self.snapshot, files, units, self.read_text, lambda leaf: self._units_named(read, leaf, told))
        return replace(asking, restriction=replace(left, optional=read.optional)), (read.said, *left.notes, *told)

    def _units_named(self, read: ParsedQuery, leaf: Leaf, told: list[str]) -> Array:
        """The units that `sym:`, `callers:` or `callees:` stands for, surest first; a name that nothing bears is refused."""
        if leaf.of == "sym" and len(units := self.snapshot.definitions(leaf.value)):
            return units
        try:
            meant = self.questions.meant(leaf.value)
        except UsageError as error:
            raise fault(error.message, read.query, read.query.index(":", leaf.at) + 1) from error
        if leaf.of == "sym":
            nodes = np.array([node for one in meant for node in one.nodes], np.int64)
            return nodes[nodes < self.snapshot.units]
        ask = self.questions.callers if leaf.of == "callers" else self.questions.callees
        answers = [ask(one) for one in meant]
        if leaf.of == "callers" and (open_calls := max((one.stops.total for one in answers), default=0)):
            told.append(f"{leaf}: {open_calls} more call{'s' if open_calls > 1 else ''} of that name may mean it; whence callers tells")
        nodes = np.concatenate([one.found.node for one in answers])
        surest = np.argsort(-np.concatenate([one.found.confidence for one in answers]).round(4), kind="stable")
        ordered = np.array(list(dict.fromkeys(nodes[surest].tolist())), np.int64)
        return ordered[ordered < self.snapshot.units]

    @_from_one_view
    def related(self, path: str, line: int, *, k: int | None = None, **asked: Any) -> list[SearchResult]:
        """Units like the one at a line of a file, best first (Q9); `asked` are filters as in `search`."""
        check_compared(asked)
        asking = self._asking("related", k, None, asked)
        unit = int(find_target(self.snapshot, f"{path}:{line}", wants_line=True)[0])
        return [SearchResult(self, found) for found in related(self._example(unit), asking)]

    @_from_one_view
    def context(self, task: str = "", **asked: Any) -> ContextPack:
        """The symbols that a task needs, ranked, and a text of them within a budget of tokens.

        Instead of a task, `files=[...]` asks for what depends on files, and `diff="HEAD"` for what a change reaches.
        `asked` are the fields of `packing.Wanted`: budget, profile, format, session, ...
        """
        from whence.context.builder import ContextBuilder, ContextRequest  # noqa: PLC0415  -- a search does without

        packing: ContextBuilder = self._made("packing", lambda: ContextBuilder(self, self.graph, self.encoder))
        return packing.pack(ContextRequest.of(task, self.settings.context, asked), time.time())

    @_from_one_view
    def why_symbol(self, task: str, name: str, **asked: Any) -> Why:
        """Why a symbol stands where it stands among those for a task, or is not there."""
        from whence.context.builder import ContextBuilder, ContextRequest  # noqa: PLC0415

        units = np.array([unit for one in self.questions.meant(name) for unit in one.nodes if unit < self.snapshot.units], np.int64)
        packing = ContextBuilder(self, self.graph, self.encoder)
        return explain_symbol(
            task, units, packing.ranked(ContextRequest.of(task, self.settings.context, asked), time.time(), include=units)
        )

    # Questions to the graph (W5). A name that several symbols bear, or none, is a UsageError that lists them, or the nearest.
    @property
    def questions(self) -> Questions:
        """The graph, ready to be asked; what was worked out is kept as long as the graph is the same."""
        from whence.graph.questions import Questions  # noqa: PLC0415  -- a search does without

        questions: Questions = self._made("questions", lambda: Questions(self.graph))
        return questions

    @_from_one_view
    def callers(self, name: str, *, kinds: Collection[str] = ("calls",), depth: int = 1) -> list[Neighbour]:
        """Who calls a symbol, surest first; with other kinds of edge, who uses it so; with depth, through others."""
        return self.questions.callers(self.questions.one(name), kinds=frozenset(kinds), depth=depth).neighbours()

    @_from_one_view
    def callees(self, name: str, *, kinds: Collection[str] = ("calls",), depth: int = 1) -> list[Neighbour]:
        """What a symbol calls, surest first."""
        return self.questions.callees(self.questions.one(name), kinds=frozenset(kinds), depth=depth).neighbours()

    @_from_one_view
    def impact(self, name: str, *, depth: int = 3) -> list[Neighbour]:
        """Everything that depends on a symbol, nearest first."""
        return self.questions.impact(self.questions.one(name), depth=depth).neighbours()

    @_from_one_view
    def tests(self, name: str, *, depth: int = 4) -> list[Neighbour]:
        """The tests that call a symbol, those that do so directly first."""
        return self.questions.tests(self.questions.one(name), depth=depth).neighbours()

    @_from_one_view
    def path(self, source: str, target: str, *, hops: int = 12) -> list[PathStep] | None:
        """The shortest way from one symbol to another, edge by edge; None when there is none."""
        return self.questions.path([self.questions.one(source)], [self.questions.one(target)], hops=hops)

    @_from_one_view
    def around(self, symbol: NamedSymbol, **how: Any) -> Neighbourhood:
        """What a walk from a symbol comes to most, and the edges among that; `how` as in `Surroundings.around`."""
        from whence.graph.neighbourhood import NeighbourhoodFinder  # noqa: PLC0415

        surroundings: NeighbourhoodFinder = self._made("surroundings", lambda: NeighbourhoodFinder(self.graph))
        return surroundings.around(symbol, **how)

    @_from_one_view
    def completed(self, text: str, most: int) -> list[tuple[NamedSymbol, int]]:
        """Symbols for the beginning or a part of a name, the most used first, each with how often it is used."""
        from whence.graph.names import Completion  # noqa: PLC0415

        completion: Completion = self._made("completion", lambda: Completion(self.graph))
        return completion.symbols(text, most)

    @_from_one_view
    def symbol_keys(self, name: str) -> list[str]:
        """The keys, `path#qualified.name`, of every symbol that a name may mean."""
        return [one.key for one in self.questions.meant(name)]

    @_from_one_view
    def subgraph_root(self, key: str) -> str:
        """A hash of the code of a symbol's package; empty when the symbol is gone (L3)."""
        from whence.graph.package_hash import PackageHashes  # noqa: PLC0415

        packages: PackageHashes = self._made("packages", lambda: PackageHashes(self.snapshot.symbols, self.store.hashes))
        return packages.of(key)

    def _example(self, unit: int) -> RelatedQuery:
        path = self.snapshot.path(int(self.snapshot.file_of_unit[unit]))
        first, last = int(self.snapshot.column("units.first")[unit]), int(self.snapshot.column("units.last")[unit])
        lines = (self.read_text(path) or "").split("\n")[first - 1 : last]
        parents = [one.parents for one in (self.parsed(path) or Parsed("", ())).units if one.first_line == first and one.last_line == last]
        return RelatedQuery(unit, " ".join((*(parents[0] if parents else ()), self.snapshot.unit_name(unit))), "\n".join(lines))

    @_from_one_view
    def ranked(self, query: str, profile: Profile) -> RankedPool:
        """Every candidate of a query with its ledger, under a profile that need not be among the settings."""
        asking = replace(self._asking(query, None, None, {}), profile=profile, weights=FieldWeights.of(profile))
        return ranked_with(query, asking)

    def _asking(self, query: str, k: int | None, profile: str | None, asked: Mapping[str, Any]) -> SearchRun:
        return make_asking(
            query,
            k,
            profile,
            asked,
            snapshot=self.snapshot,
            settings=self.settings,
            weights_of=self._weights_of,
            read=self.read_text,
            encoder=self.encoder,
            trace=self.trace,
        )


def _question(query: str) -> str:
    """What is asked, without secrets and without what was pasted around it."""
    return question_in(without_secrets(query)).text

"""Searches over one reader: from a request to a response, and why a result stands where it stands. Reads top to bottom."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from whence.core.errors import UsageError
from whence.core.profiles import Profile
from whence.core.trace import Trace
from whence.embed.encoder import is_shipped
from whence.index.reader import Reader
from whence.query.parser import Condition, Leaf, ParsedQuery
from whence.ranking.confidence import Confidence, confidence_of, nothing_found
from whence.ranking.receipt import Why
from whence.retrieval.filters import Restriction, file_mask, restrict, unit_mask
from whence.retrieval.lexical import FieldWeights
from whence.search.explain import explain, find_target
from whence.search.pipeline import RankedFile, RankedPool, SearchRun, answer, leading_files, ranked_with
from whence.search.related import RelatedQuery, related
from whence.search.request import SearchRequest, check_profile
from whence.search.result import SearchResponse, SearchResult
from whence.source.read import strip_secrets
from whence.storage.arrayfile import Array

if TYPE_CHECKING:
    from whence.search.explain import Absence, Rival

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

    def search(self, request: SearchRequest) -> SearchResponse:
        """The best files for a request, best first: exactly k of them when that many match."""
        parsed = request.parsed
        run, notes = self.restricted(parsed, self.run_of(request))
        found = answer(parsed.text, run)
        if run.restriction is not None and not run.restriction.units.any():
            return SearchResponse(notes=(*notes, self.nothing_left))
        results = (SearchResult(self.reader, one) for one in found)
        return SearchResponse(results, confidence=self._confidence(parsed.text, found), notes=notes, found=found)

    def _confidence(self, query: str, found: Sequence[RankedFile]) -> Confidence | None:
        """The confidence in an answer; None where the query has no words."""
        line = self.reader.settings.search.not_here
        if not query.strip():
            return None
        if not found:
            return nothing_found(query, line)
        return confidence_of(leading_files(found), line, shipped_model=is_shipped(self.reader.encoder))

    def find(self, target: str) -> Array:
        """The units that a target (a file, the end of a path, `file:line`, a symbol) stands for."""
        return find_target(self.reader.snapshot, target)

    def why(self, request: SearchRequest, target: str) -> Why:
        """Why a file (or `file:line`, or a symbol) stands where it stands in the answer to a request."""
        units, ranked = self._ranked_with(request, target)
        return explain(strip_secrets(request.query), units, ranked)

    def rival(self, request: SearchRequest, target: str) -> Rival | None:
        """What a file lacks against the last of k results, or against the first where it is one of them; None for the first."""
        from whence.search.explain import rival_of  # noqa: PLC0415  -- only where it is asked for

        units, ranked = self._ranked_with(request, target)
        return rival_of(units, ranked, self.reader.settings.search.k if request.k is None else request.k)

    def absence(self, request: SearchRequest, units: Array) -> Absence | None:
        """Which condition keeps some units out of the answer to a request; None where none does."""
        from whence.search.explain import excluded_by  # noqa: PLC0415  -- as above

        snapshot, parsed = self.reader.snapshot, request.parsed
        filters = self.run_of(request).request.filters

        def left_by(conditions: Sequence[Condition]) -> Array:
            return self._restriction(parsed, conditions, snapshot.alive, None, []).units

        return excluded_by(units, snapshot, filters, parsed.conditions, left_by)

    def related(self, example: RelatedQuery, request: SearchRequest) -> list[SearchResult]:
        """Units like another, best first (Q9)."""
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
            read=reader.read_text,
            encoder=reader.encoder,
            trace=self.trace,
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

        return restrict(conditions, self.reader.snapshot, files, units, self.reader.read_text, named)

    def _ranked_with(self, request: SearchRequest, target: str) -> tuple[Array, RankedPool]:
        """The units that a target stands for, and the answer to a request with at least one of them in it."""
        parsed = request.parsed
        run, _ = self.restricted(parsed, self.run_of(request))
        if not parsed.text.strip():
            raise UsageError("a query without words ranks nothing", hint="add a word to ask why something comes first")
        units = self.find(target)
        return units, ranked_with(parsed.text, run, units)

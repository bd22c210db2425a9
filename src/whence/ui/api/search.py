"""Search while typing: ranked files with their code, facets, and the confidence of the answer."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from fastapi import APIRouter
from pydantic import Field

from whence.app.presenters.search import LowConfidence, low_confidence_of, merge_roots
from whence.app.workspace import BuildProgress, IndexSession, Workspace
from whence.core.errors import QueryError, RootError, StorageError, UsageError
from whence.core.request import pick_fields
from whence.search.request import SearchRequest
from whence.search.result import Facets
from whence.source.read import strip_secrets
from whence.text.injection import warning_of
from whence.ui.highlight import of_result
from whence.ui.models import ApiModel, BuildProgressView, CodeLine, CurrentWorkspace, FreshnessView, Text, takes

if TYPE_CHECKING:
    from whence.app.index import Index
    from whence.fleet.search import Fleet
    from whence.search.result import SearchResult

router = APIRouter()
MAX_RESULTS = 100


@takes(SearchRequest)
class SearchBody(ApiModel):
    """A query and how to rank it."""

    query: str
    k: int = Field(10, ge=1)  # how many files, at most 100
    root: str = ""  # a root's name; empty: all
    factors: dict[str, float] = Field(default_factory=dict)
    fleet: bool = False  # search all repositories of the fleet instead of roots
    hurried: bool = False  # the user is still typing: do not read files that are not indexed when confidence is low

    @property
    def request(self) -> SearchRequest:
        """The request to an index."""
        return SearchRequest(**{**pick_fields(SearchRequest, dict(self)), "k": min(self.k, MAX_RESULTS)})


class ScorePart(ApiModel):
    """A contribution to a score, in short."""

    signal: str
    operation: str
    contribution: float


class ResultView(ApiModel):
    """One file of the results."""

    root: str  # in a fleet: the repository
    path: Text
    name: Text  # of the unit that matches best; empty outside any definition
    qualified_name: Text
    kind: str
    language: str
    sort: str  # code, docs, tests, config and so on
    score: float
    start_line: int
    end_line: int
    best_start_line: int  # of the lines that match best
    best_end_line: int  # of the lines that match best
    lines: list[CodeLine]  # an excerpt, with colours
    parts: list[ScorePart]
    warning: str = ""  # set if it reads like an instruction


class FacetCounts(ApiModel):
    """How many ranked files there are in each language, kind and folder; most first."""

    files: int  # all ranked files
    languages: dict[str, int]
    kinds: dict[str, int]
    folders: dict[Text, int]  # how many there are in each folder
    repositories: dict[Text, int] = Field(default_factory=dict)  # how many there are in each repository of the fleet


class ConfidenceView(ApiModel):
    """The probability that the answer is among the results (Z1)."""

    probability: float  # from 0 to 1
    line: float  # below this the answer is probably not here
    here: bool  # whether the probability is above the line
    said: str  # the warning if it is not; else empty


class RootState(ApiModel):
    """The state of a root's index."""

    name: str
    files: int  # indexed
    fresh: FreshnessView | None  # null while there is no index
    progress: BuildProgressView
    trouble: str = ""


class SearchReply(ApiModel):
    """The results of a search."""

    query: str  # without secrets
    results: list[ResultView]  # best first
    facets: FacetCounts
    confidence: ConfidenceView | None  # null if nothing was ranked, or not everything is indexed yet
    notes: list[Text]
    roots: list[RootState]
    repositories: int = 0  # in a fleet: how many were searched
    milliseconds: float


@dataclass(slots=True)
class _RootReply:
    """The results of one root."""

    state: RootState
    hits: list[ResultView] = field(default_factory=list)
    facets: Facets = field(default_factory=Facets)
    doubt: LowConfidence | None = None
    notes: tuple[str, ...] = ()
    refused: QueryError | None = None


@router.post("/search")
async def search(workspace: CurrentWorkspace, asked: SearchBody) -> SearchReply:
    """Rank files for a query, in one root or all of them."""
    began = time.perf_counter()
    if asked.fleet:
        return await _search_fleet(workspace, asked, began)
    told = await asyncio.gather(*(_ask(workspace, session, asked) for session in workspace.sessions(asked.root)))
    refused = [one.refused for one in told if one.refused is not None]
    if refused and len(refused) == len(told):
        raise refused[0]
    hits, confidence = merge_roots([one.hits for one in told], [one.doubt for one in told], asked.k, lambda one: one.score)
    return SearchReply(
        query=strip_secrets(asked.query),
        results=hits,
        facets=_sum_facets([one.facets for one in told]),
        confidence=_confidence(confidence),
        notes=_notes(told),
        roots=[one.state for one in told],
        milliseconds=_since(began),
    )


async def _search_fleet(workspace: Workspace, asked: SearchBody, began: float) -> SearchReply:
    """Search all repositories of the fleet that the server may see."""
    if asked.root:
        raise UsageError("a search of the fleet takes no root", hint="repo:PATTERN in the query chooses repositories")

    def ask(fleet: Fleet) -> SearchReply:
        found = fleet.search(asked.request)
        facets, searched = _sum_facets([found.facets]), asked.request.content or fleet.settings.search.content
        return SearchReply(
            query=strip_secrets(asked.query),
            results=[hit_of(one.repository, one, one.text, one.path_inside) for one in found.files],
            facets=facets.model_copy(update={"repositories": found.repository_counts}),
            confidence=_confidence(LowConfidence(found.confidence, searched=searched) if found.confidence is not None else None),
            notes=[note for note in found.notes if note],
            roots=[],
            repositories=len(found.searched),
            milliseconds=_since(began),
        )

    return await workspace.fleet.ask(ask)


def _since(began: float) -> float:
    return round((time.perf_counter() - began) * 1000, 2)


async def _ask(workspace: Workspace, session: IndexSession, asked: SearchBody) -> _RootReply:
    """Search one root. If one of several cannot be read, the others still answer."""
    name = workspace.name_of(session)
    try:
        return await session.ask(partial(_searched, name, workspace.nested_roots(session) if not asked.root else (), asked), wait=False)
    except (RootError, StorageError) as error:
        if not workspace.has_many_roots:
            raise
        return _RootReply(
            RootState(name=name, files=0, fresh=None, progress=BuildProgressView(building=False, share=0, missing=0), trouble=str(error))
        )


def _searched(name: str, inner: tuple[str, ...], asked: SearchBody, index: Index | None, progress: BuildProgress) -> _RootReply:
    state = RootState(
        name=name,
        files=progress.indexed,
        fresh=FreshnessView.of(index.freshness) if index is not None else None,
        progress=BuildProgressView.of(progress),
    )
    told = _RootReply(state)
    if index is None or not asked.query.strip() or not progress.indexed:
        return told
    request = asked.request
    try:
        answer = index.search(request)
    except QueryError as error:
        return replace(told, refused=error)
    told.hits = [hit_of(name, one, index.read_text(one.path)) for one in answer if not one.path.startswith(inner)]
    told.facets, told.notes = answer.facets, answer.notes
    told.doubt = low_confidence_of([(index, answer.confidence)], request.content, hurried=asked.hurried) if not progress.building else None
    return told


def hit_of(root: str, result: SearchResult, text: str | None, path: str = "") -> ResultView:
    """A result with its code, which stands in a text."""
    return ResultView.of(
        result,
        root=root,
        path=path or result.path,
        best_start_line=result.best_start,
        best_end_line=result.best_end,
        lines=of_result(result, text),
        parts=[ScorePart(signal=name, operation=operation, contribution=value) for name, operation, value in result.parts],
        warning=warning_of(result.flags),
    )


def _sum_facets(facets: Sequence[Facets]) -> FacetCounts:
    def summed(name: str) -> dict[str, int]:
        return dict(sum((Counter(getattr(one, name)) for one in facets), Counter()).most_common())

    return FacetCounts(
        files=sum(one.files for one in facets), languages=summed("languages"), kinds=summed("kinds"), folders=summed("folders")
    )


def _notes(told: Sequence[_RootReply]) -> list[str]:
    """Notes on the results; those of only some roots with their names."""
    said: dict[str, list[str]] = {}
    for one in told:
        for note in (*one.notes, *([one.refused.message.partition("\n")[0]] if one.refused is not None else ())):
            said.setdefault(note, []).append(one.state.name)
    return [note if len(names) == len(told) else f"{', '.join(names)}: {note}" for note, names in said.items()]


def _confidence(confidence: LowConfidence | None) -> ConfidenceView | None:
    if confidence is None:
        return None
    of = confidence.confidence
    return ConfidenceView.of(of, probability=round(of.probability, 4), said=str(confidence))

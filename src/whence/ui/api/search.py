"""Search as one types: ranked files with their code, counted by facets, and how sure it is that they are meant."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

from fastapi import APIRouter
from pydantic import Field

from whence.app.low_confidence import LowConfidence, doubt_of
from whence.app.session import BuildProgress, IndexSession
from whence.app.workspace import Workspace
from whence.core.errors import QueryError, RootError, StorageError, UsageError
from whence.core.request import pick_fields
from whence.parse.provenance import warning_of
from whence.search.request import SearchRequest
from whence.search.result import Facets
from whence.source.read import strip_secrets
from whence.ui.highlight import of_result
from whence.ui.models import ApiModel, BuildProgressView, CodeLine, CurrentWorkspace, FreshnessView, Text, takes

if TYPE_CHECKING:
    from whence.app.index import Index
    from whence.fleet.search import Fleet
    from whence.search.result import SearchResult

router = APIRouter()
MOST_RESULTS = 100


@takes(SearchRequest)
class SearchBody(ApiModel):
    """A query and how it is to be ranked."""

    query: str
    k: int = Field(10, ge=1)  # how many files; at most 100 are given
    root: str = ""  # a root's name; empty asks all
    factors: dict[str, float] = Field(default_factory=dict)  # by signal: times its weight, 0 is off
    fleet: bool = False  # ask all repositories of the fleet, instead of roots
    hurried: bool = False  # somebody is typing: where the answer is in doubt, files that are not indexed are not read for it

    @property
    def request(self) -> SearchRequest:
        """What is asked of an index."""
        return SearchRequest(**{**pick_fields(SearchRequest, dict(self)), "k": min(self.k, MOST_RESULTS)})


class ScorePart(ApiModel):
    """A contribution to a score, as far as a glance can tell."""

    signal: str
    operation: str
    contribution: float


class ResultView(ApiModel):
    """One file of an answer."""

    root: str  # of the fleet: the repository
    path: Text
    name: Text  # of the function, class or section that fits best; empty outside of any
    qualified_name: Text
    kind: str
    language: str
    sort: str  # code, docs, tests, config and so on
    score: float
    start_line: int
    end_line: int
    best_start_line: int  # of the lines in it that fit best
    best_end_line: int  # as above
    lines: list[CodeLine]  # those that are worth a look, in their colours
    parts: list[ScorePart]
    warning: str = ""  # that it reads like an instruction


class FacetCounts(ApiModel):
    """How many of the files that were ranked are of each language, kind and folder; most first."""

    files: int  # that were ranked
    languages: dict[str, int]
    kinds: dict[str, int]
    folders: dict[Text, int]  # how many there are in each folder
    repositories: dict[Text, int] = Field(default_factory=dict)  # how many there are in each repository of the fleet


class ConfidenceView(ApiModel):
    """How sure it is that the answer is among the results (Z1)."""

    probability: float  # that the answer is here, from 0 to 1
    line: float  # below this it is most likely not here
    here: bool  # whether it is above the line
    said: str  # the doubt in words; empty when there is none


class RootState(ApiModel):
    """How the index of a root stands."""

    name: str
    files: int  # that are indexed
    fresh: FreshnessView | None  # null as long as there is no index
    progress: BuildProgressView
    trouble: str = ""


class SearchReply(ApiModel):
    """What a search gives."""

    query: str  # as it was asked, without secrets
    results: list[ResultView]  # best first
    facets: FacetCounts
    confidence: ConfidenceView | None  # null where nothing was ranked, or not all is indexed
    notes: list[Text]
    roots: list[RootState]
    repositories: int = 0  # of the fleet: how many were searched
    milliseconds: float


@dataclass(slots=True)
class _RootReply:
    """What one root has to say."""

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
        return await _of_fleet(workspace, asked, began)
    told = await asyncio.gather(*(_ask(workspace, session, asked) for session in workspace.sessions(asked.root)))
    refused = [one.refused for one in told if one.refused is not None]
    if refused and len(refused) == len(told):
        raise refused[0]
    hits = sorted(chain.from_iterable(one.hits for one in told), key=lambda one: -one.score)[: asked.k]
    return SearchReply(
        query=strip_secrets(asked.query),
        results=hits,
        facets=_together([one.facets for one in told]),
        confidence=_surest([one.doubt for one in told if one.doubt is not None]),
        notes=_notes(told),
        roots=[one.state for one in told],
        milliseconds=_since(began),
    )


async def _of_fleet(workspace: Workspace, asked: SearchBody, began: float) -> SearchReply:
    """The answer of all repositories that the server's caller may see."""
    if asked.root:
        raise UsageError("a search of the fleet takes no root", hint="repo:PATTERN in the query chooses repositories")

    def ask(fleet: Fleet) -> SearchReply:
        found = fleet.search(asked.request)
        facets, searched = _together([found.facets]), asked.request.content or fleet.settings.search.content
        return SearchReply(
            query=strip_secrets(asked.query),
            results=[hit_of(one.repository, one, one.text, one.path_inside) for one in found.files],
            facets=facets.model_copy(update={"repositories": found.repository_counts}),
            confidence=_surest([LowConfidence(found.confidence, searched=searched)] if found.confidence is not None else []),
            notes=[note for note in found.notes if note],
            roots=[],
            repositories=len(found.searched),
            milliseconds=_since(began),
        )

    return await workspace.fleet.ask(ask)


def _since(began: float) -> float:
    return round((time.perf_counter() - began) * 1000, 2)


async def _ask(workspace: Workspace, session: IndexSession, asked: SearchBody) -> _RootReply:
    """What one root has to say; one of several that cannot be read does not silence the others."""
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
    told.doubt = doubt_of([(index, answer.confidence)], request.content, hurried=asked.hurried) if not progress.building else None
    return told


def hit_of(root: str, result: SearchResult, text: str | None, path: str = "") -> ResultView:
    """A result with its code, which stands in a text."""
    return ResultView(
        root=root,
        path=path or result.path,
        name=result.name,
        qualified_name=result.qualified_name,
        kind=result.kind,
        language=result.language,
        sort=result.sort,
        score=result.score,
        start_line=result.start_line,
        end_line=result.end_line,
        best_start_line=result.best_start,
        best_end_line=result.best_end,
        lines=of_result(result, text),
        parts=[ScorePart(signal=name, operation=operation, contribution=value) for name, operation, value in result.parts],
        warning=warning_of(result.flags),
    )


def _together(facets: Sequence[Facets]) -> FacetCounts:
    def summed(name: str) -> dict[str, int]:
        return dict(sum((Counter(getattr(one, name)) for one in facets), Counter()).most_common())

    return FacetCounts(
        files=sum(one.files for one in facets), languages=summed("languages"), kinds=summed("kinds"), folders=summed("folders")
    )


def _notes(told: Sequence[_RootReply]) -> list[str]:
    """What there is to say of the answer; what only some roots say, with their names."""
    said: dict[str, list[str]] = {}
    for one in told:
        for note in (*one.notes, *([one.refused.message.partition("\n")[0]] if one.refused is not None else ())):
            said.setdefault(note, []).append(one.state.name)
    return [note if len(names) == len(told) else f"{', '.join(names)}: {note}" for note, names in said.items()]


def _surest(doubts: Sequence[LowConfidence]) -> ConfidenceView | None:
    """The surest of some roots speaks for all of them."""
    surest = max(doubts, key=lambda one: one.confidence.probability, default=None)
    if surest is None:
        return None
    of = surest.confidence
    everything = replace(surest, left_out=tuple(chain.from_iterable(one.left_out for one in doubts)))
    return ConfidenceView(probability=round(of.probability, 4), line=of.line, here=of.here, said=str(everything))

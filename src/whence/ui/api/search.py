"""Search while typing: ranked files with their code, facets, and the confidence of the answer."""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter
from pydantic import Field

from whence.app.presenters.search import JoinedAnswer, LowConfidence, RootAnswer, join_answers, search_fleet, search_root
from whence.app.workspace import BuildProgress, IndexSession, Workspace
from whence.core.errors import UsageError, WhenceError
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


@router.post("/search")
async def search(workspace: CurrentWorkspace, asked: SearchBody) -> SearchReply:
    """Rank files for a query, in one root or all of them."""
    began = time.perf_counter()
    if asked.fleet:
        return await _search_fleet(workspace, asked, began)
    told = await workspace.ask_each(
        workspace.sessions(asked.root), partial(_searched, workspace, asked), partial(_unreadable, workspace), wait=False
    )
    answer = join_answers([one for _, one in told], min(asked.k, MAX_RESULTS))
    return _reply(asked, answer, began, roots=[state for state, _ in told])


async def _search_fleet(workspace: Workspace, asked: SearchBody, began: float) -> SearchReply:
    """Search all repositories of the fleet that the server may see."""
    if asked.root:
        raise UsageError("a search of the fleet takes no root", hint="repo:PATTERN in the query chooses repositories")

    def ask(fleet: Fleet) -> SearchReply:
        answer, found = search_fleet(fleet, asked.request, lambda one: hit_of(one.repository, one, one.text, one.path_inside))
        joined = join_answers([answer], None)
        return _reply(asked, joined, began, counts=found.repository_counts, repositories=len(found.searched))

    return await workspace.fleet.ask(ask)


def _reply(
    asked: SearchBody, answer: JoinedAnswer[ResultView], began: float, *, counts: Mapping[str, int] | None = None, **of: Any
) -> SearchReply:
    return SearchReply(
        query=strip_secrets(asked.query),
        results=answer.results,
        facets=FacetCounts.of(answer.facets or Facets(), repositories=dict(counts or {})),
        confidence=_confidence(answer.low_confidence),
        notes=answer.notes,
        milliseconds=round((time.perf_counter() - began) * 1000, 2),
        **{"roots": [], **of},
    )


def _unreadable(workspace: Workspace, session: IndexSession, error: WhenceError) -> tuple[RootState, RootAnswer[ResultView]]:
    progress = BuildProgressView(building=False, share=0, missing=0)
    return RootState(name=workspace.name_of(session), files=0, fresh=None, progress=progress, trouble=str(error)), RootAnswer()


def _searched(
    workspace: Workspace, asked: SearchBody, session: IndexSession, index: Index | None, progress: BuildProgress
) -> tuple[RootState, RootAnswer[ResultView]]:
    name = workspace.name_of(session)
    fresh = FreshnessView.of(index.freshness) if index is not None else None
    state = RootState(name=name, files=progress.indexed, fresh=fresh, progress=BuildProgressView.of(progress))
    if index is None or not asked.query.strip() or not progress.indexed:
        return state, RootAnswer(name)
    whole, inner = index, workspace.nested_roots(session) if not asked.root else ()
    return state, search_root(
        whole,
        asked.request,
        lambda one: hit_of(name, one, whole.read_text(one.path)),
        name=name,
        inner=inner,
        building=progress.building,
        hurried=asked.hurried,
        faceted=True,
    )


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


def _confidence(confidence: LowConfidence | None) -> ConfidenceView | None:
    if confidence is None:
        return None
    of = confidence.confidence
    return ConfidenceView.of(of, probability=round(of.probability, 4), said=str(confidence))

"""Two weightings compared: queries ranked under both, and measured if their answers are known."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from fastapi import APIRouter
from pydantic import Field

from whence.app.workspace import BuildProgress, require_index
from whence.core.errors import QueryError, UsageError
from whence.search.metrics import DEPTH, ndcg, same_file
from whence.search.request import with_factors
from whence.source.read import strip_secrets
from whence.ui.api.why import profile_of
from whence.ui.models import ApiModel, CurrentWorkspace, Text

if TYPE_CHECKING:
    from whence.app.index import Index

router = APIRouter()
#: Queries of one call: each is ranked twice, and the page shows progress between calls.
MAX_QUERIES = 20
MAX_FILES = 50
MAX_ANSWERS = 200


class ProfileSide(ApiModel):
    """A way to rank: a profile, with factors for its weights."""

    profile: str | None = None
    factors: dict[str, float] = Field(default_factory=dict)


class JudgedQuery(ApiModel):
    """A query, and the files that answer it, if known."""

    query: str
    answers: list[str] = Field(default_factory=list, max_length=MAX_ANSWERS)  # paths or ends of paths; empty: not known


class CompareBody(ApiModel):
    """Queries, and two ways to rank them."""

    queries: list[JudgedQuery]  # at most 20 in one call
    a: ProfileSide
    b: ProfileSide
    root: str = ""  # a root's name; empty: all
    k: int = Field(DEPTH, ge=1)  # how many files to return for each query, at most 50


class ComparedFile(ApiModel):
    """A ranked file."""

    path: Text  # prefixed with its root, if there are several
    score: float
    answers: bool  # whether it is one of the known answers


class ComparedRanking(ApiModel):
    """The first files of one ranking, and its NDCG at 10 if the answers are known."""

    files: list[ComparedFile]  # best first
    ndcg: float | None  # from 0 to 1; null if no answers are known


class ComparedQuery(ApiModel):
    """One query, ranked both ways."""

    query: str  # without secrets
    a: ComparedRanking | None  # null if the query is invalid
    b: ComparedRanking | None  # null if the query is invalid
    first_difference: int | None  # the first rank at which they differ
    unknown: list[Text]  # answers that match no indexed file
    trouble: Text = ""  # why the query is invalid


class CompareReply(ApiModel):
    """All queries of a call, in order."""

    depth: int  # how many files the NDCG counts
    queries: list[ComparedQuery]


@dataclass(slots=True)
class _ComparedRoot:
    """The results of one root for one query."""

    a: list[ComparedFile] = field(default_factory=list)
    b: list[ComparedFile] = field(default_factory=list)
    unknown: set[str] = field(default_factory=set)
    trouble: str = ""


@router.post("/compare")
async def compare(workspace: CurrentWorkspace, asked: CompareBody) -> CompareReply:
    """Rank a few queries in two ways; send a longer list in several calls."""
    if len(asked.queries) > MAX_QUERIES:
        raise UsageError(f"{len(asked.queries)} queries are too many for one call", hint=f"ask at most {MAX_QUERIES} at a time")
    sessions = workspace.sessions(asked.root)
    told = await asyncio.gather(
        *(session.ask(partial(_ranked, workspace.label(session), workspace.nested_roots(session), asked)) for session in sessions)
    )
    return CompareReply(depth=DEPTH, queries=[_compared(asked, at, [one[at] for one in told]) for at in range(len(asked.queries))])


def _ranked(label: str, inner: tuple[str, ...], asked: CompareBody, index: Index | None, progress: BuildProgress) -> list[_ComparedRoot]:
    whole = require_index(index, progress)
    for side in (asked.a, asked.b):  # an invalid weighting is so for every query
        with_factors(*profile_of(whole.settings, side.profile or ""), side.factors)
    return [_compare_in_root(label, inner if not asked.root else (), asked, question, whole) for question in asked.queries]


def _compare_in_root(label: str, inner: tuple[str, ...], asked: CompareBody, question: JudgedQuery, index: Index) -> _ComparedRoot:
    indexed = [f"{label}{path}" for path, alive in zip(index.snapshot.paths, index.snapshot.alive.tolist(), strict=True) if alive]
    told = _ComparedRoot(unknown={answer for answer in question.answers if not any(same_file(path, answer) for path in indexed)})
    depth = max(DEPTH, min(asked.k, MAX_FILES))  # at least as deep as NDCG counts

    def placed(side: ProfileSide) -> list[ComparedFile]:
        found = index.search(question.query, k=depth, profile=side.profile, factors=side.factors)
        own = [(f"{label}{one.path}", one.score) for one in found if not one.path.startswith(inner)]
        return [
            ComparedFile(path=path, score=score, answers=any(same_file(path, answer) for answer in question.answers)) for path, score in own
        ]

    try:
        told.a, told.b = placed(asked.a), placed(asked.b)
    except QueryError as error:
        told.trouble = strip_secrets(error.message.partition("\n")[0])
    return told


def _compared(asked: CompareBody, at: int, told: Sequence[_ComparedRoot]) -> ComparedQuery:
    question = asked.queries[at]
    unknown = set.intersection(*(one.unknown for one in told))
    heard = [one for one in told if not one.trouble]
    if not heard:
        return ComparedQuery(
            query=strip_secrets(question.query), a=None, b=None, first_difference=None, unknown=[], trouble=told[0].trouble
        )
    a, b = (sorted((file for one in heard for file in getattr(one, side)), key=lambda file: -file.score) for side in "ab")
    return ComparedQuery(
        query=strip_secrets(question.query),
        a=_ranking(a, question, asked.k),
        b=_ranking(b, question, asked.k),
        first_difference=_first_difference(a, b, asked.k),
        unknown=[strip_secrets(answer) for answer in question.answers if answer in unknown],
    )


def _ranking(files: list[ComparedFile], question: JudgedQuery, k: int) -> ComparedRanking:
    paths = [one.path for one in files]
    return ComparedRanking(files=files[: min(k, MAX_FILES)], ndcg=ndcg(question.answers, paths) if question.answers else None)


def _first_difference(a: list[ComparedFile], b: list[ComparedFile], k: int) -> int | None:
    shown = min(k, MAX_FILES)
    mine, theirs = ([one.path for one in files[:shown]] for files in (a, b))
    if mine == theirs:
        return None
    same = next((at for at, (one, other) in enumerate(zip(mine, theirs, strict=False)) if one != other), min(len(mine), len(theirs)))
    return same + 1

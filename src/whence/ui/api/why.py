"""Why a file stands where it stands, or why it is missing; and what the weights are that can be moved."""

from __future__ import annotations

from dataclasses import asdict, replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Literal

from fastapi import APIRouter, Query
from pydantic import Field

from whence.app.session import BuildProgress, IndexSession, require_index
from whence.app.workspace import Workspace
from whence.core.errors import QueryError, UsageError
from whence.core.profiles import PROFILES, Profile, Weight
from whence.core.settings import PROJECT_FILE
from whence.ranking.receipt import totals
from whence.ranking.scoring import signal_named
from whence.search.request import SearchRequest, with_factors
from whence.source.read import strip_secrets
from whence.ui.api.search import MOST_RESULTS
from whence.ui.models import ApiModel, CurrentWorkspace, LedgerLineView, Text

if TYPE_CHECKING:
    from whence.app.index import Index
    from whence.core.settings_schema import Settings
    from whence.ranking.receipt import Why
    from whence.search.explain import Rival as FoundRival

router = APIRouter()
#: A longer name is none.
LONGEST_TARGET = 1_000


class WhyBody(ApiModel):
    """Something that is, or is not, in the answer to a query."""

    query: str
    target: str = Field(max_length=LONGEST_TARGET)  # a path, the end of one, path:line, or a symbol
    root: str = ""  # a root's name; empty looks in all of them
    profile: str | None = None
    factors: dict[str, float] = Field(default_factory=dict)  # by signal: times its weight, 0 is off
    content: str | None = None
    k: int = Field(10, ge=1)  # how many results are shown


class RetrieverView(ApiModel):
    """A retriever that found it, with its score and its place there."""

    retriever: str
    score: float
    rank: int


class ReceiptLine(LedgerLineView):
    """A contribution, the score after it, and the place without it."""

    total: float  # the last of a receipt is the score
    rank_without: int
    tells: bool  # whether it changes the score, as far as four places show


class SignalGapView(ApiModel):
    """How much a signal changes the score of this file and of another."""

    signal: str
    mine: float  # what it changes the score of this file by
    theirs: float  # and that of the other
    because_mine: Text  # the reason, in words
    because_theirs: Text  # as above


class RivalView(ApiModel):
    """A file that stands before this one, and what makes the difference, the largest first."""

    path: Text
    place: int  # its rank, from 1
    score: float
    gaps: list[SignalGapView]


class Receipt(ApiModel):
    """All that a score is made of."""

    path: Text
    name: Text  # of the function, class or section that fits best; empty outside of any
    kind: str
    line: int
    score: float
    rank: int
    candidates: int
    leader: Text
    leader_score: float
    found_by: list[RetrieverView]
    lines: list[ReceiptLine]  # in the order in which they enter the score
    rival: RivalView | None  # the last that is shown, or the first where this one is shown; none for the first itself


class WhyReply(ApiModel):
    """Where something stands, or what keeps it out."""

    query: str  # as it was asked, without secrets
    root: str
    target: Text  # as it was found
    # ranked: see the receipt; kept_out: by the query; left_out: of the index; unknown: no such file or symbol
    verdict: Literal["ranked", "kept_out", "left_out", "unknown"]
    said: Text = ""  # why it is not ranked
    unmet: list[Text] = Field(default_factory=list)  # the conditions of the query that it does not meet
    hint: Text = ""
    receipt: Receipt | None = None  # where it is ranked


class SignalsQuery(ApiModel):
    """Whose signals are asked for."""

    profile: str = ""  # default or classic; empty: the one that is searched with
    root: str = ""  # a root's name; empty: the first


class SignalView(ApiModel):
    """A signal of a profile: what it says, and what it weighs for short questions and for long ones."""

    name: str
    doc: str  # what it says, in a sentence
    phase: str
    operation: str
    short: float  # its weight for questions of a word or two
    long: float  # and for longer ones


class SignalsReply(ApiModel):
    """The signals of a profile, in the order in which they enter a score; and the profiles there are."""

    profile: str  # whose signals these are
    profiles: list[str]  # all that there are
    signals: list[SignalView]


class WeightsBody(ApiModel):
    """A profile whose weights were moved."""

    root: str = ""  # a root's name; empty: the first
    profile: str | None = None
    factors: dict[str, float]


class WeightsReply(ApiModel):
    """Lines for a file of settings that make moved weights the usual ones."""

    file: str  # the name of the file that they belong in, at the top of a repository
    lines: str  # of TOML


@router.post("/why")
async def why(workspace: CurrentWorkspace, asked: WhyBody) -> WhyReply:
    """The receipt of a file or symbol for a query, or why it has none."""
    if not asked.query.strip() or not asked.target.strip():
        raise UsageError("a query and something to find are needed", hint="for instance a path, or the name of a function")
    told = [await _ask(workspace, session, asked) for session in workspace.sessions(asked.root)]
    order = ("ranked", "kept_out", "left_out", "unknown")
    return min(told, key=lambda one: order.index(one.verdict))


async def _ask(workspace: Workspace, session: IndexSession, asked: WhyBody) -> WhyReply:
    label, target = workspace.label(session), asked.target.strip()
    return await session.ask(partial(_explained, workspace.name_of(session), (target, target.removeprefix(label)), asked))


def _explained(root: str, targets: tuple[str, str], asked: WhyBody, index: Index | None, progress: BuildProgress) -> WhyReply:
    """What there is to say of a target, as it is written or without the name of its root before it."""
    whole = require_index(index, progress)
    answer = partial(WhyReply, query=strip_secrets(asked.query), root=root)
    request = SearchRequest(asked.query, content=asked.content)
    target, other = targets
    missing = whole.absence(request, target)
    if missing is not None and missing.kind == "unknown" and other != target:
        target, missing = other, whole.absence(request, other)
    if missing is not None:
        said, hint, *unmet = map(strip_secrets, (missing.said, missing.hint, *missing.unmet))
        return answer(target=strip_secrets(target), verdict=missing.kind, said=said, hint=hint, unmet=unmet)
    ranked = replace(request, k=max(1, min(asked.k, MOST_RESULTS)), profile=asked.profile, factors=asked.factors)
    receipt = _receipt(whole.why(ranked, target), whole.rival(ranked, target))
    return answer(target=target, verdict="ranked", receipt=receipt)


def _receipt(found: Why, rival: FoundRival | None) -> Receipt:
    after = totals([one.line for one in found.lines])
    return Receipt(
        path=found.path,
        name=found.unit,
        kind=found.kind,
        line=found.line,
        score=found.score,
        rank=found.rank,
        candidates=found.candidates,
        leader=found.leader,
        leader_score=found.leader_score,
        found_by=[RetrieverView(retriever=one.retriever, score=one.score, rank=one.rank) for one in found.found_by],
        lines=[
            ReceiptLine(**dict(LedgerLineView.of(one.line)), total=total, rank_without=one.rank_without, tells=one.line.is_visible)
            for one, total in zip(found.lines, after, strict=True)
        ],
        rival=None if rival is None else _rival(rival),
    )


def _rival(found: FoundRival) -> RivalView:
    return RivalView(path=found.path, place=found.place, score=found.score, gaps=[SignalGapView(**asdict(gap)) for gap in found.gaps])


@router.get("/signals")
async def signals(workspace: CurrentWorkspace, asked: Annotated[SignalsQuery, Query()]) -> SignalsReply:
    """The signals of a profile with the weights that a root's settings give them."""
    name, chosen = await _profile(workspace, asked.root, asked.profile)
    known = [(signal_named(signal), weight) for signal, weight in chosen.signals.items()]
    listed = [
        SignalView(
            name=one.name, doc=one.doc, phase=one.phase.name.lower(), operation=one.operation.value, short=weight.short, long=weight.long
        )
        for one, weight in sorted(known, key=lambda pair: pair[0].phase)
    ]
    return SignalsReply(profile=name, profiles=list(PROFILES), signals=listed)


@router.post("/weights")
async def weights(workspace: CurrentWorkspace, asked: WeightsBody) -> WeightsReply:
    """Lines for the settings of a repository that make moved weights permanent."""
    name, chosen = await _profile(workspace, asked.root, asked.profile or "")
    moved = with_factors(name, chosen, asked.factors).signals
    tables = [_table(f"profiles.{name}.signals.{signal}", moved[signal]) for signal in asked.factors]
    return WeightsReply(file=PROJECT_FILE, lines="\n".join(tables))


def _table(name: str, weight: Weight) -> str:
    return f"[{name}]\nshort = {weight.short + 0.0!r}\nlong = {weight.long + 0.0!r}\n"  # a minus before a zero says nothing


async def _profile(workspace: Workspace, root: str, name: str) -> tuple[str, Profile]:
    """A profile as the settings of a root have it; without a name, the one that it searches with."""
    session = workspace.sessions(root)[0]
    return profile_of(await session.ask(lambda _index, _progress: session.settings(), wait=False), name)


def profile_of(settings: Settings, name: str) -> tuple[str, Profile]:
    """A profile of some settings; without a name, the one that is searched with."""
    chosen = name or settings.search.profile
    if chosen not in PROFILES:
        raise QueryError(f"there is no profile {chosen[:80]!r}", hint=f"allowed: {', '.join(PROFILES)}")
    return chosen, settings.profiles[chosen]

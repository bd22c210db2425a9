"""Why a file has its rank or is missing; and the weights that a user can change."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Literal

from fastapi import APIRouter, Query
from pydantic import Field

from whence.app.workspace import BuildProgress, IndexSession, Workspace, require_index
from whence.core.errors import QueryError, UsageError
from whence.core.profiles import PROFILES, Profile, Weight
from whence.core.settings import PROJECT_FILE
from whence.ranking.ledger import signal_named
from whence.ranking.receipt import totals
from whence.search.explain import Rival, SignalGap
from whence.search.request import SearchRequest, with_factors
from whence.source.read import strip_secrets
from whence.ui.api.search import MAX_RESULTS
from whence.ui.models import ApiModel, CurrentWorkspace, LedgerLineView, RetrievalView, Text, shows

if TYPE_CHECKING:
    from whence.app.index import Index
    from whence.core.settings import Settings
    from whence.ranking.receipt import Why

router = APIRouter()
#: Characters of a target.
MAX_TARGET = 1_000


class WhyBody(ApiModel):
    """A query, and a file or symbol to explain."""

    query: str
    target: str = Field(max_length=MAX_TARGET)  # a path or its end, path:line, or a symbol
    root: str = ""  # a root's name; empty: all
    profile: str | None = None
    factors: dict[str, float] = Field(default_factory=dict)
    content: str | None = None
    k: int = Field(10, ge=1)  # how many results are shown


class ReceiptLine(LedgerLineView):
    """A contribution, the score after it, and the rank without it."""

    total: float  # the score after this contribution
    rank_without: int
    tells: bool  # whether it changes the score within four decimals


@shows(SignalGap)
class SignalGapView(ApiModel):
    """How much a signal changes the score of this file and of another."""


@shows(Rival)
class RivalView(ApiModel):
    """A file that ranks higher, and the signals that make the difference, largest first."""

    gaps: list[SignalGapView]


class Receipt(ApiModel):
    """Everything a score is made of."""

    path: Text
    name: Text  # of the unit that matches best; empty outside any definition
    kind: str
    line: int
    score: float
    rank: int
    candidates: int
    leader: Text
    leader_score: float
    found_by: list[RetrievalView]
    lines: list[ReceiptLine]  # in the order they enter the score
    rival: RivalView | None  # the last file shown, or the first if this one is shown; null for the first itself


class WhyReply(ApiModel):
    """The rank of a target, or why it has none."""

    query: str  # without secrets
    root: str
    target: Text  # as found
    # ranked: see the receipt; kept_out: excluded by the query; left_out: not indexed; unknown: no such file or symbol
    verdict: Literal["ranked", "kept_out", "left_out", "unknown"]
    said: Text = ""  # why it is not ranked
    unmet: list[Text] = Field(default_factory=list)  # conditions of the query that it does not meet
    hint: Text = ""
    receipt: Receipt | None = None  # if it is ranked


class SignalsQuery(ApiModel):
    """Which profile's signals to list."""

    profile: str = ""  # default or classic; empty: the one in the settings
    root: str = ""


class SignalView(ApiModel):
    """A signal of a profile, with its weights."""

    name: str
    doc: str  # what it measures, in a sentence
    phase: str
    operation: str
    short: float  # its weight for queries of a word or two
    long: float  # its weight for longer queries


class SignalsReply(ApiModel):
    """The signals of a profile, in the order they enter a score; and all profiles."""

    profile: str  # that the signals belong to
    profiles: list[str]  # all profiles
    signals: list[SignalView]


class WeightsBody(ApiModel):
    """A profile with changed weights."""

    root: str = ""
    profile: str | None = None
    factors: dict[str, float]


class WeightsReply(ApiModel):
    """Settings that make changed weights permanent."""

    file: str  # the settings file, at the top of a repository
    lines: str  # TOML


@router.post("/why")
async def why(workspace: CurrentWorkspace, asked: WhyBody) -> WhyReply:
    """The receipt of a file or symbol for a query, or why it is not ranked."""
    if not asked.query.strip() or not asked.target.strip():
        raise UsageError("a query and a target are needed", hint="a target is a path, or the name of a function")
    told = [await _ask(workspace, session, asked) for session in workspace.sessions(asked.root)]
    order = ("ranked", "kept_out", "left_out", "unknown")
    return min(told, key=lambda one: order.index(one.verdict))


async def _ask(workspace: Workspace, session: IndexSession, asked: WhyBody) -> WhyReply:
    label, target = workspace.label(session), asked.target.strip()
    return await session.ask(partial(_explained, workspace.name_of(session), (target, target.removeprefix(label)), asked))


def _explained(root: str, targets: tuple[str, str], asked: WhyBody, index: Index | None, progress: BuildProgress) -> WhyReply:
    """Explain a target, as given or without the prefix of its root."""
    whole = require_index(index, progress)
    answer = partial(WhyReply, query=strip_secrets(asked.query), root=root)
    request = SearchRequest(asked.query, content=asked.content)
    target, other = targets
    missing = whole.absence(request, target)
    if missing is not None and missing.kind == "unknown" and other != target:
        target, missing = other, whole.absence(request, other)
    if missing is not None:
        said, hint, *unmet = map(strip_secrets, (missing.message, missing.hint, *missing.unmet))
        return answer(target=strip_secrets(target), verdict=missing.kind, said=said, hint=hint, unmet=unmet)
    ranked = replace(request, k=max(1, min(asked.k, MAX_RESULTS)), profile=asked.profile, factors=asked.factors)
    receipt = _receipt(whole.why(ranked, target), whole.rival(ranked, target))
    return answer(target=target, verdict="ranked", receipt=receipt)


def _receipt(why: Why, rival: Rival | None) -> Receipt:
    lines = [
        ReceiptLine.of(one.line, total=total, rank_without=one.rank_without, tells=one.line.is_visible)
        for one, total in zip(why.lines, totals([one.line for one in why.lines]), strict=True)
    ]
    return Receipt.of(why, name=why.unit, lines=lines, rival=rival)


@router.get("/signals")
async def signals(workspace: CurrentWorkspace, asked: Annotated[SignalsQuery, Query()]) -> SignalsReply:
    """The signals of a profile, with the weights in a root's settings."""
    name, chosen = await _profile(workspace, asked.root, asked.profile)
    known = sorted(((signal_named(signal), weight) for signal, weight in chosen.signals.items()), key=lambda pair: pair[0].phase)
    listed = [
        SignalView.of(one, phase=one.phase.name.lower(), operation=one.operation.value, short=weight.short, long=weight.long)
        for one, weight in known
    ]
    return SignalsReply(profile=name, profiles=list(PROFILES), signals=listed)


@router.post("/weights")
async def weights(workspace: CurrentWorkspace, asked: WeightsBody) -> WeightsReply:
    """Settings for a repository that make changed weights permanent."""
    name, chosen = await _profile(workspace, asked.root, asked.profile or "")
    moved = with_factors(name, chosen, asked.factors).signals
    tables = [_table(f"profiles.{name}.signals.{signal}", moved[signal]) for signal in asked.factors]
    return WeightsReply(file=PROJECT_FILE, lines="\n".join(tables))


def _table(name: str, weight: Weight) -> str:
    return f"[{name}]\nshort = {weight.short + 0.0!r}\nlong = {weight.long + 0.0!r}\n"  # no negative zero


async def _profile(workspace: Workspace, root: str, name: str) -> tuple[str, Profile]:
    """A profile from the settings of a root; without a name, the one it searches with."""
    session = workspace.sessions(root)[0]
    return profile_of(await session.ask(lambda _index, _progress: session.settings(), wait=False), name)


def profile_of(settings: Settings, name: str) -> tuple[str, Profile]:
    """A profile from settings; without a name, the one that searches use."""
    chosen = name or settings.search.profile
    if chosen not in PROFILES:
        raise QueryError(f"there is no profile {chosen[:80]!r}", hint=f"allowed: {', '.join(PROFILES)}")
    return chosen, settings.profiles[chosen]

"""The pack for a task: what is shown of each symbol, what it costs, what is left out, and what joins them."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Literal

from fastapi import APIRouter
from pydantic import Field

from whence.app.low_confidence import nothing_for, task_warning
from whence.app.presenters.text import freshness_facts
from whence.app.session import BuildProgress, IndexSession, require_index
from whence.app.workspace import Workspace
from whence.context.request import ContextRequest
from whence.core.request import pick_fields
from whence.parse.provenance import warning_of
from whence.ui.models import ApiModel, BuildProgressView, CurrentWorkspace, FreshnessView, LedgerLineView, Text, takes

if TYPE_CHECKING:
    from whence.app.index import Index
    from whence.context.budget import PackedText, PackItem
    from whence.context.pack import ContextPack, Symbol
    from whence.ranking.receipt import Why

router = APIRouter()
MOST_TOKENS = 10_000_000
#: Symbols that are told of although they are ranked below all that are looked at.
MOST_BEYOND = 50
#: Symbols of the picture, the best.
MOST_DRAWN = 120
#: Digits of a score.
DIGITS = 6


@takes(ContextRequest, "task", "files", "diff", "profile")
class ContextBody(ApiModel):
    """What is wanted: a task in words, or what depends on files, or what a change reaches."""

    root: str = ""  # a root's name; empty: the one of the files, or the first


@takes(ContextRequest)
class PackBody(ContextBody):
    """A pack to be made."""

    budget: int | None = Field(None, ge=1, le=MOST_TOKENS)  # tokens of the whole text


class WhySymbolBody(ContextBody):
    """Which symbol's score is to be explained."""

    symbol: str  # its key, or its name


#: How much of a symbol is in the text. Inside: as part of the source of another. Left out: it did not fit. Beyond: it is
#: ranked below the number of symbols that are looked at.
Form = Literal["body", "signature", "pointer", "inside", "left_out", "beyond"]


class SymbolView(ApiModel):
    """A symbol of the ranking, and how much of it the budget leaves."""

    key: Text  # path#qualified.name
    qualified_name: Text
    kind: str
    path: Text
    start_line: int
    end_line: int
    rank: int
    score: float
    walk: float  # how near the walk found it to the best, 0 to 1
    found_by: list[str]  # the retrievers that found it, before the walk
    # body, signature or pointer: in the text; inside: as part of another; left_out: it did not fit; beyond: not looked at
    form: Form
    tokens: float  # that it takes of the text; 0 where it is left out, or inside another
    uncut_tokens: float | None  # that it would take if there were no budget; null where it is not looked at
    holder: Text = ""  # the key of the symbol whose source holds it, or would if there were no budget
    warning: str = ""  # that it reads like an instruction


class DetailCounts(ApiModel):
    """How many symbols there are of each form."""

    ranked: int  # all of them
    looked_at: int  # as many as could ever be shown
    body: int  # shown with their source
    signature: int  # shown by their first lines
    pointer: int  # shown by where they are
    inside: int  # shown as part of another
    left_out: int  # that did not fit
    beyond: int  # ranked too low to be looked at


class SymbolEdge(ApiModel):
    """What joins two of the symbols."""

    source: Text  # a key
    target: Text  # a key
    group: str  # calls, inheritance, tests, contains or other
    weight: float  # how readily the walk follows it


class PackView(ApiModel):
    """A text within its budget, and what it is made of."""

    asked: Text  # the task, without secrets
    budget: int  # tokens of the whole text
    tokens: int  # of the text
    frame_tokens: float  # of what stands before and after the symbols
    missing_tokens: float  # that it would take to show all that is looked at in full
    text: Text  # as `whence context` prints it
    symbols: list[SymbolView]  # best first: all that are looked at, and the best of those beyond
    counts: DetailCounts
    edges: list[SymbolEdge]  # among the best


class ContextReply(ApiModel):
    """What there is for a task."""

    root: str
    pack: PackView | None  # null as long as nothing is indexed
    doubt: Text  # that what the task speaks of is most likely not here, or that nothing was found
    fresh: FreshnessView | None
    progress: BuildProgressView
    milliseconds: float


class ChannelView(ApiModel):
    """What one retriever said of a symbol."""

    retriever: str
    score: float
    rank: int


class ReasonView(LedgerLineView):
    """One contribution to a score, and the rank without it."""

    rank_without: int


class WhySymbolReply(ApiModel):
    """Why a symbol stands where it stands among those for a task."""

    qualified_name: Text
    kind: str
    path: Text
    line: int
    rank: int
    candidates: int
    score: float
    leader: Text
    leader_score: float
    found_by: list[ChannelView]
    lines: list[ReasonView]


@router.post("/context")
async def context(workspace: CurrentWorkspace, asked: PackBody) -> ContextReply:
    """Pack the symbols that a task needs into a budget. Looking at a pack teaches nothing."""
    session, request = _request(workspace, asked)
    return await session.ask(partial(_answered, workspace.name_of(session), request, asked.budget), wait=False)


@router.post("/context/why")
async def why(workspace: CurrentWorkspace, asked: WhySymbolBody) -> WhySymbolReply:
    """What the score of a symbol is made of, and what rank it would have without each part."""
    session, request = _request(workspace, asked)
    return await session.ask(partial(_explained, request, asked.symbol))


def _request(workspace: Workspace, asked: ContextBody) -> tuple[IndexSession, ContextRequest]:
    """Which index is asked, and for what.

    No feedback session is named: looking at a page teaches nothing. One pack serves all budgets: moving the budget only
    cuts it elsewhere.
    """
    given = pick_fields(ContextRequest, dict(asked))
    root = workspace.root_of({"root": asked.root}, given["files"])
    files = tuple(workspace.roots.locate(path, root)[1] or "." for path in given["files"])
    return workspace.session(root), ContextRequest(**{**given, "files": files, "budget": None})


def _explained(request: ContextRequest, symbol: str, index: Index | None, progress: BuildProgress) -> WhySymbolReply:
    return _why_answer(require_index(index, progress).why_symbol(request, symbol))


def _why_answer(found: Why) -> WhySymbolReply:
    return WhySymbolReply(
        qualified_name=found.unit,
        kind=found.kind,
        path=found.path,
        line=found.line,
        rank=found.rank,
        candidates=found.candidates,
        score=found.score,
        leader=found.leader,
        leader_score=found.leader_score,
        found_by=[ChannelView(retriever=one.retriever, score=one.score, rank=one.rank) for one in found.found_by],
        lines=[ReasonView(**LedgerLineView.of(one.line).model_dump(), rank_without=one.rank_without) for one in found.lines],
    )


def _answered(name: str, request: ContextRequest, budget: int | None, index: Index | None, progress: BuildProgress) -> ContextReply:
    began = time.perf_counter()
    shown, doubt = (None, "") if index is None or not progress.indexed else _packed(request, budget, index, progress)
    return ContextReply(
        root=name,
        pack=shown,
        doubt=doubt,
        fresh=FreshnessView.of(index.freshness) if index is not None else None,
        progress=BuildProgressView.of(progress),
        milliseconds=round((time.perf_counter() - began) * 1000, 2),
    )


def _packed(request: ContextRequest, budget: int | None, index: Index, progress: BuildProgress) -> tuple[PackView, str]:
    """The pack, and a warning about it."""
    pack = index.context(request, freshness=freshness_facts(index))
    shown = PackCut(pack, pack.within(budget or pack.budget)).shown(index)
    if not pack.symbols:
        return shown, nothing_for(request.diff)
    return shown, "" if progress.building else task_warning(pack)


@dataclass(frozen=True, slots=True)
class PackCut:
    """A pack under one budget, beside the same without any."""

    pack: ContextPack
    packed: PackedText

    def shown(self, index: Index) -> PackView:
        """All of it."""
        weights = [_weights(self.packed), _weights(self.pack.uncut)]
        now, uncut = (sum(one.values()) for one in weights)
        symbols = list(self._symbols(*weights))
        return PackView(
            asked=self.pack.task,
            budget=self.packed.budget,
            tokens=self.packed.tokens,
            frame_tokens=round(max(self.packed.tokens - now, 0), 2),
            missing_tokens=round(max(uncut - now, 0), 2),
            text=self.packed.text,
            symbols=symbols,
            counts=self._counts(symbols),
            edges=_edges(index, self.pack.symbols[:MOST_DRAWN]),
        )

    def _symbols(self, now: Mapping[str, float], uncut: Mapping[str, float]) -> Iterable[SymbolView]:
        forms, holders = _forms(self.packed), {**_holders(self.pack.uncut), **_holders(self.packed)}
        warnings = {one.item.key: warning_of(self.pack.flags(one)) for one in self.packed.shown}
        looked_at = sum(map(len, (self.packed.shown, self.packed.inside, self.packed.left_out)))
        for rank, one in enumerate(islice(self.pack.symbols, looked_at + MOST_BEYOND), 1):
            form = forms.get(one.key, "beyond")
            yield SymbolView(
                key=one.key,
                qualified_name=one.qualified_name,
                kind=one.kind,
                path=one.path,
                start_line=one.start_line,
                end_line=one.end_line,
                rank=rank,
                score=round(one.score, DIGITS),
                walk=round(one.walk, DIGITS),
                found_by=one.found_by,
                form=form,
                tokens=now.get(one.key, 0),
                uncut_tokens=None if form == "beyond" else uncut.get(one.key, 0),
                holder=holders.get(one.key, "") if form in ("inside", "left_out") else "",
                warning=warnings.get(one.key, ""),
            )

    def _counts(self, symbols: Sequence[SymbolView]) -> DetailCounts:
        forms = [one.form for one in symbols]
        looked_at = len(forms) - forms.count("beyond")
        return DetailCounts(
            ranked=len(self.pack.symbols),
            looked_at=looked_at,
            body=forms.count("body"),
            signature=forms.count("signature"),
            pointer=forms.count("pointer"),
            inside=forms.count("inside"),
            left_out=forms.count("left_out"),
            beyond=len(self.pack.symbols) - looked_at,
        )


def _forms(packed: PackedText) -> dict[str, Form]:
    """How much of each symbol is in a text, by its key."""
    from whence.context.budget import Detail as Shown  # noqa: PLC0415  -- loaded with the pack

    names: dict[Shown, Form] = {Shown.BODY: "body", Shown.SIGNATURE: "signature", Shown.POINTER: "pointer"}
    shown = {one.item.key: names[one.form] for one in packed.shown}
    return (
        shown
        | dict.fromkeys((one.key for one in packed.inside), "inside")
        | dict.fromkeys((one.key for one in packed.left_out), "left_out")
    )


def _weights(packed: PackedText) -> dict[str, float]:
    """The tokens that each symbol adds to a text, by its key."""
    from whence.text.token_estimate import PARTS  # noqa: PLC0415  -- loaded with the pack

    return {one.item.key: one.weight / PARTS for one in packed.shown}


def _holders(packed: PackedText) -> dict[str, str]:
    """For each symbol that is in a text as a part of another, the key of the innermost that it is a part of."""
    from whence.context.budget import Detail as Shown  # noqa: PLC0415  -- loaded with the pack

    bodies: dict[str, list[PackItem]] = {}
    for one in packed.shown:
        if one.form is Shown.BODY:
            bodies.setdefault(one.item.path, []).append(one.item)
    around = {
        piece.key: [one for one in bodies.get(piece.path, ()) if one.start_line <= piece.start_line and piece.end_line <= one.end_line]
        for piece in packed.inside
    }
    return {key: min(holders, key=lambda one: one.end_line - one.start_line).key for key, holders in around.items() if holders}


def _edges(index: Index, symbols: Sequence[Symbol]) -> list[SymbolEdge]:
    from whence.graph.neighbourhood import edges_among  # noqa: PLC0415  -- loaded with the pack

    keys = {one.unit: one.key for one in symbols}
    return [
        SymbolEdge(source=keys[one.source], target=keys[one.target], group=one.group, weight=round(one.weight, DIGITS))
        for one in edges_among(index.open_graph(), list(keys))
    ]

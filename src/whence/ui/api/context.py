"""The context pack of a task: how much of each symbol is shown, its tokens, what is left out, and the edges between symbols."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Literal, cast

from fastapi import APIRouter
from pydantic import Field

from whence.app.presenters.search import nothing_for, task_warning
from whence.app.presenters.text import freshness_facts
from whence.app.workspace import BuildProgress, IndexSession, Workspace, require_index
from whence.context.request import ContextRequest
from whence.core.request import pick_fields
from whence.text.injection import warning_of
from whence.ui.models import (
    ApiModel,
    BuildProgressView,
    CurrentWorkspace,
    FreshnessView,
    LedgerLineView,
    RetrievalView,
    Rounded,
    Text,
    takes,
)

if TYPE_CHECKING:
    from whence.app.index import Index
    from whence.context.budget import PackedText, PackItem
    from whence.context.pack import ContextPack, Symbol

router = APIRouter()
MAX_TOKENS = 10_000_000
#: Symbols that are listed although they rank below all that the pack chooses from.
MAX_BEYOND = 50
#: Symbols whose edges are listed, the best.
MAX_DRAWN = 120


@takes(ContextRequest, "task", "files", "diff", "profile")
class ContextBody(ApiModel):
    """A task in words; or files, for what depends on them; or a commit, for what the changes since affect."""

    root: str = ""  # a root's name; empty: the one of the files, or the first


@takes(ContextRequest)
class PackBody(ContextBody):
    """A context pack to build."""

    budget: int | None = Field(None, ge=1, le=MAX_TOKENS)  # tokens of the whole text


class WhySymbolBody(ContextBody):
    """The symbol whose score to explain."""

    symbol: str  # its key, or its name


#: How much of a symbol is in the text. Inside: as part of another. Left out: it did not fit. Beyond: it ranks too low to be considered.
Form = Literal["body", "excerpt", "signature", "pointer", "inside", "left_out", "beyond"]


class SymbolView(ApiModel):
    """A ranked symbol, and how much of it fits into the budget."""

    key: Text  # path#qualified.name
    qualified_name: Text
    kind: str
    path: Text
    start_line: int
    end_line: int
    rank: int
    score: Rounded
    walk: Rounded  # how near it is to the best in the graph, 0 to 1
    found_by: list[str]  # retrievers that found it
    # body, excerpt, signature or pointer: in the text; inside: as part of another; left_out: it did not fit; beyond: ranked too low
    form: Form
    tokens: float  # in the text; 0 if it is left out, or inside another
    uncut_tokens: float | None  # without a budget; null if it ranks too low
    holder: Text = ""  # the key of the symbol whose source contains it, or would without a budget
    warning: str = ""  # set if it reads like an instruction


class DetailCounts(ApiModel):
    """How many symbols there are of each form."""

    ranked: int  # all
    looked_at: int  # considered for the text
    body: int  # shown with their source
    excerpt: int  # shown with the lines that matter
    signature: int  # shown with their signature
    pointer: int  # shown with path and line only
    inside: int  # shown as part of another
    left_out: int  # did not fit
    beyond: int  # ranked too low to be considered


class SymbolEdge(ApiModel):
    """An edge between two of the symbols."""

    source: Text  # a key
    target: Text  # a key
    group: str  # calls, inheritance, tests, contains or other
    weight: Rounded  # how readily the walk follows it


class PackView(ApiModel):
    """A text within its budget, and what it is made of."""

    asked: Text  # the task, without secrets
    budget: int  # tokens of the whole text
    tokens: int  # of the text
    frame_tokens: float  # of the text before and after the symbols
    missing_tokens: float  # that everything considered would take in addition
    text: Text  # as `whence context` prints it
    symbols: list[SymbolView]  # best first: all that were considered, and the best of the rest
    counts: DetailCounts
    edges: list[SymbolEdge]  # between the best symbols


class ContextReply(ApiModel):
    """The context pack of a task."""

    root: str
    pack: PackView | None  # null while nothing is indexed
    doubt: Text  # a warning if the code is probably not here, or nothing was found
    fresh: FreshnessView | None
    progress: BuildProgressView
    milliseconds: float


class ReasonView(LedgerLineView):
    """One contribution to a score, and the rank without it."""

    rank_without: int


class WhySymbolReply(ApiModel):
    """Why a symbol has its rank for a task."""

    qualified_name: Text
    kind: str
    path: Text
    line: int
    rank: int
    candidates: int
    score: float
    leader: Text
    leader_score: float
    found_by: list[RetrievalView]
    lines: list[ReasonView]


@router.post("/context")
async def context(workspace: CurrentWorkspace, asked: PackBody) -> ContextReply:
    """Build the context pack of a task. It is not recorded as shown."""
    session, request = _request(workspace, asked)
    return await session.ask(partial(_context, workspace.name_of(session), request, asked.budget), wait=False)


@router.post("/context/why")
async def why(workspace: CurrentWorkspace, asked: WhySymbolBody) -> WhySymbolReply:
    """What the score of a symbol is made of, and its rank without each part."""
    session, request = _request(workspace, asked)
    return await session.ask(partial(_why, request, asked.symbol))


def _request(workspace: Workspace, asked: ContextBody) -> tuple[IndexSession, ContextRequest]:
    """The session and the request of a call: without a feedback session, and without a budget, so that one pack serves all budgets."""
    given = pick_fields(ContextRequest, dict(asked))
    root = workspace.root_of({"root": asked.root}, given["files"])
    files = tuple(workspace.roots.locate(path, root)[1] or "." for path in given["files"])
    return workspace.session(root), ContextRequest(**{**given, "files": files, "budget": None})


def _why(request: ContextRequest, symbol: str, index: Index | None, progress: BuildProgress) -> WhySymbolReply:
    why = require_index(index, progress).why_symbol(request, symbol)
    lines = [ReasonView.of(one.line, rank_without=one.rank_without) for one in why.lines]
    return WhySymbolReply.of(why, qualified_name=why.unit, lines=lines)


def _context(name: str, request: ContextRequest, budget: int | None, index: Index | None, progress: BuildProgress) -> ContextReply:
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
    shown = _shown(index, pack, pack.within(budget or pack.budget))
    if pack.is_empty:
        return shown, nothing_for(request)
    return shown, "" if progress.building else task_warning(pack)


def _shown(index: Index, pack: ContextPack, packed: PackedText) -> PackView:
    """A pack within a budget: every symbol with its tokens, here and without a budget."""
    weights = [_weights(packed), _weights(pack.uncut)]
    now, uncut = (sum(one.values()) for one in weights)
    symbols = list(_symbols(pack, packed, *weights))
    return PackView(
        asked=pack.task,
        budget=packed.budget,
        tokens=packed.tokens,
        frame_tokens=round(max(packed.tokens - now, 0), 2),
        missing_tokens=round(max(uncut - now, 0), 2),
        text=packed.text,
        symbols=symbols,
        counts=_counts(len(pack.symbols), symbols),
        edges=_edges(index, pack.symbols[:MAX_DRAWN]),
    )


def _symbols(pack: ContextPack, packed: PackedText, now: Mapping[str, float], uncut: Mapping[str, float]) -> Iterable[SymbolView]:
    forms, holders = _forms(packed), {**_holders(pack.uncut), **_holders(packed)}
    warnings = {one.item.key: warning_of(pack.flags(one)) for one in packed.shown}
    looked_at = sum(map(len, (packed.shown, packed.inside, packed.left_out)))
    for rank, one in enumerate(islice(pack.symbols, looked_at + MAX_BEYOND), 1):
        form = forms.get(one.key, "beyond")
        yield SymbolView.of(
            one,
            rank=rank,
            form=form,
            tokens=now.get(one.key, 0),
            uncut_tokens=None if form == "beyond" else uncut.get(one.key, 0),
            holder=holders.get(one.key, "") if form in ("inside", "left_out") else "",
            warning=warnings.get(one.key, ""),
        )


def _counts(ranked: int, symbols: Sequence[SymbolView]) -> DetailCounts:
    forms = Counter(one.form for one in symbols)
    looked_at = len(symbols) - forms.pop("beyond", 0)
    shown: dict[str, int] = {name: forms[name] for name in ("body", "excerpt", "signature", "pointer", "inside", "left_out")}
    return DetailCounts(ranked=ranked, looked_at=looked_at, beyond=ranked - looked_at, **shown)


def _forms(packed: PackedText) -> dict[str, Form]:
    """How much of each symbol is in a text, by its key."""
    inside: dict[str, Form] = dict.fromkeys((one.key for one in packed.inside), "inside")
    left_out: dict[str, Form] = dict.fromkeys((one.key for one in packed.left_out), "left_out")
    return {one.item.key: cast("Form", one.form.name.lower()) for one in packed.shown} | inside | left_out


def _weights(packed: PackedText) -> dict[str, float]:
    """The tokens that each symbol adds to a text, by its key."""
    from whence.text.token_estimate import PARTS  # noqa: PLC0415  -- loaded with the pack

    return {one.item.key: one.weight / PARTS for one in packed.shown}


def _holders(packed: PackedText) -> dict[str, str]:
    """For each symbol that is in a text as a part of others, the key of the innermost of these."""
    bodies: dict[str, list[PackItem]] = {}
    for one in packed.shown:
        if one.form.name == "BODY":
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
        SymbolEdge(source=keys[one.source], target=keys[one.target], group=one.group, weight=one.weight)
        for one in edges_among(index.open_graph(), list(keys))
    ]

"""The neighbourhood of a symbol: the nodes that a walk from it reaches, and the edges among them."""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Query

from whence.app.workspace import BuildProgress, require_index
from whence.graph.neighbourhood import GraphEdge, GraphNode
from whence.ui.models import ApiModel, BuildProgressView, CurrentWorkspace, FreshnessView, Rounded, Text, shows

if TYPE_CHECKING:
    from whence.app.index import Index

router = APIRouter()
#: Symbols listed for a name.
MAX_SYMBOLS = 100


class SymbolOffer(ApiModel):
    """A symbol that a name may refer to."""

    key: Text  # path#qualified.name
    name: Text
    kind: str
    path: Text
    line: int
    uses: int | None = None  # how many symbols use it; null if not counted


class SymbolsReply(ApiModel):
    """Symbols that match a name or a part of one."""

    root: str
    symbols: list[SymbolOffer]


@shows(GraphNode)
class GraphNodeView(ApiModel):
    """A symbol of a neighbourhood."""

    score: Rounded  # share of the walk, relative to the highest


@shows(GraphEdge)
class GraphEdgeView(ApiModel):
    """All edges of one kind from one symbol to another."""


class GraphReply(ApiModel):
    """The neighbourhood of a symbol; or the symbols to choose from, if several have the name."""

    root: str
    focus: Text  # the key of the symbol; empty if there are several
    nodes: list[GraphNodeView]  # the symbol itself, then by score
    edges: list[GraphEdgeView]
    left_out: int  # symbols that the walk reached and that are not listed
    open_calls: int  # unresolved calls of its name, which may mean it
    choices: list[SymbolOffer]
    fresh: FreshnessView
    progress: BuildProgressView
    milliseconds: float


@router.get("/symbols")
async def symbols(
    workspace: CurrentWorkspace, text: str = "", root: str = "", most: Annotated[int, Query(ge=1, le=MAX_SYMBOLS)] = 20
) -> SymbolsReply:
    """Symbols whose name is a text, begins with it or contains it; the most used ones if there is no text."""
    session = workspace.session(workspace.roots.select(root))
    return await session.ask(partial(_symbols, workspace.name_of(session), text, most))


@router.get("/graph")
async def graph(
    workspace: CurrentWorkspace, symbol: str, root: str = "", groups: str = "", depth: int | None = None, most: int | None = None
) -> GraphReply:
    """The neighbourhood of a symbol: at most `most` others (1 to 500, default 60) within `depth` hops (1 to 4, default 2).

    `groups` are the groups of edges to follow, separated by commas; by default all.
    """
    own, name = workspace.locate_symbol(symbol, workspace.named_root({"root": root}))
    session = workspace.session(own or workspace.roots.select(root))
    given = {"depth": depth, "most": most, "groups": tuple(filter(None, (one.strip() for one in groups.split(",")))) or None}
    options = {option: value for option, value in given.items() if value is not None}
    return await session.ask(partial(_neighbourhood, workspace.name_of(session), name, options))


def _symbols(root: str, text: str, most: int, index: Index | None, progress: BuildProgress) -> SymbolsReply:
    found = require_index(index, progress).completed(text, most)
    return SymbolsReply(root=root, symbols=[SymbolOffer.of(one, uses=uses) for one, uses in found])


def _neighbourhood(root: str, name: str, options: Mapping[str, Any], index: Index | None, progress: BuildProgress) -> GraphReply:
    began, whole = time.perf_counter(), require_index(index, progress)
    symbols = whole.questions().resolve(name)
    only = symbols[0] if len(symbols) == 1 else None
    found = whole.around(only, **options) if only is not None else None
    return GraphReply(
        root=root,
        focus=found.focus if found else "",
        nodes=[GraphNodeView.of(one) for one in found.nodes] if found else [],
        edges=[GraphEdgeView.of(one) for one in found.edges] if found else [],
        left_out=found.omitted if found else 0,
        open_calls=whole.questions().callers(only).unresolved.open if only is not None else 0,
        choices=[] if only is not None else [SymbolOffer.of(one) for one in symbols[:MAX_SYMBOLS]],
        fresh=FreshnessView.of(whole.freshness),
        progress=BuildProgressView.of(progress),
        milliseconds=round((time.perf_counter() - began) * 1000, 2),
    )

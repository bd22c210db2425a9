"""The neighbourhood of a symbol: what a walk from it comes to, the edges among that, and where the graph stops."""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Query

from whence.app.session import BuildProgress, require_index
from whence.ui.models import ApiModel, BuildProgressView, CurrentWorkspace, FreshnessView, Text

if TYPE_CHECKING:
    from whence.app.index import Index
    from whence.graph.names import NamedSymbol
    from whence.graph.neighbourhood import GraphEdge, GraphNode

router = APIRouter()
#: Symbols that are offered for a name at once.
MOST_OFFERED = 100
#: Digits of how near a walk found something.
DIGITS = 6


class SymbolOffer(ApiModel):
    """A symbol that a name may mean."""

    key: Text  # path#qualified.name
    name: Text
    kind: str
    path: Text
    line: int
    uses: int | None = None  # how many symbols use it; null where that was not asked


class SymbolsReply(ApiModel):
    """Symbols for a name, or a part of one."""

    root: str
    symbols: list[SymbolOffer]


class GraphNodeView(ApiModel):
    """A symbol of a neighbourhood."""

    key: Text
    name: Text  # as its language writes it; empty for code outside of any definition
    kind: str  # of unit, or what is outside the source: route, env, process
    path: Text  # empty outside the source
    line: int
    end_line: int
    score: float  # how often the walk is there, 1 where it is most often
    distance: int  # hops from the symbol that was asked about
    in_tests: bool  # whether it is part of tests


class GraphEdgeView(ApiModel):
    """All edges of one kind from one symbol to another."""

    source: Text  # the key of the symbol that it leads from
    target: Text  # and of the one that it leads to
    kind: str  # calls, inherits, contains and so on
    group: str  # calls, inheritance, tests, contains or other
    confidence: float  # of the surest
    provenance: str  # how that one is known
    line: int  # where it is written, in the file of the source; 0 where that is not known
    count: int  # of edges: a symbol may have several definitions


class GraphReply(ApiModel):
    """What is around a symbol; or the symbols to choose from where several bear the name."""

    root: str
    focus: Text  # the key of the symbol; empty where there is a choice
    nodes: list[GraphNodeView]  # nearest for the walk first, the symbol itself before all
    edges: list[GraphEdgeView]
    left_out: int  # symbols that the walk came to and that are not among these
    open_calls: int  # calls of its name that lead nowhere, and may mean it
    choices: list[SymbolOffer]
    fresh: FreshnessView
    progress: BuildProgressView
    milliseconds: float


@router.get("/symbols")
async def symbols(
    workspace: CurrentWorkspace, text: str = "", root: str = "", most: Annotated[int, Query(ge=1, le=MOST_OFFERED)] = 20
) -> SymbolsReply:
    """Symbols whose name is a text, begins with it or holds it; the most used ones for no text at all."""
    session = workspace.session(workspace.roots.select(root))
    return await session.ask(partial(_offered, workspace.name_of(session), text, most))


@router.get("/graph")
async def graph(
    workspace: CurrentWorkspace, symbol: str, root: str = "", groups: str = "", depth: int | None = None, most: int | None = None
) -> GraphReply:
    """What is around a symbol: at most `most` others (1 to 500, default 60) within `depth` hops (1 to 4, default 2).

    `groups` are the groups of edges that are followed, with commas between; all of them where it is left out.
    """
    own, name = workspace.locate_symbol(symbol, workspace.named_root({"root": root}))
    session = workspace.session(own or workspace.roots.select(root))
    given = {"depth": depth, "most": most, "groups": tuple(filter(None, (one.strip() for one in groups.split(",")))) or None}
    how = {option: value for option, value in given.items() if value is not None}
    return await session.ask(partial(_answered, workspace.name_of(session), name, how))


def _offered(root: str, text: str, most: int, index: Index | None, progress: BuildProgress) -> SymbolsReply:
    found = require_index(index, progress).completed(text, most)
    return SymbolsReply(root=root, symbols=[_offer(one, uses) for one, uses in found])


def _answered(root: str, symbol: str, how: Mapping[str, Any], index: Index | None, progress: BuildProgress) -> GraphReply:
    began, whole = time.perf_counter(), require_index(index, progress)
    meant = whole.questions().resolve(symbol)
    only = meant[0] if len(meant) == 1 else None
    found = whole.around(only, **how) if only is not None else None
    return GraphReply(
        root=root,
        focus=found.focus if found else "",
        nodes=[_node(one) for one in found.nodes] if found else [],
        edges=[_edge(one) for one in found.edges] if found else [],
        left_out=found.omitted if found else 0,
        open_calls=whole.questions().callers(only).unresolved.total if only is not None else 0,
        choices=[] if only is not None else [_offer(one) for one in meant[:MOST_OFFERED]],
        fresh=FreshnessView.of(whole.freshness),
        progress=BuildProgressView.of(progress),
        milliseconds=round((time.perf_counter() - began) * 1000, 2),
    )


def _offer(one: NamedSymbol, uses: int | None = None) -> SymbolOffer:
    return SymbolOffer(key=one.key, name=one.name, kind=one.kind, path=one.path, line=one.line, uses=uses)


def _node(one: GraphNode) -> GraphNodeView:
    return GraphNodeView(
        key=one.key,
        name=one.name,
        kind=one.kind,
        path=one.path,
        line=one.line,
        end_line=one.end_line,
        score=round(one.score, DIGITS),
        distance=one.distance,
        in_tests=one.in_tests,
    )


def _edge(one: GraphEdge) -> GraphEdgeView:
    return GraphEdgeView(
        source=one.source,
        target=one.target,
        kind=one.kind,
        group=one.group,
        confidence=one.confidence,
        provenance=one.provenance,
        line=one.line,
        count=one.count,
    )

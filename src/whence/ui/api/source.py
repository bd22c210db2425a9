"""The roots, and the text of an indexed file with its colours."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Query

from whence.app.workspace import BuildProgress, require_index
from whence.core.errors import UsageError
from whence.ui.highlight import coloured
from whence.ui.models import ApiModel, CodeLine, CurrentWorkspace, Text

if TYPE_CHECKING:
    from whence.app.index import Index

router = APIRouter()
#: Lines of a file in one reply.
MAX_LINES = 3_000


class RootView(ApiModel):
    """A folder that is served."""

    name: Text  # in requests and replies
    path: Text  # on this machine


class RootsReply(ApiModel):
    """All roots, in the order they were given."""

    roots: list[RootView]
    fleet: bool  # whether the settings name a fleet, which can be searched too


@router.get("/roots")
async def roots(workspace: CurrentWorkspace) -> RootsReply:
    """The folders that are served, by the names that other calls take."""
    found = [RootView(name=name, path=path) for name, path in workspace.names().items()]
    return RootsReply(roots=found, fleet=workspace.fleet.configured)


class SourceQuery(ApiModel):
    """Which lines of which file to read."""

    path: str  # as in results
    root: str = ""  # a root's name; empty: the first
    first: int = 1  # the first line, from 1
    last: int = MAX_LINES  # the last line; a reply has at most 3,000


class OutlineView(ApiModel):
    """A definition in a file."""

    name: Text
    kind: str
    first_line: int  # from 1
    last_line: int


class SourceReply(ApiModel):
    """A file, or a part of it."""

    root: str
    path: Text
    language: str
    lines: list[CodeLine]  # without secrets
    total_lines: int  # how many the file has
    outline: list[OutlineView]  # definitions in the file, in order


@router.get("/source")
async def source(workspace: CurrentWorkspace, asked: Annotated[SourceQuery, Query()]) -> SourceReply:
    """Lines of an indexed file, without its secrets."""
    session = workspace.session(workspace.roots.select(asked.root))
    return await session.ask(partial(_read, asked.root or session.root.name, asked.path, asked.first, asked.last))


def _read(root: str, path: str, first: int, last: int, index: Index | None, progress: BuildProgress) -> SourceReply:
    whole = require_index(index, progress)
    snapshot = whole.snapshot
    file = next((row for row, one in enumerate(snapshot.paths) if one == path and snapshot.alive[row]), None)
    text = whole.read_text(path) if file is not None else None
    if text is None or file is None:
        raise UsageError(f"{path[:200]!r} is not indexed, or cannot be read", hint="the index view lists all indexed files")
    lines = [line.rstrip("\r").expandtabs(4) for line in text.split("\n")]
    first, last = max(first, 1), min(last, len(lines), max(first, 1) + MAX_LINES - 1)
    language = snapshot.languages[file]
    parsed = whole.parsed(path)
    return SourceReply(
        root=root,
        path=path,
        language=language,
        lines=coloured(language, lines, 1, dict.fromkeys(range(first, last + 1), ())),
        total_lines=len(lines),
        outline=[OutlineView.of(unit, name=unit.qualified_name) for unit in (parsed.units if parsed else ()) if unit.name],
    )

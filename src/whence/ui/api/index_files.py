"""Every file of a root: what is indexed of it, or why it was left out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from fastapi import APIRouter, Query

from whence.app.session import BuildProgress
from whence.ui.models import ApiModel, CurrentWorkspace, Text

if TYPE_CHECKING:
    from pathlib import Path

    from whence.app.index import Index
    from whence.core.types import Skipped
    from whence.index.snapshot import Snapshot
    from whence.storage.arrayfile import Array

router = APIRouter()
PAGE = 50


class FileRow(ApiModel):
    """A file, or a folder that was left out as a whole: its path ends with a slash."""

    path: Text
    bytes: int
    language: str = ""
    units: int = 0
    lines: int = 0
    reason: Text = ""  # why it is not indexed


class FilesReply(ApiModel):
    """One page of a list of files."""

    total: int
    page: int  # from 1
    pages: int
    files: list[FileRow]


class FilesQuery(ApiModel):
    """Which files are wanted."""

    root: str = ""
    q: str = ""  # words that a path holds, each of them
    state: Literal["indexed", "left_out"] = "indexed"  # whether those indexed are listed, or those left out
    language: str = ""  # of those indexed
    reason: str = ""  # of those left out
    order: Literal["path", "bytes", "units"] = "path"  # of those indexed: the largest first
    page: int = 1


@router.get("/index/files")
async def files(workspace: CurrentWorkspace, asked: Annotated[FilesQuery, Query()]) -> FilesReply:
    """The files of a root that are indexed, or those left out with the reason, fifty at a time."""
    session = workspace.session(workspace.roots.select(asked.root))
    return await session.ask(partial(_listed, asked), wait=False)


def _listed(asked: FilesQuery, index: Index | None, _: BuildProgress) -> FilesReply:
    if index is None:
        return FilesReply(total=0, page=1, pages=1, files=[])
    if asked.state == "indexed":
        rows = _indexed(asked, index.snapshot)
        return _page(rows, asked.page, partial(_indexed_row, index.snapshot, lines_of(index.snapshot)))
    skipped = _left_out(asked, [*index.tree.skipped, *index.store.skipped_files()])
    return _page(skipped, asked.page, partial(_left_out_row, index.root))


def lines_of(snapshot: Snapshot) -> Array:
    """How many lines each file has, up to the last that a unit holds."""
    starts, last = snapshot.unit_starts, snapshot.column("units.last")
    lines = np.zeros(snapshot.files, np.int64)
    held = np.flatnonzero(np.diff(starts))
    if len(held):
        lines[held] = np.maximum.reduceat(last, starts[held])
    return lines


def _fits(asked: FilesQuery) -> Callable[[str], bool]:
    words = asked.q.casefold().split()
    return lambda path: all(word in path.casefold() for word in words)


def _indexed(asked: FilesQuery, snapshot: Snapshot) -> list[int]:
    """The rows of files that are wanted, in their order."""
    fits, paths, languages = _fits(asked), snapshot.paths, snapshot.languages
    rows = [
        row
        for row in np.flatnonzero(snapshot.alive).tolist()
        if asked.language in ("", languages[row]) and (not asked.q or fits(paths[row]))
    ]
    sizes = {"bytes": snapshot.column("files.bytes"), "units": np.diff(snapshot.unit_starts)}.get(asked.order)
    return sorted(rows, key=lambda row: (-int(sizes[row]) if sizes is not None else 0, paths[row]))


def _left_out(asked: FilesQuery, skipped: Sequence[Skipped]) -> list[Skipped]:
    fits = _fits(asked)
    return sorted((one for one in skipped if asked.reason in ("", one.reason) and fits(one.path)), key=lambda one: one.path)


def _indexed_row(snapshot: Snapshot, lines: Array, row: int) -> FileRow:
    starts = snapshot.unit_starts
    return FileRow(
        path=snapshot.paths[row],
        bytes=int(snapshot.column("files.bytes")[row]),
        language=snapshot.languages[row],
        units=int(starts[row + 1] - starts[row]),
        lines=int(lines[row]),
    )


def _left_out_row(root: Path, one: Skipped) -> FileRow:
    try:
        size = 0 if one.path.endswith("/") else (root / one.path).lstat().st_size
    except OSError:
        size = 0  # gone, or not to be looked at: that is the reason then
    return FileRow(path=one.path, bytes=size, reason=one.reason)


def _page(found: Sequence[object], page: int, row_of: Callable[..., FileRow]) -> FilesReply:
    pages = max(-(-len(found) // PAGE), 1)
    page = min(max(page, 1), pages)
    return FilesReply(total=len(found), page=page, pages=pages, files=[row_of(one) for one in found[(page - 1) * PAGE : page * PAGE]])

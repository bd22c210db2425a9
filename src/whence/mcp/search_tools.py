"""The tools that find code: search, context, related and graph."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

from whence.app.low_confidence import LowConfidence, low_confidence_of, merge_roots, nothing_for, task_warning
from whence.app.note_hints import by_file, hint_lines, hints_of
from whence.app.presenters.text import safe
from whence.app.session import BuildProgress, IndexSession, Report, require_index
from whence.app.workspace import Workspace
from whence.context.request import ContextRequest
from whence.core.errors import RootError, StorageError, UsageError
from whence.core.request import pick_fields
from whence.mcp.memory_tools import search_notes
from whence.mcp.text import fleet_line, freshness_line, guess_lines, name_flags, neighbour_lines, progress_lines, result_lines, way_lines
from whence.search.request import SearchRequest
from whence.search.unindexed import guesses

if TYPE_CHECKING:
    from whence.app.index import Index
    from whence.fleet.search import Fleet
    from whence.graph.names import NamedSymbol

USUAL_RESULTS = 8
#: Files that are guessed while the index is being built.
MAX_GUESSES = 5
SECONDS_FOR_GUESSES = 1.0
QUESTIONS = ("callers", "callees", "impact", "tests", "path")


@dataclass(slots=True)
class RootAnswer:
    """The results of one root for a search."""

    results: list[tuple[float, list[str]]] = field(default_factory=list)  # score and lines, without a number
    low_confidence: LowConfidence | None = None
    has_index: bool = True  # whether there was a whole index to ask
    opening: list[str] = field(default_factory=list)  # above the results
    closing: list[str] = field(default_factory=list)  # below them


async def search(workspace: Workspace, given: dict[str, Any], report: Report) -> str:
    """Ranked files for a query, from one root or all; notes, if the query asks for them."""
    if given.get("fleet"):
        return await _search_fleet(workspace, given)
    request = SearchRequest(**{"k": USUAL_RESULTS, **pick_fields(SearchRequest, given)})
    if request.parsed.is_for_notes:
        return await search_notes(workspace, given, request.parsed)
    sessions, below = _where(workspace, given)
    request = replace(request, paths=below)
    why, alone = given.get("why", False), len(sessions) == 1
    parts = await asyncio.gather(*(_part(workspace, session, request, report, why=why, alone=alone) for session in sessions))
    return "\n".join(_joined_answer(parts, request.k or USUAL_RESULTS)) + "\n"


async def _search_fleet(workspace: Workspace, given: dict[str, Any]) -> str:
    """Search all repositories of the fleet that the server may see."""
    if wrong := [name for name in ("path", "root") if given.get(name)]:
        raise UsageError(
            f"a search of the fleet takes no {wrong[0]}", hint="repo:PATTERN in the query chooses repositories, path:GLOB files"
        )
    request, why = SearchRequest(**{"k": USUAL_RESULTS, **pick_fields(SearchRequest, given)}), given.get("why", False)

    def ask(fleet: Fleet) -> str:
        answer = fleet.search(request)
        part = RootAnswer([(one.score, list(result_lines(one, why=why))) for one in answer])
        part.opening = [f"note: {safe(note)}" for note in answer.notes if note]
        part.low_confidence = (
            LowConfidence(answer.confidence, searched=fleet.settings.search.content) if answer.confidence is not None else None
        )
        part.closing = [fleet_line(answer.searched)]
        return "\n".join(_joined_answer([part], request.k or USUAL_RESULTS)) + "\n"

    return await workspace.fleet.ask(ask)


async def _part(
    workspace: Workspace, session: IndexSession, request: SearchRequest, report: Report, *, why: bool, alone: bool
) -> RootAnswer:
    """Search one root. If one of several cannot be read, the others still answer."""
    inner = () if alone else workspace.nested_roots(session)
    try:
        return await session.ask(partial(_searched, session, workspace.label(session), request, why, inner), report)
    except (RootError, StorageError) as error:
        if alone:
            raise
        return RootAnswer(has_index=False, opening=[f"note: nothing from {workspace.label(session)}: {error}"])


def _where(workspace: Workspace, given: dict[str, Any]) -> tuple[list[IndexSession], tuple[str, ...]]:
    """The sessions of a call, and the path that it is limited to."""
    if path := given.get("path"):
        root, below = workspace.roots.locate(path, workspace.named_root(given))
        return [workspace.session(root)], (below,) if below else ()
    return workspace.sessions(given.get("root", "")), ()


def _searched(
    session: IndexSession,
    label: str,
    request: SearchRequest,
    why: bool,
    inner: tuple[str, ...],
    index: Index | None,
    progress: BuildProgress,
) -> RootAnswer:
    part = RootAnswer(opening=list(progress_lines(progress, label)))
    if index is None or (progress.building and not progress.indexed):
        part.has_index = False
    else:
        answer = index.search(request)
        own = [one for one in answer if not one.path.startswith(inner)]
        part.results = [(one.score, list(result_lines(one, label, why=why))) for one in own]
        part.has_index = not progress.building  # the answer may not be indexed yet
        part.low_confidence = (
            low_confidence_of([(index, answer.confidence)], request.filters(index.settings.search.content).content)
            if part.has_index
            else None
        )
        part.opening += [f"note: {note}" for note in answer.notes]
        part.closing = [*hint_lines(hints_of(index, {one.path: None for one in answer})), freshness_line(index, label)]
    if progress.building:
        below = request.paths
        paths = [path for path in session.unindexed_files() if not below or path == below[0] or path.startswith(f"{below[0]}/")]
        until = time.monotonic() + SECONDS_FOR_GUESSES
        found = guesses(session.root, paths, request.query, MAX_GUESSES, in_time=lambda: time.monotonic() < until)
        part.closing[:0] = guess_lines(*found, len(paths))
    return part


def _joined_answer(parts: Sequence[RootAnswer], k: int) -> Iterator[str]:
    """The answer of all roots together."""
    best, doubt = merge_roots([part.results for part in parts], [part.low_confidence for part in parts], k, lambda pair: pair[0])
    yield from dict.fromkeys(chain.from_iterable(part.opening for part in parts))
    if all(part.has_index for part in parts):
        yield from _confidence_lines(doubt, found=bool(best))
    for place, (_, lines) in enumerate(best, 1):
        yield f"{place}. {lines[0]}"
        yield from lines[1:]
    yield from chain.from_iterable(part.closing for part in parts)


def _confidence_lines(doubt: LowConfidence | None, *, found: bool) -> Iterator[str]:
    """A warning that the answer is probably not here (Z1)."""
    if doubt is not None and not doubt.confidence.here:
        yield f"NOT HERE{safe(str(doubt)).removeprefix('not here')}" + (". The nearest:" if found else "")
    elif not found:
        yield "nothing found in code; in:docs looks into documentation"


# Symbols of a task.
async def context(workspace: Workspace, given: dict[str, Any], report: Report) -> str:
    """The context pack of a task."""
    root = workspace.root_of(given, given.get("files", ()))
    files = tuple(workspace.roots.locate(path, root)[1] for path in given.get("files", ()))
    request = ContextRequest(
        **{**pick_fields(ContextRequest, given), "files": files, "diff": given.get("diff") or None},
        session=workspace.session_id,
        caller=str(root.parent) if workspace.has_many_roots else "",
    )
    return await workspace.session(root).ask(partial(_packed, request), report)


def _packed(request: ContextRequest, index: Index | None, progress: BuildProgress) -> str:
    from whence.text.token_estimate import count_tokens  # noqa: PLC0415  -- loaded with the pack

    whole = require_index(index, progress)
    budget = request.budget or whole.settings.mcp.context_budget
    above = "".join(f"{line}\n" for line in progress_lines(progress))
    pack = whole.context(request, budget=max(budget - count_tokens(above), 1))
    if not progress.building and (warning := task_warning(pack)):
        above += f"NOT HERE{safe(warning).removeprefix('not here')}. The nearest:\n"
        pack = whole.context(request, budget=max(budget - count_tokens(above), 1))
    if not pack.symbols:
        return f"{above}{nothing_for(request.diff)}; search reads every file\n"
    text = above + pack.text
    shown = [one.item.key for one in pack.packed.shown] + [piece.key for piece in pack.packed.inside]
    hints = "".join(f"{line}\n" for line in hint_lines(hints_of(whole, by_file(shown))))
    return text + hints if count_tokens(text + hints) <= budget else text


# Neighbours.
async def related(workspace: Workspace, given: dict[str, Any], report: Report) -> str:
    """Units similar to the one at a line."""
    path, _, line = given["place"].rpartition(":")
    if not path or not line.isdecimal() or len(line) > 9:
        raise UsageError(f"{given['place'][:200]!r} names no line", hint="write FILE:LINE, for instance src/app.py:40")
    root, below = workspace.roots.locate(path, workspace.named_root(given))
    session = workspace.session(root)

    def answer(index: Index | None, progress: BuildProgress) -> str:
        whole = require_index(index, progress)
        found = whole.related(below, int(line), k=given.get("k", USUAL_RESULTS))
        lines = [*progress_lines(progress), *([] if found else ["nothing like it"])]
        for place, one in enumerate(found, 1):
            head, *rest = result_lines(one, workspace.label(session))
            lines += [f"{place}. {head}", *rest]
        return "\n".join([*lines, freshness_line(whole, workspace.label(session))]) + "\n"

    return await session.ask(answer, report)


async def graph(workspace: Workspace, given: dict[str, Any], report: Report) -> str:
    """The callers or callees of a symbol, what depends on it, its tests, or the path to another symbol."""
    root, symbol = workspace.locate_symbol(given["symbol"], workspace.named_root(given))
    asked = {**given, "symbol": symbol, "to": workspace.locate_symbol(given.get("to", ""), root)[1]}
    if root is None:
        knowing = [await session.ask(partial(_known, symbol)) for session in workspace.sessions()] if workspace.has_many_roots else [0]
        root = workspace.roots.folders[knowing.index(max(knowing))]
    session = workspace.session(root)
    return await session.ask(partial(_query_graph, asked, workspace.label(session)), report)


def _known(name: str, index: Index | None, _: BuildProgress) -> int:
    """How well a root knows a name: 0 not at all, 1 ignoring case, 2 exactly."""
    try:
        return 0 if index is None else 2 - any(one.case_differs for one in index.questions().resolve(name))
    except UsageError:
        return 0


def _query_graph(given: dict[str, Any], label: str, index: Index | None, progress: BuildProgress) -> str:
    whole, question = require_index(index, progress), given["question"]
    questions = whole.questions()
    if question == "path":
        if not given.get("to"):
            raise UsageError("a path leads from one symbol to another", hint="name the other with `to`")
        way = questions.path([_only(whole, given["symbol"], progress)], [_only(whole, given["to"], progress)])
        lines = list(way_lines(way, label)) if way is not None else [f"no path from {given['symbol']} to {given['to']}"]
    else:
        asked = {"depth": given["depth"]} if "depth" in given else {}
        answer = getattr(questions, question)(_only(whole, given["symbol"], progress), **asked)
        lines = list(neighbour_lines(answer, question, label))
    return "\n".join([*progress_lines(progress, label), *name_flags(lines), *lines, freshness_line(whole, label)]) + "\n"


def _only(index: Index, name: str, progress: BuildProgress) -> NamedSymbol:
    """The only symbol with a name; the error mentions a build in progress."""
    try:
        return index.questions().resolve_one(name)
    except UsageError as error:
        raise UsageError("; ".join([str(error), *progress_lines(progress)])) from error

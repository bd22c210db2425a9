"""What the tools answer. Code: search, context, related and graph; notes and verdicts: remember, recall and feedback."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

from whence.app.note_hints import by_file, hint_lines, hints_of
from whence.app.presenters.search import (
    LowConfidence,
    RootAnswer,
    fleet_content,
    guesses_content,
    join_answers,
    nothing_for,
    result_content,
    search_fleet,
    search_root,
    task_warning,
)
from whence.app.presenters.text import Document, freshness_content, progress_content, safe
from whence.app.workspace import BuildProgress, IndexSession, Report, Workspace, require_index
from whence.context.request import ContextRequest
from whence.core.errors import UsageError, WhenceError
from whence.core.request import pick_fields
from whence.memory.request import RecallRequest
from whence.search.request import SearchRequest
from whence.search.unindexed import guesses

if TYPE_CHECKING:
    from pathlib import Path

    from whence.app.index import Index
    from whence.fleet.search import Fleet
    from whence.graph.names import NamedSymbol
    from whence.memory.memory import Memory
    from whence.memory.recall import RecallResponse
    from whence.query.parser import ParsedQuery
    from whence.search.result import SearchResult

USUAL_RESULTS, USUAL_NOTES = 8, 5
#: Files that are guessed while the index is being built.
MAX_GUESSES = 5
SECONDS_FOR_GUESSES = 1.0


@dataclass(slots=True)
class _Part:
    """The answer of one root as lines, and what is said around it."""

    answer: RootAnswer[list[str]] = field(default_factory=RootAnswer)
    has_index: bool = True  # whether there was a whole index to ask
    opening: list[str] = field(default_factory=list)  # above the results
    closing: list[list[str]] = field(default_factory=list)  # items below them
    foot: list[str] = field(default_factory=list)


async def search(workspace: Workspace, given: dict[str, Any], report: Report) -> Document:
    """Ranked files for a query, from one root or all; notes, if the query asks for them."""
    if given.get("fleet"):
        return await _search_fleet(workspace, given)
    request = _search_request(given)
    if request.parsed.is_for_notes:
        return await search_notes(workspace, given, request.parsed)
    sessions, below = _where(workspace, given)
    request = replace(request, paths=below)
    ask = partial(_searched, workspace, request, alone=len(sessions) == 1, why=given.get("why", False))

    def unreadable(session: IndexSession, error: WhenceError) -> _Part:
        return _Part(has_index=False, opening=[f"note: nothing from {workspace.label(session)}: {error}"])

    return _joined_answer(await workspace.ask_each(sessions, ask, unreadable, report), request.k or USUAL_RESULTS)


def _search_request(given: dict[str, Any]) -> SearchRequest:
    return SearchRequest(**{"k": USUAL_RESULTS, **pick_fields(SearchRequest, given)})


async def _search_fleet(workspace: Workspace, given: dict[str, Any]) -> Document:
    """Search all repositories of the fleet that the server may see."""
    if wrong := [name for name in ("path", "root") if given.get(name)]:
        raise UsageError(
            f"a search of the fleet takes no {wrong[0]}", hint="repo:PATTERN in the query chooses repositories, path:GLOB files"
        )
    request, why = _search_request(given), given.get("why", False)

    def ask(fleet: Fleet) -> Document:
        answer, found = search_fleet(fleet, request, lambda one: result_content(one, with_why=why))
        return _joined_answer([_Part(answer, foot=[fleet_content(found.searched)])], request.k or USUAL_RESULTS)

    return await workspace.fleet.ask(ask)


def _where(workspace: Workspace, given: dict[str, Any]) -> tuple[list[IndexSession], tuple[str, ...]]:
    """The sessions of a call, and the path that it is limited to."""
    if path := given.get("path"):
        root, below = workspace.roots.locate(path, workspace.named_root(given))
        return [workspace.session(root)], (below,) if below else ()
    return workspace.sessions(given.get("root", "")), ()


def _searched(
    workspace: Workspace,
    request: SearchRequest,
    session: IndexSession,
    index: Index | None,
    progress: BuildProgress,
    *,
    alone: bool,
    why: bool,
) -> _Part:
    label, inner = workspace.label(session), () if alone else workspace.nested_roots(session)
    part = _Part(opening=list(progress_content(progress, label)), has_index=not progress.building)  # the answer may not be indexed yet
    if index is None or (progress.building and not progress.indexed):
        part.has_index = False
    else:
        paths: dict[str, None] = {}

        def show(one: SearchResult) -> list[str]:
            paths[one.path] = None
            return result_content(one, label, with_why=why)

        name = workspace.name_of(session)
        part.answer = search_root(index, request, show, name=name, inner=inner, building=progress.building)
        part.closing = [[line] for line in hint_lines(hints_of(index, paths))]
        part.foot = [freshness_content(index, label)]
    if progress.building:
        below = request.paths
        unread = [path for path in session.unindexed_files() if not below or path == below[0] or path.startswith(f"{below[0]}/")]
        until = time.monotonic() + SECONDS_FOR_GUESSES
        found = guesses(session.root, unread, request.query, MAX_GUESSES, in_time=lambda: time.monotonic() < until)
        part.closing[:0] = guesses_content(*found, len(unread))
    return part


def _joined_answer(parts: Sequence[_Part], k: int) -> Document:
    """The answer of all roots together."""
    whole = join_answers([part.answer for part in parts], k)
    opening = list(dict.fromkeys(chain.from_iterable(part.opening for part in parts)))
    opening += [f"note: {safe(note)}" for note in whole.notes]
    if all(part.has_index for part in parts):
        opening += _confidence_lines(whole.low_confidence, found=bool(whole.results))
    closing = chain.from_iterable(part.closing for part in parts)
    foot = list(chain.from_iterable(part.foot for part in parts))
    return Document([*([line] for line in opening), *_numbered(whole.results), *closing], foot)


def _numbered(items: Iterable[list[str]]) -> Iterator[list[str]]:
    return ([f"{place}. {head}", *rest] for place, (head, *rest) in enumerate(items, 1))


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
    above = "".join(f"{line}\n" for line in progress_content(progress))
    pack = whole.context(request, budget=max(budget - count_tokens(above), 1))
    if not progress.building and (warning := task_warning(pack)):
        above += f"NOT HERE{safe(warning).removeprefix('not here')}. The nearest:\n"
    if pack.remark:
        above += f"note: {safe(pack.remark)}\n"
    if pack.budget != budget - count_tokens(above):
        pack = whole.context(request, budget=max(budget - count_tokens(above), 1))
    if pack.is_empty:
        return f"{above}{nothing_for(request)}; search reads every file\n"
    text = above + pack.text
    shown = [one.item.key for one in pack.packed.shown] + [piece.key for piece in pack.packed.inside]
    hints = "".join(f"{line}\n" for line in hint_lines(hints_of(whole, by_file(shown))))
    return text + hints if count_tokens(text + hints) <= budget else text


# Neighbours.
async def related(workspace: Workspace, given: dict[str, Any], report: Report) -> Document:
    """Units similar to the one at a line."""
    path, _, line = given["place"].rpartition(":")
    if not path or not line.isdecimal() or len(line) > 9:
        raise UsageError(f"{given['place'][:200]!r} names no line", hint="write FILE:LINE, for instance src/app.py:40")
    root, below = workspace.roots.locate(path, workspace.named_root(given))
    session = workspace.session(root)

    def answer(index: Index | None, progress: BuildProgress) -> Document:
        whole, label = require_index(index, progress), workspace.label(session)
        found = whole.related(below, int(line), k=given.get("k", USUAL_RESULTS))
        above = [*progress_content(progress), *([] if found else ["nothing like it"])]
        results = _numbered(result_content(one, label) for one in found)
        return Document([*([line] for line in above), *results], [freshness_content(whole, label)])

    return await session.ask(answer, report)


async def graph(workspace: Workspace, given: dict[str, Any], report: Report) -> Document:
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


def _query_graph(given: dict[str, Any], label: str, index: Index | None, progress: BuildProgress) -> Document:
    from whence.app.presenters.graph import graph_content, neighbours_content, path_content  # noqa: PLC0415  -- numpy: loaded with the graph

    whole, question = require_index(index, progress), given["question"]
    questions = whole.questions()
    if question == "path":
        if not given.get("to"):
            raise UsageError("a path leads from one symbol to another", hint="name the other with `to`")
        way = questions.path([_only(whole, given["symbol"], progress)], [_only(whole, given["to"], progress)])
        lines = list(path_content(way, label)) if way is not None else [f"no path from {given['symbol']} to {given['to']}"]
    else:
        asked = {"depth": given["depth"]} if "depth" in given else {}
        answer = getattr(questions, question)(_only(whole, given["symbol"], progress), **asked)
        lines = list(neighbours_content(answer, question, label))
    return graph_content(whole, progress, lines, label)


def _only(index: Index, name: str, progress: BuildProgress) -> NamedSymbol:
    """The only symbol with a name; the error mentions a build in progress."""
    try:
        return index.questions().resolve_one(name)
    except UsageError as error:
        raise UsageError("; ".join([str(error), *progress_content(progress)])) from error


# Notes and verdicts.
async def remember(workspace: Workspace, given: dict[str, Any], report: Report) -> str:  # noqa: ARG001  -- every tool is called alike
    """Save a note, or a handoff."""
    root = workspace.root_of(given, [one.partition("#")[0] for one in given.get("about", ())])
    about = [_about(workspace, root, one) for one in given.get("about", ())]
    fields: dict[str, Any] = {"about": about, "tags": given.get("tags", ()), "repository": root, "source": "agent"}

    def store(memory: Memory) -> str:
        save = memory.handoff if given.get("handoff", False) else memory.remember
        return f"stored {save(given['text'], topic=given.get('topic'), project=given.get('project') or memory.whose.name, **fields).key}\n"

    return await workspace.session(root).ask_notes(store)


def _about(workspace: Workspace, root: Path, code: str) -> str:
    """A code reference, `path#symbol`, relative to the root of the note."""
    path, mark, symbol = code.partition("#")
    return f"{workspace.roots.locate(path, root)[1]}{mark}{symbol}"


async def edit_note(workspace: Workspace, given: dict[str, Any], report: Report) -> str:  # noqa: ARG001
    """Correct, supersede or forget a note of this repository or the user."""
    key, action, text = given["key"], given["action"], given.get("text", "")
    if action != "forget" and not text.strip():
        raise UsageError(f"to {action} a note takes its new text", hint="give text; forget deletes the note")

    def edit(memory: Memory) -> str:
        if action == "forget":
            return f"forgotten {memory.forget(key).key}, with its history\n"
        if action == "correct":
            return f"corrected {memory.edit(key, text=text).key}; the earlier text is in its history\n"
        old, new = memory.supersede(key, text, source="agent")
        return f"stored {new.key}; {old.key} has expired and is no longer recalled\n"

    return await workspace.session(workspace.roots.select(given.get("root", ""))).ask_notes(edit)


async def recall(workspace: Workspace, given: dict[str, Any], report: Report) -> Document:  # noqa: ARG001
    """The notes that answer a question."""
    session = workspace.session(workspace.roots.select(given.get("root", "")))
    options = {"k": USUAL_NOTES} | {name: value for name, value in pick_fields(RecallRequest, given).items() if value and name != "query"}

    return await session.ask_notes(lambda memory: _notes_content(memory, memory.recall(given["query"], **options), given))


async def search_notes(workspace: Workspace, given: dict[str, Any], question: ParsedQuery) -> Document:
    """The same for a search that says `in:notes`."""
    if not question.text.strip():
        raise UsageError("in:notes needs a word to recall by")
    session = workspace.session(workspace.roots.select(given.get("root", "")))

    k = given.get("k", USUAL_NOTES)
    found = await session.ask_notes(lambda memory: _notes_content(memory, memory.search(question, k=k), given))
    return Document([[f"note: {question.reading}"], *found.items])


def _notes_content(memory: Memory, found: RecallResponse, given: dict[str, Any]) -> Document:
    from whence.app.presenters.memory import recall_content  # noqa: PLC0415  -- loaded with the memory

    return recall_content(memory, found, with_why=given.get("why", False))


async def feedback(workspace: Workspace, given: dict[str, Any], report: Report) -> Document:
    """Say which symbols were useful for a task, and which were not."""
    useful, useless = given.get("useful", []), given.get("useless", [])
    if not useful and not useless:
        raise UsageError("no symbol was named", hint="give useful or useless: names such as Session.open or path#name")
    named = workspace.roots.select(given["root"]) if given.get("root") else None
    placed = {name: workspace.locate_symbol(name, named) for name in (*useful, *useless)}
    session = workspace.session(next((root for root, _ in placed.values() if root is not None), workspace.roots.folders[0]))

    def say_all(index: Index | None, progress: BuildProgress) -> Document:
        from whence.context.feedback.store import FeedbackStore  # noqa: PLC0415  -- as above
        from whence.context.feedback.verdicts import Verdict, say  # noqa: PLC0415  -- few sessions learn

        index = require_index(index, progress)
        chosen, now = index.settings.learn, time.time()
        if not chosen.enabled:
            raise UsageError("learning is switched off", hint="set learn.enabled=true")
        keys = {name: _key(index, symbol) for name, (_, symbol) in placed.items()}
        records = [Verdict(keys[name], name in useful, index.package_hash(keys[name]), given.get("task", ""), now) for name in keys]
        with closing(FeedbackStore.beside(index.layout.directory)) as learned:
            say(learned, records, chosen, workspace.session_id)
        return Document([[f"{'useful' if one.useful else 'useless'}: {one.symbol}"] for one in records])

    return await session.ask(say_all, report)


def _key(index: Index, name: str) -> str:
    keys = index.symbol_keys(name)
    if len(keys) > 1:
        raise UsageError(f"{len(keys)} symbols are called {name[:80]!r}", hint=f"write one of {', '.join(keys[:8])}")
    return keys[0]

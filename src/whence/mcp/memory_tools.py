"""The tools for notes and verdicts: remember, recall and feedback."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from whence.app.session import BuildProgress, Report, require_index
from whence.app.workspace import Workspace
from whence.core.errors import UsageError
from whence.core.request import pick_fields
from whence.mcp.text import recalled_lines
from whence.memory.request import RecallRequest

if TYPE_CHECKING:
    from pathlib import Path

    from whence.app.index import Index
    from whence.memory.memory import Memory
    from whence.memory.result import RecallResponse
    from whence.query.parser import ParsedQuery

USUAL_NOTES = 5


async def remember(workspace: Workspace, given: dict[str, Any], report: Report) -> str:  # noqa: ARG001  -- every tool is called alike
    """Save a note, or a handoff."""
    root = workspace.root_of(given, [one.partition("#")[0] for one in given.get("about", ())])
    about = [_about(workspace, root, one) for one in given.get("about", ())]
    fields: dict[str, Any] = {"about": about, "tags": given.get("tags", ()), "repository": root, "source": "agent"}
    fields["project"] = given.get("project") or root.name

    def store(memory: Memory) -> str:
        if given.get("handoff", False):
            note = memory.handoff(given["text"], topic=given.get("topic"), **fields)
        else:
            note = memory.remember(given["text"], topic=given.get("topic"), **fields)
        return f"stored {note.key}\n"

    return await workspace.session(root).ask_notes(store)


def _about(workspace: Workspace, root: Path, code: str) -> str:
    """A code reference, `path#symbol`, relative to the root of the note."""
    path, mark, symbol = code.partition("#")
    return f"{workspace.roots.locate(path, root)[1]}{mark}{symbol}"


async def recall(workspace: Workspace, given: dict[str, Any], report: Report) -> str:  # noqa: ARG001
    """The notes that answer a question."""
    session = workspace.session(workspace.roots.select(given.get("root", "")))
    options = {"k": USUAL_NOTES} | {name: value for name, value in pick_fields(RecallRequest, given).items() if value and name != "query"}

    def answer(memory: Memory) -> str:
        return _response_text(memory, memory.recall(given["query"], **options), why=given.get("why", False))

    return await session.ask_notes(answer)


async def search_notes(workspace: Workspace, given: dict[str, Any], question: ParsedQuery) -> str:
    """The same for a search that says `in:notes`."""
    if not question.text.strip():
        raise UsageError("in:notes needs a word to recall by")
    session = workspace.session(workspace.roots.select(given.get("root", "")))

    def answer(memory: Memory) -> str:
        found = memory.search(question, k=given.get("k", USUAL_NOTES))
        return f"note: {question.reading}\n" + _response_text(memory, found, why=given.get("why", False))

    return await session.ask_notes(answer)


def _response_text(memory: Memory, found: RecallResponse, *, why: bool) -> str:
    from whence.memory.result import LOW_CONFIDENCE  # noqa: PLC0415  -- loaded with the memory

    if not found:
        return "nothing found in the notes\n"
    changes = [memory.code_changes(one.note) for one in found]
    warning = [LOW_CONFIDENCE] if found.is_low_confidence else []
    return "\n".join([*warning, *recalled_lines(found, changes, why=why)]) + "\n"


async def feedback(workspace: Workspace, given: dict[str, Any], report: Report) -> str:
    """Say which symbols were useful for a task, and which were not."""
    useful, useless = given.get("useful", []), given.get("useless", [])
    if not useful and not useless:
        raise UsageError("no symbol was named", hint="give useful or useless: names such as Session.open or path#name")
    named = workspace.roots.select(given["root"]) if given.get("root") else None
    placed = {name: workspace.locate_symbol(name, named) for name in (*useful, *useless)}
    session = workspace.session(next((root for root, _ in placed.values() if root is not None), workspace.roots.folders[0]))

    def say_all(index: Index | None, progress: BuildProgress) -> str:
        from whence.context.feedback.store import FeedbackStore  # noqa: PLC0415  -- as above
        from whence.context.feedback.verdicts import Verdict, say  # noqa: PLC0415  -- few sessions learn

        index = require_index(index, progress)
        chosen, now = index.settings.learn, time.time()
        if not chosen.enabled:
            raise UsageError("learning is switched off", hint="set learn.enabled=true")
        keys = {name: _key(index, symbol) for name, (_, symbol) in placed.items()}
        records = [Verdict(keys[name], name in useful, index.package_hash(keys[name]), given.get("task", ""), now) for name in keys]
        learned = FeedbackStore.beside(index.layout.directory)
        try:
            say(learned, records, chosen, workspace.session_id)
        finally:
            learned.close()
        return "".join(f"{'useful' if one.useful else 'useless'}: {one.symbol}\n" for one in records)

    return await session.ask(say_all, report)


def _key(index: Index, name: str) -> str:
    keys = index.symbol_keys(name)
    if len(keys) > 1:
        raise UsageError(f"{len(keys)} symbols are called {name[:80]!r}", hint=f"write one of {', '.join(keys[:8])}")
    return keys[0]

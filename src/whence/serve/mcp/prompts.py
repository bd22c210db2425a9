"""Prompts that a person picks in an agent: each is a text that holds what whence knows already."""

from __future__ import annotations

from collections.abc import Mapping

import mcp_types as types

from whence.errors import UsageError, WhenceError
from whence.serve.desks.house import House
from whence.serve.mcp.remembering import recall
from whence.serve.mcp.searching import context

PROMPTS = (
    types.Prompt(
        name="task",
        description="Begin a task: the symbols it needs and the notes that speak of it.",
        arguments=[types.PromptArgument(name="task", description="what is to be done", required=True)],
    ),
    types.Prompt(name="resume", description="Go on with the work on this branch: its handoff and what was learned."),
    types.Prompt(name="handoff", description="Write down the state of the work for whoever goes on."),
)
_RESUME = "handoff, state of work, what is next"


async def _unreported(_done: float, _total: float, _message: str) -> None:
    """Progress that nobody asked for."""


async def told(house: House, name: str, given: Mapping[str, str]) -> str:
    """The text of a prompt."""
    if name == "task":
        task = given.get("task", "").strip()
        if not task:
            raise UsageError("task is missing", hint="say what is to be done")
        return f"Task: {task}\n\nNotes:\n{await _notes(house, task)}\nCode:\n{await context(house, {'task': task}, _unreported)}"
    if name == "resume":
        return f"Go on with the work on this branch. What was written down:\n{await _notes(house, _RESUME)}"
    if name == "handoff":
        return (
            "Write down the state of the work on this branch with the tool `remember` (handoff: true): what is done, what is not, "
            "what to do next, and which files and symbols matter (about: path#symbol). Short, in full sentences."
        )
    raise UsageError(f"there is no prompt {name[:80]!r}", hint=f"there are {', '.join(one.name for one in PROMPTS)}")


async def _notes(house: House, question: str) -> str:
    try:
        return await recall(house, {"query": question, "k": 3}, _unreported)
    except WhenceError as error:
        return f"{error}\n"

"""The tools: their schemas, and the check of a call's arguments. What agents often send for a number or a list is accepted."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from whence.app.session import Report
from whence.app.workspace import Workspace
from whence.context.request import ContextRequest
from whence.core.errors import UsageError
from whence.core.request import options_of
from whence.mcp.memory_tools import feedback, recall, remember
from whence.mcp.search_tools import QUESTIONS, context, graph, related, search
from whence.memory.request import RecallRequest
from whence.search.request import SearchRequest

STRING, INTEGER, BOOLEAN, STRINGS = "string", "integer", "boolean", "array"
#: No argument of a call may be longer than this.
MAX_CHARACTERS = 200_000
_TRUTHS = {"true": True, "false": False}


def _converted(name: str, wanted: Mapping[str, Any], value: Any) -> Any:
    kind = wanted["type"]
    taken = _as_type(kind, value)
    if taken is None:
        raise UsageError(f"{name} must be of type {kind}, not {type(value).__name__}")
    if (isinstance(taken, str) and len(taken) > MAX_CHARACTERS) or (kind == STRINGS and sum(map(len, taken)) > MAX_CHARACTERS):
        raise UsageError(f"{name} is longer than {MAX_CHARACTERS} characters")
    if "enum" in wanted and taken not in wanted["enum"]:
        raise UsageError(f"unknown {name} {taken[:80]!r}", hint=f"allowed: {', '.join(wanted['enum'])}")
    if kind == INTEGER and taken < wanted.get("minimum", taken):
        raise UsageError(f"{name} {taken} is not allowed", hint=f"at least {wanted['minimum']}")
    return taken


def _as_type(kind: str, value: Any) -> Any:
    """A value as a type; None if it cannot be converted."""
    if kind == STRING:
        return value if isinstance(value, str) else None
    if kind == BOOLEAN:
        return value if isinstance(value, bool) else _TRUTHS.get(value.lower()) if isinstance(value, str) else None
    if kind == INTEGER:
        return _whole(value)
    if isinstance(value, str):
        return [value] if value else []
    return value if isinstance(value, list) and all(isinstance(one, str) for one in value) else None


def _whole(value: Any) -> int | None:
    if isinstance(value, bool) or not isinstance(value, str | int | float) or (isinstance(value, float) and not value.is_integer()):
        return None
    try:
        number = int(value)
    except ValueError:
        return None
    return number if abs(number) < 1 << 31 else None


ToolFunction = Callable[[Workspace, dict[str, Any], Report], Awaitable[str]]
INSTRUCTIONS = (
    "whence finds code and notes in this repository. Start with `search` instead of grep or listing files, and with `context` "
    "before you change anything; `graph` answers who calls what. `recall` what was learned before, `remember` what should outlast "
    "this session. Answers say how fresh they are, and when something is NOT HERE: then do not search on with other words."
)


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool: its description, its arguments and the function that answers."""

    name: str
    description: str
    properties: Mapping[str, Mapping[str, Any]]
    required: tuple[str, ...]
    answer: ToolFunction
    changes: bool = False  # whether it stores anything

    def schema(self, *, several: bool, fleet: bool = False) -> dict[str, Any]:
        """The JSON schema of its arguments; `root` only if there are several, `fleet` only if there is one."""
        shown = {name: dict(one) for name, one in self.properties.items() if (several or one is not _ROOT) and (fleet or one is not _FLEET)}
        return {"type": "object", "properties": shown, "required": list(self.required)}

    def checked(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments of a call, each converted to its type."""
        properties = self.properties
        for name in given:
            if name not in properties:
                near = get_close_matches(name, properties, 1)
                hint = f"did you mean {near[0]}?" if near else f"allowed: {', '.join(properties)}"
                raise UsageError(f"there is no argument {name[:80]!r}", hint=hint)
        if missing := [name for name in self.required if given.get(name) in (None, "")]:
            wanted = properties[missing[0]]
            raise UsageError(f"{missing[0]} is missing", hint=wanted.get("description", "") or ", ".join(wanted.get("enum", ())))
        return {name: _converted(name, properties[name], value) for name, value in given.items() if value is not None}


def _text(description: str = "", **more: Any) -> dict[str, Any]:
    return {"type": STRING, **({"description": description} if description else {}), **more}


def _number(description: str, least: int = 1) -> dict[str, Any]:
    return {"type": INTEGER, "description": description, "minimum": least}


def _flag(description: str) -> dict[str, Any]:
    return {"type": BOOLEAN, "description": description}


def _texts(description: str) -> dict[str, Any]:
    return {"type": STRINGS, "items": {"type": STRING}, "description": description}


def _offered(request: type, *only: str, but: tuple[str, ...] = ()) -> dict[str, dict[str, Any]]:
    """The options of a request that agents may use."""
    kinds = {"int": INTEGER, "bool": BOOLEAN, "strs": STRINGS}
    found: dict[str, dict[str, Any]] = {}
    for one in options_of(request):
        if one.mcp is None or (only and one.name not in only) or one.name in but:
            continue
        kind = kinds.get(one.type, STRING)
        found[one.name] = {"type": kind, **({"items": {"type": STRING}} if kind == STRINGS else {})}
        found[one.name] |= {"description": one.mcp} if one.mcp else {}
        found[one.name] |= {} if one.minimum is None else {"minimum": one.minimum}
    return found


_ROOT = _text("which root (all, or the first)")
_FLEET = _flag("search all repositories of the fleet; repo:PATTERN in the query chooses")
_BUDGET = _number("most tokens of the answer", 50)

TOOLS = (
    Tool(
        "search",
        "Find code by words, meaning and structure; use it instead of grep and of reading files to look around. "
        'Takes a question, a name, or a query: "exact phrase", /regex/, -not, OR, path: lang: kind: sym: callers:NAME in:docs. '
        "Gives ranked files with line spans and the lines that matter, and says when it is NOT HERE.",
        {
            **_offered(SearchRequest, "query"),
            "path": _text("only below this file or folder"),
            **_offered(SearchRequest, but=("query",)),
            "why": _flag("show what each score is made of"),
            "fleet": _FLEET,
            "budget": _BUDGET,
            "root": _ROOT,
        },
        ("query",),
        search,
    ),
    Tool(
        "context",
        "Get the symbols that a task needs, with their source, in one call: before you write or change code. "
        "Give the task in words, or files to see what depends on them, or diff to see what a change reaches.",
        {
            **_offered(ContextRequest),
            "budget": _number("most tokens of the answer (6000)", 50),
            "root": _ROOT,
        },
        (),
        context,
    ),
    Tool(
        "related",
        "Find code like the code at a line: other implementations, copies, usage patterns to follow.",
        {"place": _text("FILE:LINE"), "k": _number("how many (8)"), "budget": _BUDGET, "root": _ROOT},
        ("place",),
        related,
    ),
    Tool(
        "graph",
        "Ask the symbol graph: callers, callees, impact (what depends on it), tests, or the path to another symbol. "
        "A name that does not exist is refused with the nearest, never answered for another.",
        {
            "question": _text(enum=list(QUESTIONS)),
            "symbol": _text("name, Type.member, path#name or FILE:LINE"),
            "to": _text("for path: the other symbol"),
            "depth": _number("how many steps away"),
            "budget": _BUDGET,
            "root": _ROOT,
        },
        ("question", "symbol"),
        graph,
    ),
    Tool(
        "remember",
        "Store what should outlast this session: a decision and its reason, a trap, how to do something here. "
        "Not what the code already says. The same topic replaces the earlier note.",
        {
            "text": _text("the note, in full sentences"),
            "topic": _text("a few words"),
            "about": _texts("code it speaks of, path#symbol: recall warns when that changes"),
            "tags": _texts("words to find it by"),
            "handoff": _flag("the state of work on this branch, for whoever goes on"),
            "project": _text(),
            "root": _ROOT,
        },
        ("text",),
        remember,
        changes=True,
    ),
    Tool(
        "recall",
        "Find notes of earlier sessions: decisions, traps, the state of a branch. Ask at the start of a task.",
        {
            **_offered(RecallRequest),
            "why": _flag("show what each score is made of"),
            "budget": _BUDGET,
            "root": _ROOT,
        },
        ("query",),
        recall,
    ),
    Tool(
        "feedback",
        "Say which symbols of an answer a task needed, and which were of no use: later answers learn from it.",
        {"useful": _texts("symbols"), "useless": _texts("symbols"), "task": _text("what they were wanted for"), "root": _ROOT},
        (),
        feedback,
        changes=True,
    ),
)
BY_NAME = {tool.name: tool for tool in TOOLS}
#: Tools that keep within the budget themselves and report it in their text.
KEEPS_BUDGET = frozenset({"context"})

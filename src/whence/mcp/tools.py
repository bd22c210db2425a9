"""The tools: their schemas, and the check of a call's arguments. What agents often send for a number or a list is accepted."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from whence.app.presenters.text import Document
from whence.app.workspace import Report, Workspace
from whence.context.request import ContextRequest
from whence.core.errors import UsageError
from whence.core.request import options_of
from whence.core.settings import toml_reader
from whence.mcp.answers import context, edit_note, feedback, graph, recall, related, remember, search
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


#: Answers with a document, or with a text that keeps within the budget by itself.
ToolFunction = Callable[[Workspace, dict[str, Any], Report], Awaitable[Document | str]]


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool: its description, its arguments and the function that answers."""

    name: str
    description: str
    properties: Mapping[str, Mapping[str, Any]]
    required: tuple[str, ...]
    answer: ToolFunction
    changes: bool = False  # whether it stores anything
    destroys: bool = False  # whether something may be gone for good

    def schema(self, *, several: bool, fleet: bool = False) -> dict[str, Any]:
        """The JSON schema of its arguments; `root` only if there are several, `fleet` only if there is one."""
        shown = {name: dict(one) for name, one in self.properties.items() if (several or name != "root") and (fleet or name != "fleet")}
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


def _offered(request: type) -> dict[str, dict[str, Any]]:
    """The options of a request that agents may use."""
    kinds = {"int": INTEGER, "bool": BOOLEAN, "strs": STRINGS}
    found: dict[str, dict[str, Any]] = {}
    for one in options_of(request):
        if one.mcp is None:
            continue
        kind = kinds.get(one.type, STRING)
        found[one.name] = {"type": kind, **({"items": {"type": STRING}} if kind == STRINGS else {})}
        found[one.name] |= {"description": one.mcp} if one.mcp else {}
        found[one.name] |= {} if one.minimum is None else {"minimum": one.minimum}
    return found


def _tool(name: str, about: Mapping[str, Any], shared: Mapping[str, Any]) -> Tool:
    own = {key: one if isinstance(one, dict) else {"type": STRING, "description": one} for key, one in about.get("arguments", {}).items()}
    offered = _offered(_REQUESTS[name]) if name in _REQUESTS else {}
    properties = {**offered, **own, **{key: shared[key] for key in about["shared"]}}
    return Tool(
        name,
        about["description"],
        properties,
        tuple(about.get("required", ())),
        _ANSWERS[name],
        about.get("changes", False),
        about.get("destroys", False),
    )


_ANSWERS: dict[str, ToolFunction] = {one.__name__: one for one in (search, context, related, graph, remember, edit_note, recall, feedback)}
_REQUESTS: dict[str, type] = {"search": SearchRequest, "context": ContextRequest, "recall": RecallRequest}
#: The texts that agents read.
TABLE: dict[str, Any] = toml_reader().loads(Path(__file__).with_name("texts.toml").read_text("utf-8"))
INSTRUCTIONS: str = TABLE["instructions"]
BY_NAME = {name: _tool(name, TABLE["tools"][name], TABLE["tools"]["shared"]) for name in _ANSWERS}

"""Whether a tool was called rightly. What agents often write for a number or a list is taken for one."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from whence.errors import UsageError

STRING, INTEGER, BOOLEAN, STRINGS = "string", "integer", "boolean", "array"
#: No argument of a call may be longer than this.
MOST_CHARACTERS = 200_000
_TRUTHS = {"true": True, "false": False}


def schema(properties: Mapping[str, Mapping[str, Any]], required: tuple[str, ...]) -> dict[str, Any]:
    """The JSON schema of a tool's arguments, as short as can be: every session of every agent reads it."""
    return {"type": "object", "properties": {name: dict(one) for name, one in properties.items()}, "required": list(required)}


def checked(properties: Mapping[str, Mapping[str, Any]], required: tuple[str, ...], given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a call, each of its type."""
    for name in given:
        if name not in properties:
            near = get_close_matches(name, properties, 1)
            raise UsageError(
                f"there is no argument {name[:80]!r}", hint=f"did you mean {near[0]}?" if near else f"allowed: {', '.join(properties)}"
            )
    if missing := [name for name in required if given.get(name) in (None, "")]:
        wanted = properties[missing[0]]
        raise UsageError(f"{missing[0]} is missing", hint=wanted.get("description", "") or ", ".join(wanted.get("enum", ())))
    return {name: _one(name, properties[name], value) for name, value in given.items() if value is not None}


def _one(name: str, wanted: Mapping[str, Any], value: Any) -> Any:
    kind = wanted["type"]
    taken = _taken(kind, value)
    if taken is None:
        raise UsageError(f"{name} must be of type {kind}, not {type(value).__name__}")
    if (isinstance(taken, str) and len(taken) > MOST_CHARACTERS) or (kind == STRINGS and sum(map(len, taken)) > MOST_CHARACTERS):
        raise UsageError(f"{name} is longer than {MOST_CHARACTERS} characters")
    if "enum" in wanted and taken not in wanted["enum"]:
        raise UsageError(f"{name} {taken[:80]!r} is not known", hint=f"allowed: {', '.join(wanted['enum'])}")
    if kind == INTEGER and taken < wanted.get("minimum", taken):
        raise UsageError(f"{name} {taken} is not allowed", hint=f"at least {wanted['minimum']}")
    return taken


def _taken(kind: str, value: Any) -> Any:
    """A value as its type; None when it cannot be that."""
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
    if isinstance(value, bool):
        return None
    try:
        number = int(value) if isinstance(value, str | int) else int(value) if isinstance(value, float) and value == int(value) else None
    except (ValueError, OverflowError):
        return None
    return number if number is not None and abs(number) < 1 << 31 else None

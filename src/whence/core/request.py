"""What a front end may ask: each option is one field of a frozen request, described where it is declared.

The command line, the MCP schemas and the HTTP API read these descriptions, so a new option is written once.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_type_hints

from whence.core.errors import UsageError


@dataclass(frozen=True, slots=True)
class Option:
    """How one field of a request is offered by each front end."""

    name: str = ""
    doc: str = ""  # help of the command line, and description in the HTTP API
    flags: tuple[str, ...] = ()  # of the command line; none: not offered there
    metavar: str = ""
    choices: tuple[str, ...] = ()
    mcp: str | None = None  # description for agents, as short as can be; None: not offered there
    minimum: int | None = None
    type: str = "str"  # str, int, float, bool, or strs for a tuple of texts
    default: Any = None
    flag_value: str | None = None  # the value of a flag that is given without one

    @property
    def placeholder(self) -> str:
        """What stands for the value in help."""
        return self.metavar or "|".join(self.choices)


def option(default: Any, doc: str, *flags: str, **how: Any) -> Any:
    """Declare a field of a request."""
    return dataclasses.field(default=default, metadata={"option": Option(doc=doc, flags=flags, default=default, **how)})


def options_of(request: type) -> Iterator[Option]:
    """The options of a request, in the order of their declaration."""
    types = get_type_hints(request)
    for field in dataclasses.fields(request):
        if found := field.metadata.get("option"):
            yield dataclasses.replace(found, name=field.name, type=_kind(types[field.name]))


def _kind(hint: Any) -> str:
    said = str(hint)
    if "Mapping" in said:
        return "factors"
    if said.startswith(("tuple", "collections.abc.Sequence")):
        return "strs"
    return next((kind for kind in ("bool", "int", "float") if kind in (getattr(hint, "__name__", "") or said)), "str")


def pick_fields(request: type, given: Mapping[str, Any]) -> dict[str, Any]:
    """The values that are fields of a request, among others."""
    return {field.name: given[field.name] for field in dataclasses.fields(request) if field.name in given}


def check_choice(what: str, value: str | None, allowed: Sequence[str]) -> None:
    """Refuse a value that is none of the allowed."""
    if value is not None and value not in allowed:
        raise UsageError(f"unknown {what} {value!r}", hint=f"allowed: {', '.join(allowed)}")

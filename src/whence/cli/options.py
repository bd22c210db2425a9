"""Options of commands, derived from the requests they make."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeVar

import click

from whence.core.request import Option, options_of

_Command = TypeVar("_Command", bound=Callable[..., Any])
_TYPES = {"int": int, "float": float}


def request_options(
    request: type, *, only: Collection[str] = (), help_of: Mapping[str, str] | None = None
) -> Callable[[_Command], _Command]:
    """Give a command the options of a request, or some of them; `help_of` says what some mean here."""
    offered = [one for one in options_of(request) if one.flags and (not only or one.name in only)]

    def add(command: _Command) -> _Command:
        for one in reversed(offered):
            command = _click_option(one, (help_of or {}).get(one.name, one.doc))(command)
        return command

    return add


def _click_option(one: Option, said: str) -> Callable[[_Command], _Command]:
    if one.type == "bool":
        return click.option(*one.flags, one.name, is_flag=True, help=said)
    valueless: dict[str, Any] = {"is_flag": False, "flag_value": one.flag_value} if one.flag_value else {}
    return click.option(
        *one.flags,
        one.name,
        type=_TYPES.get(one.type),
        multiple=one.type == "strs",
        **valueless,
        metavar=one.placeholder or None,
        help=said,
    )

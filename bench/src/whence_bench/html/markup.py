"""Elements of a page. What is given as text is escaped: only what this module made is taken as it is."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape
from typing import Final

#: Elements that have no end.
_VOID: Final = frozenset({"meta", "br"})
#: Control characters, and those that turn the direction of what follows them: a name may hold them to look like another.
_UNSEEN: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufffe\uffff]")


class Markup(str):
    """Text of a page that needs no more escaping."""

    __slots__ = ()


Child = str | Markup | Iterable[Markup]


def element(tag: str, *children: Child, **attributes: object) -> Markup:
    """An element. `class_` is its class, `font_size` its `font-size`; an attribute that is None is left out."""
    given = "".join(f' {_name(name)}="{_text(_number(value))}"' for name, value in attributes.items() if value is not None)
    if tag in _VOID:
        return Markup(f"<{tag}{given}>")
    return Markup(f"<{tag}{given}>{''.join(map(_child, children))}</{tag}>")


def joined(parts: Iterable[Markup]) -> Markup:
    """Several elements as one."""
    return Markup("\n".join(parts))


def _child(value: Child) -> str:
    if isinstance(value, Markup):
        return value
    return _text(value) if isinstance(value, str) else "".join(value)


def _text(text: str) -> str:
    """Escaped, without halves of characters, and with a mark in place of what nobody would see."""
    return escape(_UNSEEN.sub("\ufffd", text.encode("utf-8", "replace").decode("utf-8")))


def _name(name: str) -> str:
    return name.rstrip("_").replace("_", "-")


def _number(value: object) -> str:
    """Numbers of a drawing need one decimal."""
    return f"{value:.1f}".removesuffix(".0") if isinstance(value, float) else str(value)

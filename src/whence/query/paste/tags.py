"""Tags in a text that is no markup: what stands between an opening and a closing one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

#: Tags that say in an argument what they hold: `<parameter name="query">`.
ARGUMENT_TAGS = ("parameter", "param", "arg", "argument", "field")
#: A tag with more before it on its line does not begin the line.
MOST_INDENTED = 40

_TAG = re.compile(
    r"""<(?P<closing>/?)(?P<name>[A-Za-z][\w:.-]{0,40})(?:\s+(?:name|key)=["'](?P<holds>[\w-]{1,40})["'])?(?:\s[^<>]{0,200})?>"""
)


@dataclass(frozen=True, slots=True)
class Tagged:
    """What stands between an opening and a closing tag, and whether the opening one begins a line."""

    name: str
    start: int
    inner_start: int
    inner_end: int
    end: int
    begins_line: bool
    argument: bool  # whether the tag says in an argument what it holds


def tagged(text: str, *, cut: bool = False) -> list[Tagged]:
    """Every pair of tags in a text, in the order in which they close. Of a text that was cut the first opening ones may be missing."""
    opened: dict[str, list[tuple[str, int, int]]] = {}
    found = []
    for tag in _TAG.finditer(text):
        name = tag["name"].lower()
        if not tag["closing"]:
            holds = tag["holds"] if name in ARGUMENT_TAGS and tag["holds"] else name
            opened.setdefault(name, []).append((holds, tag.start(), tag.end()))
        elif opened.get(name):
            holds, start, inner = opened[name].pop()
            near = max(start - MOST_INDENTED, 0)
            begins = not text[max(near, text.rfind("\n", near, start) + 1) : start].strip(" \t>")
            found.append(Tagged(holds, start, inner, tag.start(), tag.end(), begins, name in ARGUMENT_TAGS))
        elif cut:
            found.append(Tagged(name, 0, 0, tag.start(), tag.end(), begins_line=True, argument=False))
    return found


def without(text: str, blocks: Sequence[Tagged]) -> str:
    """A text without some blocks of it."""
    left, place = [], 0
    for block in outermost(blocks):
        left.append(text[place : block.start])
        place = block.end
    return "\n\n".join([*left, text[place:]]).strip()


def outermost(blocks: Sequence[Tagged]) -> list[Tagged]:
    """The blocks that lie in no other, in their order."""
    found: list[Tagged] = []
    for block in sorted(blocks, key=lambda one: (one.start, -one.end)):
        if not found or block.start >= found[-1].end:
            found.append(block)
    return found

"""A block of ours in a text that others write: between two marks, put at the end, kept up to date, taken out."""

from __future__ import annotations

import re

from whence.app.agents.json_text import newline_of
from whence.app.agents.splices import Edited, edited

START, END = "<!-- whence:start -->", "<!-- whence:end -->"
_BLOCK = re.compile(rf"(?:^|(?<=\ufeff))[ \t]*{re.escape(START)}.*?{re.escape(END)}[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)


class NotMarked(Exception):
    """Why the block cannot be told from the rest."""


def block_of(text: str) -> str | None:
    """What stands between the marks, lines ended as ours are; None where there are no marks."""
    found = _found(text)
    return None if found is None else found.group().strip().replace("\r\n", "\n").removeprefix(START).removesuffix(END).strip("\n")


def put(text: str, block: str, head: str = "") -> Edited:
    """Have the block in a text; `head` comes before it where the text is empty."""
    newline = newline_of(text)
    marked = "\n".join((START, block.strip("\n"), END)).replace("\n", newline) + newline
    found = _found(text)
    if found is not None:
        return Edited(text) if block_of(text) == block.strip("\n") else edited(text, [(found.start(), found.end(), marked)])
    if not text.removeprefix("\ufeff"):
        return edited(text, [(len(text), len(text), head + marked)])
    return edited(text, [(len(text), len(text), gap_after(text) + marked)])


def take(text: str, gap: str | None = None) -> Edited:
    """Take the block out, and the gap that was made before it; where that is not known, the empty line there."""
    found = _found(text)
    if found is None:
        return Edited(text)
    start, end = found.span()
    return edited(text, [(start - gap_before(text, start, gap), end, "")])


def gap_after(text: str) -> str:
    """What sets something apart from a text that it is put after."""
    newline = newline_of(text)
    if not text.removeprefix("\ufeff") or text.endswith(newline * 2):
        return ""
    return newline if text.endswith("\n") else newline * 2


def gap_before(text: str, at: int, gap: str | None) -> int:
    """The length of the gap before a place."""
    newline = newline_of(text)
    if gap is not None:
        return len(gap) if text[:at].endswith(gap) else 0
    return len(newline) if text[:at].endswith(newline * 2) else 0


def _found(text: str) -> re.Match[str] | None:
    if (text.count(START), text.count(END)) not in ((0, 0), (1, 1)):
        raise NotMarked(f"the marks {START} and {END} do not stand there once each")
    found = _BLOCK.search(text)
    if found is None and START in text:
        raise NotMarked(f"the mark {START} does not stand at the start of a line before {END}")
    return found

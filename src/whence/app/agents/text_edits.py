"""Edits of a text that can be undone exactly, and a marked block of ours in a text that others write."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

START, END = "<!-- whence:start -->", "<!-- whence:end -->"
_BLOCK = re.compile(rf"(?:^|(?<=\ufeff))[ \t]*{re.escape(START)}.*?{re.escape(END)}[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)


class EditError(Exception):
    """Why a text cannot be edited safely, with the line where known."""

    prefix = ""  # what kind of problem it is, for the user


@dataclass(frozen=True, slots=True)
class Splice:
    """A replacement at one position."""

    at: int
    removed: str
    inserted: str


@dataclass(frozen=True, slots=True)
class TextEdit:
    """The text after an edit, and the splices that undo it, in the order to apply them."""

    text: str
    undo: tuple[Splice, ...] = ()

    def then(self, later: TextEdit) -> TextEdit:
        """Both edits as one."""
        return TextEdit(later.text, later.undo + self.undo)


def replace_ranges(text: str, changes: Iterable[tuple[int, int, str]]) -> TextEdit:
    """Replace ranges (start, end, new text) that do not overlap."""
    undo: list[Splice] = []
    for start, end, new in sorted(changes, reverse=True):  # from the end, so that earlier positions stay valid
        undo.append(Splice(start, new, text[start:end]))
        text = text[:start] + new + text[end:]
    return TextEdit(text, tuple(reversed(undo)))


def invert(splices: Sequence[Splice]) -> tuple[Splice, ...]:
    """The splices that reverse these."""
    return tuple(Splice(one.at, one.inserted, one.removed) for one in reversed(splices))


def apply_splices(text: str, splices: Sequence[Splice]) -> str | None:
    """The text after some splices; None if they do not match it."""
    for one in splices:
        if text[one.at : one.at + len(one.removed)] != one.removed:
            return None
        text = text[: one.at] + one.inserted + text[one.at + len(one.removed) :]
    return text


def newline_of(text: str) -> str:
    """The line ending of a text: that of its first line."""
    first = text.find("\n")
    return "\r\n" if first > 0 and text[first - 1] == "\r" else "\n"


def line_number(text: str, at: int) -> int:
    """The line of a position, from 1."""
    return text.count("\n", 0, at) + 1


def gap_after(text: str) -> str:
    """What to insert after a text so that an empty line separates it from what follows."""
    newline = newline_of(text)
    if not text.removeprefix("\ufeff") or text.endswith(newline * 2):
        return ""
    return newline if text.endswith("\n") else newline * 2


def gap_length(text: str, at: int, gap: str | None) -> int:
    """The length of the gap inserted before a position; if the gap is not known, that of the empty line there."""
    newline = newline_of(text)
    if gap is not None:
        return len(gap) if text[:at].endswith(gap) else 0
    return len(newline) if text[:at].endswith(newline * 2) else 0


# The marked block.
def marked_block(text: str) -> str | None:
    """The text between our markers, with Unix line endings; None without markers."""
    match = _match_block(text)
    return None if match is None else match.group().strip().replace("\r\n", "\n").removeprefix(START).removesuffix(END).strip("\n")


def put_block(text: str, block: str, template: str = "") -> TextEdit:
    """Replace the marked block, or append it. In an empty text it follows the `template`."""
    newline = newline_of(text)
    marked = "\n".join((START, block.strip("\n"), END)).replace("\n", newline) + newline
    match = _match_block(text)
    if match is not None:
        return TextEdit(text) if marked_block(text) == block.strip("\n") else replace_ranges(text, [(*match.span(), marked)])
    before = gap_after(text) if text.removeprefix("\ufeff") else template
    return replace_ranges(text, [(len(text), len(text), before + marked)])


def remove_block(text: str, gap: str | None = None) -> TextEdit:
    """Remove the marked block and the gap before it (see `gap_length`)."""
    match = _match_block(text)
    if match is None:
        return TextEdit(text)
    start, end = match.span()
    return replace_ranges(text, [(start - gap_length(text, start, gap), end, "")])


def _match_block(text: str) -> re.Match[str] | None:
    if (text.count(START), text.count(END)) not in ((0, 0), (1, 1)):
        raise EditError(f"the markers {START} and {END} do not each appear exactly once")
    match = _BLOCK.search(text)
    if match is None and START in text:
        raise EditError(f"the marker {START} does not begin a line above {END}")
    return match

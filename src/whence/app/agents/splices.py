"""Changes of a text, each at its place, so that they can be taken back to the letter."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Splice:
    """What is taken out of a text at a place, and what is put there instead."""

    at: int
    removed: str
    inserted: str


@dataclass(frozen=True, slots=True)
class Edited:
    """A text after a change, and the splices that take it back, in the order in which they are to be made."""

    text: str
    undo: tuple[Splice, ...] = ()

    def then(self, later: Edited) -> Edited:
        """This change and one that was made after it."""
        return Edited(later.text, later.undo + self.undo)


def edited(text: str, changes: Iterable[tuple[int, int, str]]) -> Edited:
    """A text in which ranges (first, end) are replaced; they do not overlap."""
    undo: list[Splice] = []
    for start, end, new in sorted(changes, reverse=True):  # from the end, so that no place moves before its turn
        undo.append(Splice(start, new, text[start:end]))
        text = text[:start] + new + text[end:]
    return Edited(text, tuple(reversed(undo)))


def turned_round(undo: Sequence[Splice]) -> tuple[Splice, ...]:
    """The splices that make a change again, from those that take it back."""
    return tuple(Splice(one.at, one.inserted, one.removed) for one in reversed(undo))


def taken_back(text: str, undo: Sequence[Splice]) -> str | None:
    """The text before a change, or None when it is not the one that the change made."""
    for one in undo:
        if text[one.at : one.at + len(one.removed)] != one.removed:
            return None
        text = text[: one.at] + one.inserted + text[one.at + len(one.removed) :]
    return text

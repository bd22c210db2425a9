"""What each piece of a line of code is: a keyword, a string, a name that is defined."""

from __future__ import annotations

from collections.abc import Sequence

#: A stretch of a line, from one column to another (from 0, in characters), and what it is.
Stretch = tuple[int, int, str]


def colour_lines(language: str, lines: Sequence[str]) -> list[list[Stretch]]:  # noqa: ARG001
    """For each of some lines that stand together in a file, what its pieces are, in order and without overlap."""
    return [[] for _ in lines]

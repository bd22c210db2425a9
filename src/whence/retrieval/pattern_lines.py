"""Candidates by a pattern: the lines of indexed files that match, read from the files themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

import numpy as np

from whence.index.snapshot import Snapshot
from whence.query.pattern import Pattern
from whence.storage.arrayfile import Array


class ReadText(Protocol):
    """What reads a file as it is shown; None when it is gone, or as it is on disk is not wanted: hiding what is secret costs more."""

    def __call__(self, path: str, wanted: Callable[[str], object] | None = None, /) -> str | None:
        """The text of a file."""


def matching_lines(snapshot: Snapshot, files: Iterable[int], pattern: Pattern, read: ReadText) -> dict[int, list[int]]:
    """For each file with a match, the lines that match. A file that is gone has none."""
    found = {}
    for file in files:
        text = read(snapshot.path(file), pattern.matching_lines)
        if text is not None and (lines := pattern.matching_lines(text)):
            found[file] = lines
    return found


def units_with_lines(snapshot: Snapshot, lines: dict[int, list[int]]) -> Array:
    """A mask of the units that hold one of these lines; a line between units counts for the nearest before it."""
    mask = np.zeros(snapshot.units, bool)
    first, last, starts = snapshot.column("units.first"), snapshot.column("units.last"), snapshot.unit_starts
    for file, numbers in lines.items():
        a, b = int(starts[file]), int(starts[file + 1])
        wanted = np.array(numbers)
        holds = (first[a:b, None] <= wanted[None, :]) & (wanted[None, :] <= last[a:b, None])
        mask[a:b] |= holds.any(axis=1)
        for number in wanted[~holds.any(axis=0)].tolist():
            before = np.flatnonzero(first[a:b] <= number)
            mask[a + (int(before[-1]) if len(before) else 0)] = True
    return mask


def lines_in_units(snapshot: Snapshot, lines: dict[int, list[int]], units: Array) -> dict[int, list[int]]:
    """Those of the lines that lie in one of the units of a mask."""
    first, last, starts = snapshot.column("units.first"), snapshot.column("units.last"), snapshot.unit_starts
    kept = {}
    for file, numbers in lines.items():
        rows = np.flatnonzero(units[int(starts[file]) : int(starts[file + 1])]) + int(starts[file])
        inside = [number for number in numbers if any(first[row] <= number <= last[row] for row in rows.tolist())]
        if inside:
            kept[file] = inside
    return kept

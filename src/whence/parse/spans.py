"""Which bytes of a file belong to which unit: to the innermost that holds them."""

from __future__ import annotations

from collections.abc import Sequence

from whence.types import Unit

Span = tuple[int, int, int]


def own_spans(units: Sequence[Unit]) -> list[Span]:
    """Disjoint spans (start, end, row of the innermost unit that owns it), in order."""
    spans: list[Span] = []
    open_: list[int] = []
    at = 0

    def close(upto: int) -> None:
        nonlocal at
        if open_ and upto > at:
            spans.append((at, upto, open_[-1]))
        at = max(at, upto)

    for row, unit in enumerate(units):
        while open_ and units[open_[-1]].end <= unit.start:
            close(units[open_[-1]].end)
            open_.pop()
        close(unit.start)
        at = max(at, unit.start)
        open_.append(row)
    while open_:
        close(units[open_[-1]].end)
        open_.pop()
    return spans

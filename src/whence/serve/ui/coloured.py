"""Lines of code as the page shows them: cut where a colour changes or what matched begins."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from whence.parse.colours import Stretch, colour_lines
from whence.serve.ui.shapes import CodeLine, Run
from whence.source.hidden import made_visible

if TYPE_CHECKING:
    from whence.results import Result

#: So many lines before the first that is shown are read for their colours: what began before them is seldom still open.
LINES_BEFORE = 60


def coloured(language: str, lines: Sequence[str], first: int, wanted: dict[int, Iterable[tuple[int, int]]]) -> list[CodeLine]:
    """Some lines, by their number, of a text that begins at line `first`; each with the columns of what matched in it."""
    if not wanted:
        return []
    begin = max(min(wanted) - first - LINES_BEFORE, 0)
    end = max(wanted) - first + 1
    colours = colour_lines(language, lines[begin:end])
    return [
        CodeLine(number=number, runs=runs_of(lines[number - first], colours[number - first - begin], marks))
        for number, marks in wanted.items()
        if number - first < len(lines)
    ]


def of_result(result: Result, text: str | None) -> list[CodeLine]:
    """The lines of a result, read with the unit that they stand in."""
    shown = {line.number: line for line in result.lines}
    if not shown or text is None:
        return []
    first = min(result.best_start, *shown)
    lines = text.split("\n")[first - 1 : max(shown)]
    for number, line in shown.items():
        lines[number - first] = line.text  # as it is shown: tabs spread, long lines cut
    return coloured(result.language, lines, first, {number: line.marks for number, line in shown.items()})


def runs_of(text: str, colours: Sequence[Stretch], marks: Iterable[tuple[int, int]]) -> list[Run]:
    """A line cut into runs of one colour that matched or did not."""
    kinds, marked = [""] * len(text), [False] * len(text)
    for start, end, kind in colours:
        kinds[start:end] = [kind] * len(kinds[start:end])
    for start, end in marks:
        marked[start:end] = [True] * len(marked[start:end])
    runs: list[Run] = []
    begin = 0
    for at in range(1, len(text) + 1):
        if at == len(text) or (kinds[at], marked[at]) != (kinds[begin], marked[begin]):
            runs.append((made_visible(text[begin:at]), kinds[begin], marked[begin]))
            begin = at
    return runs

"""Lines of code as the page shows them: split where the colour changes or a match begins."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from whence.parse.highlight import Stretch, colour_lines
from whence.text.injection import escape_invisible
from whence.ui.models import CodeLine, Run

if TYPE_CHECKING:
    from whence.search.result import SearchResult

#: Lines read before the first one shown, for the colours of what began earlier.
LINES_BEFORE = 60
#: Texts of up to this many lines are read whole: the result is then cached, whichever lines are shown.
READ_WHOLE = 120
#: Longer ones are read in steps of this many lines, for the same reason.
STEP = 40
#: Lines read for one result. If it shows lines all over a long file (matches of a pattern), only the first get colours.
MAX_READ = 500


def coloured(
    language: str, lines: Sequence[str], first: int, wanted: dict[int, Iterable[tuple[int, int]]], most_read: int | None = None
) -> list[CodeLine]:
    """Some lines, by number, of a text that begins at line `first`; each with the columns of its matches."""
    rows = sorted(row for number in wanted if 0 <= (row := number - first) < len(lines))
    colours: dict[int, list[Stretch]] = {}
    for begin, end, group in _pieces(lines, rows):
        if most_read is not None and (most_read := most_read - (end - begin)) < 0:
            break
        found = colour_lines(language, lines[begin:end], {row - begin for row in group})
        colours.update((row, found[row - begin]) for row in group)
    return [
        CodeLine.model_construct(number=number, runs=runs_of(lines[row], colours.get(row, ()), marks))
        for number, marks in wanted.items()
        if 0 <= (row := number - first) < len(lines)
    ]


def _pieces(lines: Sequence[str], rows: Sequence[int]) -> Iterator[tuple[int, int, list[int]]]:
    """Groups of rows that lie together, each with the range of lines to read for it."""
    group: list[int] = []
    for row, following in pairwise((*rows, None)):
        if row is None:
            continue
        group.append(row)
        if following is None or following - row > LINES_BEFORE:
            begin = 0 if group[0] <= READ_WHOLE else beginning_before(lines, group[0])
            end = begin + -(-(row + 1 - begin) // STEP) * STEP
            yield begin, len(lines) if len(lines) - begin <= READ_WHOLE else min(end, len(lines)), group
            group = []


def beginning_before(lines: Sequence[str], row: int) -> int:
    """A line above another at which to begin reading: the least indented one."""
    near = range(max(row - LINES_BEFORE, 0), row + 1)
    return min((at for at in near if lines[at].strip()), key=lambda at: (len(lines[at]) - len(lines[at].lstrip()), at), default=row)


def of_result(result: SearchResult, text: str | None) -> list[CodeLine]:
    """The lines of a result, read together with their unit."""
    shown = {line.number: line for line in result.lines}
    if not shown or text is None:
        return []
    every = text.split("\n")
    first, last = min(result.best_start, *shown), max(result.best_end, *shown)
    if result.kind == "raw" and first > 1:  # begins where a window ends, not a definition
        first = 1 if first <= READ_WHOLE else beginning_before(every, first - 1) + 1
    lines = [line.rstrip("\r").expandtabs(4) for line in every[first - 1 : last]]
    for number, line in shown.items():
        lines[number - first] = line.text  # as shown: long lines are cut
    return coloured(result.language, lines, first, {number: line.marks for number, line in shown.items()}, MAX_READ)


def runs_of(text: str, colours: Sequence[Stretch], marks: Iterable[tuple[int, int]]) -> list[Run]:
    """A line split into runs of one colour, each matched or not."""
    marks, length = tuple(marks), len(text)
    edges = {0, length}
    for start, end, _ in colours:
        edges |= {start, end}
    for start, end in marks:
        edges |= {start, end}
    seen = escape_invisible(text) != text
    runs: list[Run] = []
    for start, end in pairwise(sorted(edge for edge in edges if 0 <= edge <= length)):
        kind = next((kind for begin, stop, kind in colours if begin <= start < stop), "")
        marked = any(begin <= start < stop for begin, stop in marks)
        piece = text[start:end]
        runs.append((escape_invisible(piece) if seen else piece, kind, marked))
    return runs

"""The report of `whence bench confidence` as a page, and as drawings: what was promised and kept, and what is caught at what price."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from whence_bench import report
from whence_bench.html.drawing import Drawing, beside
from whence_bench.html.plots import Extras, Point, Side, lines
from whence_bench.search.confidence import ALARM_BAR, CAUGHT_BAR, DEFINED, OWN, tables, verdict

#: False alarms that the drawing of the price reaches to.
MOST_ALARMS = 0.12
#: The smallest dot of a bin of questions, and how much larger one is that holds every question.
SMALLEST_DOT, LARGER_DOT = 2.5, 8.0


def as_svg(found: dict[str, Any]) -> str:
    """Two panels: probabilities against what came true, and false alarms against what is caught."""
    return beside("How far a confidence can be believed", [promises(found), price(found)])


def promises(found: dict[str, Any]) -> Drawing:
    """A dot for each bin that holds a question, the larger the more it holds; what is promised is kept on the diagonal."""
    points = [
        Point(one["promised"], one["kept"], SMALLEST_DOT + LARGER_DOT * one["share"] ** 0.5, f"{one['questions']} questions")
        for one in found["reliability"]
        if one["promised"] is not None
    ]
    across, upright = Side("probability that was given", (0.0, 1.0)), Side("share that was there", (0.0, 1.0))
    return lines("What was promised and kept", across, upright, [("kept", points)], extras=Extras(diagonal=True))


def price(found: dict[str, Any]) -> Drawing:
    """What is caught at each share of false alarms, where the bar is, and where the line of the settings stands."""
    points = [Point(one["alarms"] or 0.0, one["caught"] or 0.0) for one in found["roc"]]
    at = found["at_the_line"]
    line = Point(at["alarms"] or 0.0, at["caught"] or 0.0, says=f"line {found['line']:.2f}")
    extras = Extras(area=(0.0, CAUGHT_BAR, ALARM_BAR, 1.0), ring=line)
    across, upright = Side("false alarms", (0.0, MOST_ALARMS)), Side("said not here, of questions without an answer", (0.0, 1.0))
    return lines("What is caught at what price", across, upright, [("caught", points)], extras=extras)


def as_markdown(found: dict[str, Any]) -> str:
    """The tables of one run for a page of documentation."""
    said = [f"{found['repositories']} repositories, weights {found['weights']}, line {found['line']:.2f}. {verdict(found)}"]
    said.append(
        f"{found['questions'][OWN]} questions with an answer. {found['questions'][DEFINED]} borrowed names that are defined here, too, "
        "are no questions without an answer and are left out."
    )
    return "\n\n".join([*said, *(_table(header, rows) for header, rows in tables(found))]) + "\n"


def _table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    lines = [header, ["---", *["--:"] * (len(header) - 1)], *([_cell(value) for value in row] for row in rows)]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def _cell(value: object) -> str:
    if value is None:
        return report.NOTHING
    return f"{value:.3f}" if isinstance(value, float) else str(value)

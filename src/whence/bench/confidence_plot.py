"""The report of `whence bench confidence` as a page, and as a drawing: what was promised and kept, and what is caught at what price."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from whence.bench import report
from whence.bench.confidence import ALARM_BAR, CAUGHT_BAR, DEFINED, OWN, tables, verdict

#: The size of one panel, and the room around it for its words.
SIDE, LEFT, TOP, GAP, BOTTOM = 240, 52, 34, 84, 46
WIDTH, HEIGHT = LEFT + 2 * SIDE + GAP + 16, TOP + SIDE + BOTTOM
#: False alarms that the right panel reaches to.
MOST_ALARMS = 0.12
#: The largest dot of the left panel, for a bin that holds every question.
LARGEST_DOT = 8.0

_STYLE = """
  .ink { fill: #24292f; } .line { stroke: #24292f; } .faint { stroke: #8c959f; } .dot { fill: #0969da; } .curve { stroke: #0969da; }
  .bar { fill: #2da44e; fill-opacity: 0.16; }
  text { font: 11px system-ui, sans-serif; }
  @media (prefers-color-scheme: dark) {
    .ink { fill: #e6edf3; } .line { stroke: #e6edf3; } .faint { stroke: #6e7681; } .dot { fill: #58a6ff; } .curve { stroke: #58a6ff; }
  }
"""


def as_svg(found: dict[str, Any]) -> str:
    """Two panels: probabilities against what came true, and false alarms against what is caught."""
    right = LEFT + SIDE + GAP
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" role="img">',
        "<title>How far a confidence can be believed</title>",
        f"<style>{_STYLE}</style>",
        *_frame(LEFT, "probability that was given", "share that was there", 1.0),
        f'<path class="faint" fill="none" stroke-dasharray="4 3" d="M{LEFT} {TOP + SIDE} L{LEFT + SIDE} {TOP}"/>',
        *_promises(found["reliability"]),
        *_frame(right, "false alarms", "said not here", MOST_ALARMS),
        *_price(found, right),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _frame(left: int, below: str, beside: str, reach: float) -> list[str]:
    """Axes with five marks each; the upright one is always a share."""
    parts = [f'<rect class="line" fill="none" x="{left}" y="{TOP}" width="{SIDE}" height="{SIDE}"/>']
    for step in range(5):
        share = step / 4
        x, y = left + share * SIDE, TOP + SIDE - share * SIDE
        parts.append(f'<text class="ink" x="{x:.0f}" y="{TOP + SIDE + 15}" text-anchor="middle">{share * reach:.0%}</text>')
        parts.append(f'<text class="ink" x="{left - 6}" y="{y + 4:.0f}" text-anchor="end">{share:.0%}</text>')
    middle = left + SIDE / 2
    parts.append(f'<text class="ink" x="{middle:.0f}" y="{TOP + SIDE + 34}" text-anchor="middle">{below}</text>')
    parts.append(f'<text class="ink" x="{left}" y="{TOP - 12}">{beside}</text>')
    return parts


def _promises(rows: Sequence[dict[str, Any]]) -> list[str]:
    """A dot for each bin that holds a question, the larger the more it holds."""
    known = [one for one in rows if one["promised"] is not None]
    places = [(LEFT + one["promised"] * SIDE, TOP + SIDE - one["kept"] * SIDE, one["share"]) for one in known]
    dots = [f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="{2.5 + LARGEST_DOT * share**0.5:.1f}"/>' for x, y, share in places]
    return [_curve([(x, y) for x, y, _ in places]), *dots]


def _price(found: dict[str, Any], left: int) -> list[str]:
    """What is caught at each share of false alarms, where the bar is, and where the line of the settings stands."""

    def x(alarms: float | None) -> float:
        return left + min((alarms or 0.0) / MOST_ALARMS, 1.0) * SIDE

    def y(caught: float | None) -> float:
        return TOP + SIDE - (caught or 0.0) * SIDE

    bar = f'<rect class="bar" x="{left}" y="{TOP}" width="{x(ALARM_BAR) - left:.1f}" height="{y(CAUGHT_BAR) - TOP:.1f}"/>'
    points = [(x(one["alarms"]), y(one["caught"])) for one in found["roc"]]
    at = found["at_the_line"]
    line = (x(at["alarms"]), y(at["caught"]))
    return [
        bar,
        _curve(points),
        *(f'<circle class="dot" cx="{a:.1f}" cy="{b:.1f}" r="3"/>' for a, b in points),
        f'<circle class="curve" fill="none" stroke-width="2" cx="{line[0]:.1f}" cy="{line[1]:.1f}" r="7"/>',
        f'<text class="ink" x="{line[0] + 12:.1f}" y="{line[1] + 14:.1f}">line {found["line"]:.2f}</text>',
        f'<text class="ink" x="{left + 6}" y="{y(CAUGHT_BAR) - 6:.1f}">bar</text>',
    ]


def _curve(points: Sequence[tuple[float, float]]) -> str:
    path = " ".join(f"{'L' if number else 'M'}{x:.1f} {y:.1f}" for number, (x, y) in enumerate(points))
    return f'<path class="curve" fill="none" stroke-width="1.5" d="{path}"/>'


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

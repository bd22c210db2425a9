"""The drawings of a report, each from the numbers that stand in the table beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from whence.search.metrics import percentile
from whence_bench.html.drawing import LETTER, LINE, WIDTH, Drawing, below, legend, line, path, shape, shortened, word
from whence_bench.html.markup import Markup, element
from whence_bench.html.scales import Scale, drawable, scale_over, spread_wide, written
from whence_bench.html.style import SERIES

Reach = tuple[float, float] | None
#: Room under a drawing for its axis.
AXIS = 36
#: So many values are drawn as a dot each; more are counted in bins.
MOST_DOTS, BINS = 60, 40
#: How far marks of one line stand above one another, so that none hides another.
APART = 3.0
#: Room beside a distribution, for half of the number under each end.
SIDES = 22
#: The height of one distribution.
BAND = 56
#: What a drawing says that has nothing to show.
NOTHING_MEASURED = "Nothing was measured."


@dataclass(frozen=True, slots=True)
class Mark:
    """One value, perhaps with bounds, and perhaps with what it should reach."""

    value: float
    low: float | None = None
    high: float | None = None
    goal: float | None = None

    @property
    def ends(self) -> tuple[float, ...]:
        """All places that it takes."""
        return tuple(one for one in (self.value, self.low, self.high, self.goal) if one is not None)


@dataclass(frozen=True, slots=True)
class Row:
    """Marks beside one name, one for each series; None where a series has nothing there."""

    name: str
    marks: tuple[Mark | None, ...]


@dataclass(frozen=True, slots=True)
class Point:
    """A point of a line, perhaps larger than others, perhaps with words."""

    x: float
    y: float
    size: float = 2.5
    says: str = ""


def dots(title: str, unit: str, rows: Sequence[Row], series: Sequence[str] = (), *, reach: Reach = None, bars: bool = False) -> Drawing:
    """Values side by side, a line for each name: as dots, or as bars from zero. Bounds are whiskers, goals are broken lines."""
    rows = [Row(row.name, tuple(map(_placed, row.marks))) for row in rows]
    beside = max((len(shortened(row.name)) for row in rows), default=0) * LETTER + 12
    shown, top = legend(series, 0, 0) if len(series) > 1 else ([], 4.0)
    bottom = top + len(rows) * LINE
    ends = [end for row in rows for mark in row.marks if mark for end in mark.ends] + ([0.0] if bars else [])
    powers = not bars and reach is None and spread_wide(ends)
    scale = scale_over(ends, beside, WIDTH - 20, reach=reach, powers=powers)
    parts = [*shown, *below(scale, top, bottom, unit)]
    if bars and scale.low < 0:
        parts.append(line(scale.at(0), top, scale.at(0), bottom, "axis"))
    for number, row in enumerate(rows):
        y = top + number * LINE + LINE / 2
        if not bars:
            parts.append(line(scale.start, y, scale.end, y, "grid"))
        parts.append(word(0, y + 4, shortened(row.name)))
        for place, mark in enumerate(row.marks):
            if mark is not None:
                moved = y + (place - (len(row.marks) - 1) / 2) * min(APART, LINE / 2 / len(row.marks))
                parts += _marked(scale, place, mark, moved, f"{row.name}: {written(mark.value)}", bars=bars)
    return Drawing(title, _said_of_rows(rows, series, unit), bottom + AXIS, tuple(parts))


def _placed(mark: Mark | None) -> Mark | None:
    """A mark without what has no place in a drawing."""
    if mark is None or not drawable(mark.value):
        return None
    low, high, goal = (one if one is not None and drawable(one) else None for one in (mark.low, mark.high, mark.goal))
    return replace(mark, low=low, high=high, goal=goal)


def _marked(scale: Scale, series: int, mark: Mark, y: float, hint: str, *, bars: bool) -> list[Markup]:
    parts: list[Markup] = []
    if bars:
        left, right = sorted((scale.at(0), scale.at(mark.value)))
        drawn = element("title", hint)
        parts.append(element("rect", drawn, x=left, y=y - 5, width=max(right - left, 1.0), height=10, class_=f"f{series % len(SERIES)}"))
    if mark.low is not None and mark.high is not None:
        style = "axis" if bars else f"k{series % len(SERIES)}"
        low, high = scale.at(mark.low), scale.at(mark.high)
        parts += [line(low, y, high, y, style), line(low, y - 3, low, y + 3, style), line(high, y - 3, high, y + 3, style)]
    if mark.goal is not None:
        parts.append(line(scale.at(mark.goal), y - 8, scale.at(mark.goal), y + 8, "goal"))
    return parts if bars else [*parts, shape(series, scale.at(mark.value), y, hint=hint)]


def _said_of_rows(rows: Sequence[Row], series: Sequence[str], unit: str) -> str:
    values = [mark.value for row in rows for mark in row.marks if mark]
    if not values:
        return NOTHING_MEASURED
    of = f", {', '.join(series)}" if len(series) > 1 else ""
    return f"{len(rows)} lines{of}: from {written(min(values))} to {written(max(values))} {unit}."


def spreads(title: str, unit: str, series: Sequence[tuple[str, Sequence[float]]], *, reach: Reach = None) -> Drawing:
    """Distributions over one axis: each value a dot where there are few, bins where there are many; a line at the median."""
    series = [(name, [value for value in of if drawable(value)]) for name, of in series]
    values = [value for _, of in series for value in of]
    scale = scale_over(values, SIDES, WIDTH - SIDES, reach=reach, powers=reach is None and spread_wide(values))
    bottom = len(series) * BAND
    parts = below(scale, 4, bottom, unit)
    for number, (name, of) in enumerate(series):
        floor = (number + 1) * BAND
        parts += [line(scale.start, floor, scale.end, floor, "grid"), *_one_spread(scale, number, of, floor)]
        if len(series) > 1:
            parts.append(word(SIDES, floor - BAND + 15, shortened(name, 40)))
        if of:
            middle = scale.at(percentile(of, 0.5))
            parts.append(line(middle, floor - BAND + 20, middle, floor, "goal"))
    said = "; ".join(
        f"{name}: median {written(percentile(of, 0.5))}, 95 % at most {written(percentile(of, 0.95))}" for name, of in series if of
    )
    return Drawing(title, f"{said} {unit}." if said else NOTHING_MEASURED, bottom + AXIS, tuple(parts))


def _one_spread(scale: Scale, number: int, values: Sequence[float], floor: float) -> list[Markup]:
    """Counts by place, as columns; or a pile of dots where every one can be seen."""
    bins = [0] * BINS
    width = (scale.end - scale.start) / BINS
    for value in values:
        bins[min(int((scale.at(value) - scale.start) / width), BINS - 1)] += 1
    most, room = max(bins, default=0), BAND - 22
    parts: list[Markup] = []
    for place, count in enumerate(bins):
        x = scale.start + place * width
        if count and len(values) <= MOST_DOTS:
            step = min(7.0, room / most)
            parts += [shape(number, x + width / 2, floor - 4 - pile * step, 3.0) for pile in range(count)]
        elif count:
            height = max(room * count / most, 1.0)
            hint = element("title", f"{count} of {len(values)}")
            parts.append(element("rect", hint, x=x, y=floor - height, width=width - 1, height=height, class_=f"f{number % len(SERIES)}"))
    return parts


@dataclass(frozen=True, slots=True)
class Side:
    """An axis of a drawing of lines: what it is of, and from where to where it goes."""

    name: str
    reach: Reach = None


@dataclass(frozen=True, slots=True)
class Extras:
    """What stands in a drawing of lines beside them."""

    diagonal: bool = False
    area: tuple[float, float, float, float] | None = None  # where the bar is reached: from x and y to x and y
    ring: Point | None = None  # a place that matters most


def lines(
    title: str,
    across: Side,
    upright: Side,
    series: Sequence[tuple[str, Sequence[Point]]],
    *,
    extras: Extras | None = None,
    height: int = 220,
) -> Drawing:
    """Points joined by lines, over two axes."""
    series = [(name, [point for point in of if drawable(point.x) and drawable(point.y)]) for name, of in series]
    points = [point for _, of in series for point in of]
    shown, top = legend([name for name, _ in series], 0, 0) if len(series) > 1 else ([], 4.0)
    top += 16
    y = scale_over([point.y for point in points], top + height, top, reach=upright.reach)
    left = max(len(y.wording(mark)) for mark in y.marks) * LETTER + 8
    x = scale_over([point.x for point in points], left, WIDTH - 20, reach=across.reach)
    parts = [*shown, word(0, top - 8, upright.name, dim=True), *below(x, top, top + height, across.name)]
    for mark in y.marks:
        parts += [
            line(left, y.at(mark), x.end, y.at(mark), "grid"),
            word(left - 5, y.at(mark) + 4, y.wording(mark), anchor="end", dim=True),
        ]
    parts += _extra(x, y, extras or Extras())
    for number, (_, of) in enumerate(series):
        if of:
            parts.append(path([(x.at(point.x), y.at(point.y)) for point in of], f"k{number % len(SERIES)}"))
        if len(of) <= MOST_DOTS:
            parts += [shape(number, x.at(point.x), y.at(point.y), point.size, point.says) for point in of]
    values = [point.y for point in points]
    reached = f"from {written(min(values))} to {written(max(values))}." if values else NOTHING_MEASURED
    said = f"{upright.name} over {across.name}: {reached}"
    return Drawing(title, said, top + height + AXIS, tuple(parts))


def _extra(x: Scale, y: Scale, extras: Extras) -> list[Markup]:
    parts: list[Markup] = []
    if extras.area:
        low_x, low_y, high_x, high_y = extras.area
        left, right, top, bottom = x.at(low_x), x.at(high_x), y.at(high_y), y.at(low_y)
        parts.append(element("rect", x=left, y=top, width=right - left, height=bottom - top, class_="reached"))
        parts.append(word(left + 5, top + 13, "bar"))
    if extras.diagonal:
        parts.append(line(x.start, y.start, x.end, y.end, "goal"))
    if extras.ring and drawable(extras.ring.x) and drawable(extras.ring.y):
        at = (x.at(extras.ring.x), y.at(extras.ring.y))
        parts += [element("circle", cx=at[0], cy=at[1], r=7, class_="ring"), word(at[0] + 11, at[1] + 14, extras.ring.says)]
    return parts

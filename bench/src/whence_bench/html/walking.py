"""Whatever a result holds, by its shape alone: what no arrangement knows is shown, too."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from whence_bench.html.blocks import LONG, Block, Figure, Folded, Listing, Plain, Section, Table
from whence_bench.html.plots import Point, Side, lines
from whence_bench.html.scales import LARGEST, written
from whence_bench.html.systems import spread

#: More fields than these make no table that can be read.
MOST_FIELDS = 14
#: So many numbers are a distribution; fewer are written out.
FEWEST = 5
#: So many records are more than anybody reads: how their numbers spread comes first.
MANY = 20
#: What a list of numbers is called that has an order in time.
COURSE = "by the second"
#: Fields inside fields are shown so far down; what is deeper is written as it is.
DEEPEST = 6


def walked(name: str, value: Any, depth: int = 0) -> list[Block]:
    """The blocks that show a value."""
    if isinstance(value, Mapping) and depth < DEEPEST:
        return _of_mapping(value, depth)
    if isinstance(value, list | tuple):
        return _of_list(name, value)
    return [Table(("what", "figure"), [(name, said(value))])]


def titled(name: str) -> str:
    """The name of a field as a heading."""
    words = name.replace("_", " ").strip()
    return words[:1].upper() + words[1:]


def is_figure(value: object) -> bool:
    """Whether a value is a number, and neither yes nor no."""
    return isinstance(value, float) or (isinstance(value, int) and not isinstance(value, bool) and abs(value) < LARGEST)


def said(value: object) -> str:
    """A value in words; a yes or no is no verdict here."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return written(value) if _scalar(value) else json.dumps(value, default=str, ensure_ascii=False)


def _scalar(value: object) -> bool:
    return value is None or isinstance(value, str | int | float)


def _of_mapping(value: Mapping[str, Any], depth: int) -> list[Block]:
    """Its plain values in one table, like things together, everything else under a heading of its own."""
    if len(value) > 1 and all(isinstance(one, Mapping) and one and all(map(_scalar, one.values())) for one in value.values()):
        return _records([{"name": name, **of} for name, of in value.items()])
    plain = [(titled(name), said(one)) for name, one in value.items() if _scalar(one)]
    found: list[Block] = [Table(("what", "figure"), plain)] if plain else []
    for name, one in value.items():
        if not _scalar(one) and one:
            found.append(Section(titled(name), walked(name, one, depth + 1)))
    return found


def _of_list(name: str, value: Sequence[Any]) -> list[Block]:
    if value and all(map(is_figure, value)):
        return [_numbers(name, value)]
    if value and all(isinstance(one, Mapping) for one in value):
        return _records(value)
    return [Listing([said(one) for one in value])]


def _numbers(name: str, values: Sequence[float]) -> Figure | Table:
    """A course over time, a distribution, or just the numbers."""
    if COURSE in name:
        return course(name, {name: values})
    if len(values) >= FEWEST:
        return spread(titled(name), titled(name), {titled(name): values})
    return Table((titled(name),), [(written(one),) for one in values])


def _records(rows: Sequence[Mapping[str, Any]]) -> list[Block]:
    """A table where it can be read, and how the numbers spread where there are many."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    lists = {name: _all_numbers(rows, name) for name in names}
    drawn: list[Block] = [_numbers(name, of) for name, of in lists.items() if of]
    if len(rows) >= MANY:
        figures = {name: [row[name] for row in rows if name in row] for name in names}
        drawn += [_numbers(name, of) for name, of in figures.items() if all(map(is_figure, of))]
    tables = _tables(rows, [name for name in names if not lists[name]])
    if tables and len(rows) >= (MANY if drawn else LONG):
        return [*drawn, Folded(f"All {len(rows):,}", tables)]
    return [*tables, *drawn]


def _all_numbers(rows: Sequence[Mapping[str, Any]], name: str) -> list[float]:
    """The numbers of a field that holds nothing but lists of them."""
    lists = [row[name] for row in rows if name in row]
    if not all(isinstance(one, list | tuple) and all(map(is_figure, one)) for one in lists):
        return []
    return [value for one in lists for value in one]


def _tables(rows: Sequence[Mapping[str, Any]], fields: Sequence[str]) -> list[Plain]:
    """One table, or one for each of the first records where they have many fields."""
    if len(fields) <= MOST_FIELDS:
        return [Table([titled(name) for name in fields], [[said(row.get(name)) for name in fields] for row in rows])] if fields else []
    return [
        Table(("what", "figure"), [(titled(name), said(row.get(name))) for name in fields], f"{number} of {len(rows):,}")
        for number, row in enumerate(rows[:FEWEST], 1)
    ]


def course(title: str, series: Mapping[str, Sequence[float]]) -> Figure:
    """Numbers one after another, over time."""
    drawn = [(name, [Point(float(at), value) for at, value in enumerate(of)]) for name, of in series.items() if of]
    rows = [(name, len(of), *(written(one) for one in (of[0], min(of), max(of), of[-1]))) for name, of in series.items() if of]
    table = Table(("what", "values", "first", "least", "most", "last"), rows)
    return Figure(lines(title, Side("sample"), Side(title), drawn, height=140), table)

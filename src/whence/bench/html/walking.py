"""Whatever a result holds, by its shape alone: what no arrangement knows is shown, too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from whence.bench.html.blocks import Block, Figure, Listing, Section, Table
from whence.bench.html.plots import Point, Side, lines
from whence.bench.html.scales import written
from whence.bench.html.systems import spread

#: More fields than these make no table that can be read.
MOST_FIELDS = 14
#: So many numbers are a distribution; fewer are written out.
FEWEST = 5
#: What a list of numbers is called that has an order in time, and which fields of measured runs are spread.
COURSE = "by the second"


def walked(name: str, value: Any) -> list[Block]:
    """The blocks that show a value."""
    if isinstance(value, Mapping):
        return _of_mapping(value)
    if isinstance(value, list | tuple):
        return _of_list(name, value)
    return [Table(("what", "figure"), [(name, _said(value))])]


def titled(name: str) -> str:
    """The name of a field as a heading."""
    words = name.replace("_", " ").strip()
    return words[:1].upper() + words[1:]


def is_figure(value: object) -> bool:
    """Whether a value is a number, and neither yes nor no."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _scalar(value: object) -> bool:
    return value is None or isinstance(value, str | int | float)


def _said(value: object) -> str:
    """A value in words; a yes or no is no verdict here."""
    return ("yes" if value else "no") if isinstance(value, bool) else written(value)


def _of_mapping(value: Mapping[str, Any]) -> list[Block]:
    """Its plain values in one table, likely things together, everything else under a heading of its own."""
    if value and all(isinstance(one, Mapping) and one and all(map(_scalar, one.values())) for one in value.values()):
        return _records([{"name": name, **of} for name, of in value.items()])
    plain = [(titled(name), _said(one)) for name, one in value.items() if _scalar(one)]
    found: list[Block] = [Table(("what", "figure"), plain)] if plain else []
    for name, one in value.items():
        if not _scalar(one) and one:
            found.append(Section(titled(name), walked(name, one)))
    return found


def _of_list(name: str, value: Sequence[Any]) -> list[Block]:
    if value and all(map(is_figure, value)):
        return [_numbers(name, value)]
    if value and all(isinstance(one, Mapping) for one in value):
        return _records(value)
    return [Listing([_said(one) if _scalar(one) else str(one) for one in value])]


def _numbers(name: str, values: Sequence[float]) -> Block:
    """A course over time, a distribution, or just the numbers."""
    if COURSE in name:
        return course(name, {name: values})
    if len(values) >= FEWEST:
        return spread(titled(name), titled(name), {titled(name): values})
    return Table((titled(name),), [(written(one),) for one in values])


def _records(rows: Sequence[Mapping[str, Any]]) -> list[Block]:
    """A table where it can be read, and how the numbers spread where there are many."""
    fields = [name for name in dict.fromkeys(name for row in rows for name in row) if any(_scalar(row.get(name)) for row in rows)]
    found: list[Block] = []
    if len(fields) <= MOST_FIELDS:
        found.append(Table([titled(name) for name in fields], [[_said(row.get(name)) for name in fields] for row in rows]))
    else:
        found += [Table(("what", "figure"), [(titled(name), _said(row.get(name))) for name in fields]) for row in rows[:FEWEST]]
    for name in dict.fromkeys(name for row in rows for name in row):
        of = [value for row in rows for value in (row.get(name) or () if isinstance(row.get(name), list) else ()) if is_figure(value)]
        if of:
            found.append(_numbers(name, of))
    return found


def course(title: str, series: Mapping[str, Sequence[float]]) -> Figure:
    """Numbers one after another, over time."""
    drawn = [(name, [Point(float(at), value) for at, value in enumerate(of)]) for name, of in series.items()]
    rows = [(name, len(of), *(written(one) for one in (of[0], min(of), max(of), of[-1]))) for name, of in series.items()]
    table = Table(("what", "values", "first", "least", "most", "last"), rows)
    return Figure(lines(title, Side("sample"), Side(title), drawn, height=140), table)

"""The kinds of parts that results have in common: bars to reach, what parts are worth, rows of speed, groups, spreads."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from whence.search.metrics import percentile
from whence_bench.html.blocks import Block, Figure, Listing, Prose, Section, Table
from whence_bench.html.plots import Mark, Row, dots
from whence_bench.html.scales import written
from whence_bench.html.systems import Measure, Result, grouped, spread
from whence_bench.html.walking import COURSE, course, is_figure, said, titled, walked


class Part(Protocol):
    """A part of a report: which fields of a result it shows, and how."""

    @property
    def keys(self) -> tuple[str, ...]:
        """The fields of the result that need no showing elsewhere."""

    def sections(self, result: Result) -> list[Section]:
        """What it has to show; nothing where the result does not have it."""


@dataclass(frozen=True, slots=True)
class Goal:
    """Something to reach: in words what it is, what is asked, what was measured, and whether it is reached."""

    what: str
    bar: str
    measured: str
    kept: bool | None


@dataclass(frozen=True, slots=True)
class Goals:
    """The bars of a benchmark."""

    of: Callable[[Result], Sequence[Goal]]
    keys: tuple[str, ...] = ()

    def sections(self, result: Result) -> list[Section]:
        """A table of all bars, and how many are reached."""
        goals = self.of(result)
        judged = [goal.kept for goal in goals if goal.kept is not None]
        if not goals:
            return []
        rows = [(goal.what, goal.measured, goal.bar, goal.kept) for goal in goals]
        caption = f"Bars reached: {sum(judged)} of {len(judged)}." if judged else ""
        return [Section("What is to be reached", [Table(("what", "measured", "bar", "reached"), rows, caption)])]


@dataclass(frozen=True, slots=True)
class Worths:
    """What each part of a ranking is worth: a list, or lists by measure."""

    key: str

    @property
    def keys(self) -> tuple[str, ...]:
        """What it shows of a result."""
        return (self.key,)

    def sections(self, result: Result) -> list[Section]:
        """Bars with bounds, the greatest loss first."""
        found = result.get(self.key, ())
        lists = found if isinstance(found, Mapping) else {"NDCG@10": found}
        return [Section(f"What each part is worth, by {titled(name)}", [_worth(name, of)]) for name, of in lists.items() if of]


def _worth(name: str, parts: Sequence[Mapping[str, Any]]) -> Block:
    rows = [Row(one["part"], (Mark(one["loss"], one["low"], one["high"]),)) for one in parts]
    cells = [(one["part"], one["kind"], *(f"{one[end]:+.4f}" for end in ("loss", "low", "high"))) for one in parts]
    drawing = dots(f"What is lost without each part, {titled(name)}", f"{titled(name)} lost", rows, bars=True)
    return Figure(
        drawing, Table(("without", "kind", "lost", "from", "to"), cells), "Whiskers: 95 % over repositories drawn with replacement."
    )


@dataclass(frozen=True, slots=True)
class SpeedRows:
    """Figures beside those of a peer, and everything that was measured for them."""

    key: str = ""  # where a result holds such a result

    @property
    def keys(self) -> tuple[str, ...]:
        """What it shows of a result."""
        return (self.key,) if self.key else ("rows", "measured", "notes")

    def sections(self, result: Result) -> list[Section]:
        """The table with what it is beside a peer, then the runs themselves."""
        found = result.get(self.key) if self.key else result
        if not found or not found.get("rows"):
            return []
        notes: list[Block] = [Listing([said(one) for one in found["notes"]])] if found.get("notes") else []
        told = [(titled(name), said(value)) for name, value in found.items() if self.key and is_figure(value)]
        facts: list[Block] = [Table(("what", "figure"), told)] if told else []
        sections = [Section(titled(self.key) or "Figures", [*_ratios(found["rows"]), *notes, *facts])]
        if found.get("measured"):
            sections.append(Section("What was measured for it", walked("measured", found["measured"])))
        return sections


def _ratios(rows: Sequence[Mapping[str, Any]]) -> list[Block]:
    cells = [
        (
            one["what"],
            f"{written(one['measured'])} {one['unit']}",
            one["bar"],
            f"{one['peer']} {written(one['peer_value'])}" if one["peer_value"] is not None else None,
            written(one["ratio"], ".2f" if one["ratio"] else ""),
            one["kept"],
        )
        for one in rows
    ]
    found: list[Block] = [Table(("what", "measured", "bar", "peer", "ratio", "reached"), cells)]
    beside = [(f"{one['what']}, {one['unit']}, of {one['peer']}", one["ratio"]) for one in rows if one["ratio"] is not None]
    if beside:
        drawn = [Row(f"{number}", (Mark(ratio, goal=1.0),)) for number, (_, ratio) in enumerate(beside, 1)]
        numbers = Table(("number", "what", "times the peer"), [(str(number), *one) for number, one in enumerate(beside, 1)])
        found.append(Figure(dots("Beside a peer", "times the peer's figure", drawn), numbers, "Broken lines: as much as the peer."))
    return found


@dataclass(frozen=True, slots=True)
class Groups:
    """Names with figures, some of which are drawn beside one another."""

    key: str
    title: str
    count: str
    measures: tuple[Measure, ...]
    drawn: tuple[str, ...]

    @property
    def keys(self) -> tuple[str, ...]:
        """What it shows of a result."""
        return (self.key,)

    def sections(self, result: Result) -> list[Section]:
        """One figure."""
        of = {name: figures for name, figures in result.get(self.key, {}).items() if figures.get(self.count, 1)}
        return [Section(self.title, [grouped(self.title, of, self.count, self.measures, self.drawn)])] if of else []


@dataclass(frozen=True, slots=True)
class Spreads:
    """A list of records of which some numbers are shown as distributions, each series a group of records."""

    key: str
    title: str
    fields: Mapping[str, tuple[str, str]]  # each with its title and its unit
    by: str  # the groups that are drawn
    place: str  # the groups of which there may be many

    @property
    def keys(self) -> tuple[str, ...]:
        """What it shows of a result."""
        return (self.key,)

    def sections(self, result: Result) -> list[Section]:
        """A figure for each field, then the medians of all fields, place by place."""
        records = result.get(self.key, ())
        groups = self._grouped(records, self.by)
        figures: list[Block] = [
            spread(title, unit, {name: [float(one[field]) for one in of] for name, of in groups.items()})
            for field, (title, unit) in self.fields.items()
        ]
        return [Section(self.title, [*figures, self._places(records)])] if records else []

    def _places(self, records: Sequence[Result]) -> Block:
        medians = {
            name: {"count": len(of), **{field: percentile([float(one[field]) for one in of], 0.5) for field in self.fields}}
            for name, of in sorted(self._grouped(records, self.place).items())
        }
        measures = [Measure(field, title, "", None) for field, (title, _) in self.fields.items()]
        return grouped(f"Medians by {self.place}", medians, "count", measures, [next(iter(self.fields))])

    def _grouped(self, records: Sequence[Result], by: str) -> dict[str, list[Result]]:
        found: dict[str, list[Result]] = {}
        for one in records:
            found.setdefault(str(one[by]), []).append(one)
        return found


@dataclass(frozen=True, slots=True)
class Faults:
    """What each part of the faults bench tried, and what was wrong."""

    keys: tuple[str, ...] = ("parts",)

    def sections(self, result: Result) -> list[Section]:
        """A section for each part, with its figures and the lines of what failed."""
        return [Section(titled(one["name"]), _fault(one)) for one in result["parts"]]


def _fault(part: Mapping[str, Any]) -> list[Block]:
    facts = dict(part["facts"])
    courses = {name: facts.pop(name) for name in list(facts) if COURSE in name}
    found: list[Block] = [Prose(f"Skipped: {part['skipped']}.")] if part["skipped"] else []
    if part["wrong"]:
        found.append(Section("Wrong", [Listing([said(one) for one in part["wrong"]])]))
    if courses:
        found.append(course("memory, MB", {name.partition(":")[0]: of for name, of in courses.items()}))
    return [*found, *walked("facts", facts)]

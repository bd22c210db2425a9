"""Several ways of answering the same questions: figures of each, by parts of the corpus, and question by question."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from whence.search.metrics import mean, percentile
from whence_bench.html.blocks import Block, Figure, Folded, Prose, Section, Table
from whence_bench.html.plots import Mark, Reach, Row, dots, spreads
from whence_bench.html.scales import drawable, written
from whence_bench.html.style import SERIES
from whence_bench.search.ablation import worth_of

Result = Mapping[str, Any]
#: What reading a result can end with that another version wrote, or that was cut short: it is shown by its shape then.
UNKNOWN_SHAPE = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError)
#: Questions that are listed by themselves: those where the first way did worst.
WORST = 150
#: The unit of everything that is called `cpu_ms`.
CPU = "ms of CPU"


@dataclass(frozen=True, slots=True)
class Measure:
    """A figure: its name in the result, its name for people, how it is written, and from where to where it can go."""

    key: str
    title: str
    form: str = ".4f"
    reach: Reach = (0.0, 1.0)


def as_given(result: Result, key: str) -> dict[str, Any]:
    """The ways of a result that holds them as they are shown here."""
    found: dict[str, Any] = result[key]
    return found


@dataclass(frozen=True, slots=True)
class Systems:
    """Where a result keeps its ways, and what to show of them: the first measure is drawn, all stand in tables."""

    key: str
    count: str  # the field that says how many questions there were
    measures: tuple[Measure, ...]
    parts: tuple[str, ...]  # of the corpus: `category` stands for the field `by_category`
    place: str  # the field of an answer that says where it was asked; bounds are over these
    words: tuple[str, ...]  # fields of an answer that say what was asked
    ways: Callable[[Result, str], dict[str, Any]] = as_given
    goals: Mapping[str, float] | None = None  # what the first measure must reach, by way
    holds: tuple[str, ...] = ()  # further fields of the result that `ways` is made of

    @property
    def keys(self) -> tuple[str, ...]:
        """What it shows of a result."""
        return (self.key, *self.holds)

    def sections(self, result: Result) -> list[Section]:
        """All of it."""
        ways = self.ways(result, self.key)
        if not ways:
            return []
        found = [Section("Summary", [self._summary(ways)])]
        # No more than can be told apart in a drawing, or stand beside one another in a table.
        few = dict(islice(ways.items(), len(SERIES)))
        said = [Prose(f"The first {len(few)} of {len(ways)}; all are in the summary.")] if len(few) < len(ways) else []
        parts = [part for part in self.parts if any(f"by_{part}" in of for of in few.values())]
        found += [Section(f"By {part}", [*said, *self._by(few, part)]) for part in parts]
        if any(of.get("answers") for of in few.values()):
            found.append(Section("Question by question", [*said, *self._questions(few)]))
        return found

    def _summary(self, ways: Mapping[str, Any]) -> Block:
        """Every way with its figures; the first one drawn with bounds."""
        first = self.measures[0]
        rows = [Row(name, (self._bounded(name, of),)) for name, of in ways.items()]
        times = [key for key in ("cpu_ms_p50", "cpu_ms_p95") if any(key in of for of in ways.values())]
        heads = ["CPU ms p50", "p95"][: len(times)]
        table = Table(
            ("way", self.count, *(one.title for one in self.measures), *heads),
            [
                (name, of[self.count], *(written(of[one.key], one.form) for one in self.measures), *(_time(of.get(key)) for key in times))
                for name, of in ways.items()
            ],
        )
        marks = [mark for row in rows for mark in row.marks if mark]
        said = [f"Whiskers: 95 % of {first.title}, every {self.place} drawn with replacement."] if any(one.low for one in marks) else []
        said += ["Broken lines: the bar."] if any(one.goal for one in marks) else []
        return Figure(dots(first.title, first.title, rows), table, " ".join(said))

    def _bounded(self, name: str, of: Result) -> Mark:
        key, goal = self.measures[0].key, (self.goals or {}).get(name)
        answers = [one for one in of.get("answers", ()) if drawable(one[key])]
        if len({one[self.place] for one in answers}) < 2:
            return Mark(of[key], goal=goal)
        worth = worth_of(name, "way", [one[key] for one in answers], [one[self.place] for one in answers])
        return Mark(of[key], worth.low, worth.high, goal)

    def _by(self, ways: Mapping[str, Any], part: str) -> list[Block]:
        """A part of the corpus, the names where the first way did worst first."""
        first = self.measures[0]
        groups = {name: of[f"by_{part}"] for name, of in ways.items() if f"by_{part}" in of}
        leading = next(iter(groups.values()))
        names = sorted(leading, key=lambda name: (leading[name][first.key], name))
        rows = [Row(name, tuple(Mark(of[name][first.key]) if name in of else None for of in groups.values())) for name in names]
        table = Table(
            (part, self.count, *(f"{way}" for way in groups)),
            [
                (name, leading[name][self.count], *(written(of.get(name, {}).get(first.key), first.form) for of in groups.values()))
                for name in names
            ],
        )
        found: list[Block] = [Figure(dots(f"{first.title} by {part}", first.title, rows, list(groups)), table)]
        shown = [one for one in self.measures if all(one.key in figures for of in groups.values() for figures in of.values())]
        if len(shown) > 1:
            found.append(Folded(f"All measures by {part}", [self._all_by(groups, part, names, shown)]))
        return found

    def _all_by(self, groups: Mapping[str, Any], part: str, names: Sequence[str], shown: Sequence[Measure]) -> Table:
        return Table(
            (part, "way", self.count, *(one.title for one in shown)),
            [
                (name, way, of[name][self.count], *(written(of[name][one.key], one.form) for one in shown))
                for name in names
                for way, of in groups.items()
                if name in of
            ],
        )

    def _questions(self, ways: Mapping[str, Any]) -> list[Block]:
        """How the answers spread, how long they took, and the questions that were answered worst."""
        first = self.measures[0]
        found: list[Block] = [spread(first.title, first.title, {name: values_of(of, first.key) for name, of in ways.items()}, first.reach)]
        times = {name: values_of(of, "cpu_ms") for name, of in ways.items()}
        if timed := {name: of for name, of in times.items() if any(of)}:
            found.append(spread("CPU time of a question", CPU, timed))
        return [*found, self._worst(ways)]

    def _worst(self, ways: Mapping[str, Any]) -> Block:
        key = self.measures[0].key
        first, leading = next((name, of["answers"]) for name, of in ways.items() if of.get("answers"))
        others = {name: {self.named(one): one[key] for one in of.get("answers", ())} for name, of in ways.items()}
        order = sorted(leading, key=lambda one: (one[key], self.named(one)))[:WORST]
        rows = [(*self.named(one), *(written(of.get(self.named(one)), ".3f") for of in others.values())) for one in order]
        title = f"The {len(order)} of {len(leading):,} questions where {first} has least {self.measures[0].title}"
        return Folded(title, [Table((*self.words, *ways), rows)])

    def named(self, answer: Result) -> tuple[str, ...]:
        """What was asked where: what is the same in two runs."""
        return tuple(str(answer.get(word, "")) for word in self.words)


def _time(value: float | None) -> str:
    """Nothing where no time was taken: what was only scored again cost none."""
    return written(value or None, ".2f" if value else "")


def values_of(way: Result, key: str) -> list[float]:
    """A figure of every answer."""
    return [float(one[key]) for one in way.get("answers", ()) if one.get(key) is not None]


def spread(title: str, unit: str, series: Mapping[str, Sequence[float]], reach: Reach = None) -> Figure:
    """Distributions, drawn and in numbers."""
    shares = (0.05, 0.25, 0.5, 0.75, 0.95)
    known = {name: [value for value in of if drawable(value)] for name, of in series.items()}
    left_out = sum(map(len, series.values())) - sum(map(len, known.values()))
    series = known
    rows = [(name, len(of), mean(of), *(percentile(of, share) for share in shares), max(of, default=0.0)) for name, of in series.items()]
    table = Table((unit, "values", "mean", *(f"p{share * 100:.0f}" for share in shares), "most"), rows)
    said = f"{title}: a broken line at the median." + (f" Left out: {left_out} that are no numbers." if left_out else "")
    return Figure(spreads(title, unit, list(series.items()), reach=reach), table, said)


def grouped(title: str, of: Mapping[str, Any], count: str, measures: Iterable[Measure], drawn: Sequence[str]) -> Figure:
    """Names with figures: some figures drawn beside one another, all in the table."""
    shown = list(measures)
    series = [one for one in shown if one.key in drawn]
    rows = [Row(name, tuple(_mark(figures.get(one.key)) for one in series)) for name, figures in of.items()]
    counted = [count] if count else []
    cells = [
        (name, *(figures.get(one) for one in counted), *(written(figures.get(one.key), one.form) for one in shown))
        for name, figures in of.items()
    ]
    drawing = dots(title, series[0].title if len(series) == 1 else "", rows, [one.title for one in series])
    return Figure(drawing, Table(("name", *counted, *(one.title for one in shown)), cells))


def _mark(value: float | None) -> Mark | None:
    return None if value is None else Mark(value)

"""`whence bench scale`: what a unit costs a fleet, a model of that, and whether the model holds at a size it has not seen.

Repositories of real source are made and sent to one engine, each as large as all before it, so that the fleet doubles.
At every size the same things are measured; a curve of two numbers is laid through the first sizes, and the last, twice
as large as any of them, is held against what it says. Which curve, there is a reason for:

- What is sent, stored, held in memory and worked through by us while indexing is so much for every unit, and something
  for the engine itself: a line.
- The engine looks for the row that a new one replaces. In milvus-lite that takes the longer the more rows there are, by
  the same for each: so much for every unit, and so much for every pair of them.
- A query fetches and ranks a bounded number of files. The more there are, the more of them fit it well, and the longer
  are postings and buckets of counts, ever more slowly: so much for every doubling. Of the engine that holds up to some
  150,000 units only: sketches are compared one by one, and at 500,000 it takes half as much again (docs/scale.md).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from whence.app.index import Index
from whence.core.errors import UsageError
from whence.fleet.counts import refresh_totals
from whence.fleet.engine import Engine
from whence.fleet.registry import Registry
from whence.fleet.sync import sync_index
from whence.search.metrics import mean
from whence.storage.arrayfile import Array
from whence_bench import report
from whence_bench.fleet.queries import Asked, ask, fleet_of, settings_of_an_index
from whence_bench.fleet.server import Served, served
from whence_bench.fleet.trees import Nursery
from whence_bench.measure import cpu_seconds
from whence_bench.speed import run as speed
from whence_bench.speed import trees
from whence_bench.speed.harness import Room, Row, Tell

#: Units at which curves are laid, and how many times the largest the size is that they are held against.
SIZES, LARGER = (5_000, 10_000, 20_000, 40_000), 2
#: How far a prediction may be off.
WITHIN = 0.15
QUERIES, ROUNDS = 40, 5


#: The two columns of each curve, and what their numbers are told as.
LINE, PAIRS, DOUBLING = "line", "pairs", "doubling"
COLUMNS: Mapping[str, Callable[[Array], tuple[Array, Array]]] = {
    LINE: lambda units: (units / 1e3, np.ones_like(units)),
    PAIRS: lambda units: (units / 1e3, (units / 1e3) ** 2),
    DOUBLING: lambda units: (np.log2(units), np.ones_like(units)),
}
TOLD = {
    LINE: "{0} for 1,000 units, and {1}",
    PAIRS: "{0} for 1,000 units, and {1} for 1,000 by 1,000",
    DOUBLING: "{0} for a doubling, and {1}",
}


@dataclass(frozen=True, slots=True)
class Quantity:
    """Something that is measured at every size, and the curve that it follows."""

    key: str
    what: str
    unit: str
    scale: float = 1.0  # from what is measured to the unit of the table
    of_engine: bool = False  # can be known of an engine on this machine only
    form: str = LINE


QUANTITIES = (
    Quantity("sent", "sent", "MB", 1e-6),
    Quantity("disk", "on the engine's disk", "MB", 1e-6, of_engine=True),
    Quantity("memory", "memory of the engine", "MB", 1e-6, of_engine=True),
    Quantity("building", "CPU of indexing, before it is sent", "s"),
    Quantity("sending", "CPU of sending, ours", "s"),
    Quantity("taking", "CPU of sending, the engine's", "s", of_engine=True, form=PAIRS),
    Quantity("query_ours", "CPU of a query, ours", "ms", form=DOUBLING),
    Quantity("query_engine", "CPU of a query, the engine's", "ms", of_engine=True, form=DOUBLING),
    Quantity("query", "CPU of a query, both", "ms", of_engine=True, form=DOUBLING),
)


@dataclass(frozen=True, slots=True)
class Curve:
    """What a quantity is at any size, by two numbers."""

    form: str
    first: float
    second: float

    def at(self, units: float) -> float:
        """What it says of a size."""
        one, other = COLUMNS[self.form](np.array([units], np.float64))
        return float(self.first * one[0] + self.second * other[0])


def fitted(form: str, units: Sequence[float], values: Sequence[float]) -> Curve:
    """The curve with the least squares of what it is off."""
    columns = np.stack(COLUMNS[form](np.asarray(units, np.float64)), axis=1)
    (first, second), *_ = np.linalg.lstsq(columns, np.asarray(values, np.float64), rcond=None)
    return Curve(form, float(first), float(second))


def run(
    tree: Path | None,
    tell: Tell,
    *,
    sizes: Sequence[int] = SIZES,
    address: str | None = None,
    queries: int = QUERIES,
    rounds: int = ROUNDS,
) -> Room:
    """Measure at every size, in a folder that is removed afterwards."""
    if len(sizes) < 2 or list(sizes) != sorted(set(sizes)):
        raise UsageError("a curve needs two sizes or more, each larger than the one before", hint="--sizes 5000,10000,20000,40000")
    with TemporaryDirectory(prefix="whence-bench-") as temporary:
        folder = Path(temporary).resolve()
        room = Room(folder, trees.read_sources(tree), tell)
        asked = trees.questions(room.sources, queries)
        with served(folder, address) as there, Engine.open(there.settings()) as engine:
            engine.ensure()
            try:
                growing = _Growing(room, there, engine)
                room.raw["samples"] = [growing.to(size, asked, rounds) for size in (*sizes, LARGER * sizes[-1])]
            finally:
                engine.drop()
    if address:
        room.notes.append(f"the engine at {address} was there before: its CPU, memory and disk were not measured")
    predict(room)
    return room


class _Growing:
    """A fleet that gets larger by one repository at a time."""

    def __init__(self, room: Room, there: Served, engine: Engine) -> None:
        self._room, self._there, self._engine = room, there, engine
        self._nursery, self._fleet = Nursery(room), fleet_of(engine)
        self._sum: dict[str, float] = dict.fromkeys(
            ("repositories", "files", "units", "passages", "source", "sent", "building", "sending", "taking"), 0
        )

    def to(self, units: int, queries: Sequence[str], rounds: int) -> dict[str, Any]:
        """Grow to about so many units, and measure."""
        self._room.tell(f"{units:,} units")
        self._add(units - int(self._sum["units"]))
        cpu, engine_cpu = cpu_seconds(), self._there.cpu()
        refresh_totals(self._engine)
        totals = {"totals": cpu_seconds() - cpu, "totals_engine": self._there.cpu() - engine_cpu}
        asked = ask(lambda query: self._fleet.search(query, k=10), queries, rounds, self._there)
        return {**self._sum, **totals, "disk": self._there.disk(), "memory": self._there.memory(), **_means(asked)}

    def _add(self, units: int) -> None:
        name = f"repository-{int(self._sum['repositories']):02d}"
        root = self._nursery.make(name, units)
        began = cpu_seconds()
        with Index.open(root, data_dir=self._room.folder / "data", settings=settings_of_an_index()) as index:
            built, engine_cpu = cpu_seconds(), self._there.cpu()
            sent = sync_index(self._engine, Registry(self._engine).add(name, str(root), ()), index.writer)
        found = sent.repository
        if found is None:
            raise UsageError(f"{name} was not sent")
        self._nursery.grown(found.units)
        more = {
            "repositories": 1,
            "files": found.files,
            "units": found.units,
            "passages": found.passages,
            "source": found.bytes_source,
            "sent": sent.bytes,
            "building": built - began,
            "sending": cpu_seconds() - built,
            "taking": self._there.cpu() - engine_cpu,
        }
        for key, value in more.items():
            self._sum[key] += value


def _means(asked: Asked) -> dict[str, float]:
    found = {"query_ours": mean(asked.ours), "query_engine": mean(asked.engine), "query_wall": mean(asked.wall)}
    return {**found, "query": found["query_ours"] + found["query_engine"]}


def predict(room: Room) -> None:
    """Lay curves through all samples but the last, and hold the last against them."""
    *samples, last = room.raw["samples"]
    units = [one["units"] for one in samples]
    room.raw["model"] = {}
    for quantity in QUANTITIES:
        if quantity.of_engine and not last["memory"]:
            continue
        curve = fitted(quantity.form, units, [one[quantity.key] for one in samples])
        said, measured = curve.at(last["units"]), last[quantity.key]
        off = abs(said - measured) / measured if measured else float("inf")
        room.raw["model"][quantity.key] = {**asdict(curve), "predicted": said, "measured": measured, "off": off}
        what = f"{quantity.what}, {last['units']:,.0f} units"
        values = measured * quantity.scale, said * quantity.scale
        ratio = said / measured if measured else None
        room.rows.append(Row(what, f"+-{WITHIN:.0%}", values[0], quantity.unit, "predicted", values[1], ratio, kept=off <= WITHIN))


def as_text(room: Room) -> str:
    """What each size came to, the curves, and how the last size was predicted."""
    samples, model = room.raw["samples"], room.raw["model"]
    known = [quantity for quantity in QUANTITIES if quantity.key in model]
    sizes = [f"{one['units']:,.0f}" for one in samples]
    measured = [(f"{one.what}, {one.unit}", *(_short(sample[one.key] * one.scale) for sample in samples)) for one in known]
    measured.append(("wall of a query, ms", *(_short(sample["query_wall"]) for sample in samples)))
    told = [(one.what, _told(one, model[one.key])) for one in known]
    return "\n\n".join([report.table(("units", *sizes), measured), report.table(("the model", ""), told), speed.as_text(room)])


def _told(one: Quantity, curve: Mapping[str, Any]) -> str:
    return TOLD[one.form].format(*(f"{_short(curve[name] * one.scale)} {one.unit}" for name in ("first", "second")))


def _short(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.2f}" if abs(value) >= 1 else f"{value:.4f}"


def as_json(room: Room) -> dict[str, Any]:
    """Everything that was measured, and what is needed to measure it again."""
    return {"benchmark": "scale", "rows": [asdict(row) for row in room.rows], "notes": room.notes, "measured": room.raw}

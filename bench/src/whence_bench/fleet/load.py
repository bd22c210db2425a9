"""A query over many repositories at once: what it costs us and the engine, beside the indexes on this machine."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from whence.app.index import Index
from whence.fleet.counts import refresh_totals
from whence.fleet.engine import Engine
from whence.fleet.registry import Registry
from whence.fleet.sync import sync_index
from whence.search.metrics import percentile
from whence_bench.fleet.queries import Asked, ask, fleet_of, settings_of_an_index
from whence_bench.fleet.server import Served
from whence_bench.fleet.trees import Nursery
from whence_bench.measure import cpu_seconds
from whence_bench.speed import trees
from whence_bench.speed.harness import Room, Row, at_most, ratio

REPOSITORIES, UNITS = 30, 500_000
QUERIES, ROUNDS = 40, 8
#: Milliseconds of CPU that half of the queries may take, ours and the engine's together.
BAR = 60.0


def run(room: Room, there: Served, *, repositories: int, units: int, queries: int = QUERIES, rounds: int = ROUNDS) -> None:
    """Make the repositories, send them, ask the fleet, and ask their own indexes the same."""
    with Engine.open(there.settings("load")) as engine:
        engine.ensure()
        roots, found = _sent(room, engine, there, repositories, units)
        asked = trees.questions(room.sources, queries)
        room.tell(f"{len(asked)} queries")
        fleet = fleet_of(engine)
        of_fleet = ask(lambda query: fleet.search(query, k=10), asked, rounds, there)
        one = roots[0].name
        of_one = ask(lambda query: fleet.search(f"repo:{one} {query}", k=10), asked, rounds, there)
        engine.drop()
    room.tell("the same of their own indexes")
    each, whole = _embedded(room, roots, asked, rounds), _together(room, roots, asked, rounds)
    room.raw["load"] = {
        **found,
        "fleet": of_fleet.figures(),
        "one repository of it": of_one.figures(),
        "each index": each.figures(),
        "one tree": whole.figures(),
        "queries": [
            {"query": query, "ours": ours, "engine": engine_ms, "each": a, "tree": b}
            for query, ours, engine_ms, a, b in zip(asked, of_fleet.ours, of_fleet.engine, each.ours, whole.ours, strict=True)
        ],
    }
    _told(room, of_fleet, of_one, each, whole)


def _sent(room: Room, engine: Engine, there: Served, repositories: int, units: int) -> tuple[list[Path], dict[str, Any]]:
    """The folders of all repositories, in the engine, and what that came to."""
    nursery, registry, roots, sizes = Nursery(room), Registry(engine), list[Path](), list[dict[str, Any]]()
    for number in range(repositories):
        name = f"repository-{number:02d}"
        root = nursery.make(name, (units - nursery.units) // (repositories - number))
        with Index.open(root, data_dir=room.folder / "data", settings=settings_of_an_index()) as index:
            cpu, engine_cpu = cpu_seconds(), there.cpu()
            done = sync_index(engine, registry.add(name, str(root), ()), index.writer).repository
            spent = {"sending": cpu_seconds() - cpu, "taking": there.cpu() - engine_cpu}
        if done is not None:
            nursery.grown(done.units)
            sizes.append({"files": done.files, "units": done.units, "passages": done.passages, "sent": done.bytes_sent, **spent})
        roots.append(root)
        room.tell(f"{number + 1} of {repositories} repositories, {nursery.units:,} units")
    cpu, engine_cpu = cpu_seconds(), there.cpu()
    refresh_totals(engine)
    totals = {"totals": cpu_seconds() - cpu, "totals_engine": there.cpu() - engine_cpu}
    sums = {name: sum(one[name] for one in sizes) for name in ("files", "units", "passages", "sent", "sending", "taking")}
    return roots, {**sums, **totals, "memory": there.memory(), "disk": there.disk(), "repositories": sizes}


def _embedded(room: Room, roots: Sequence[Path], queries: Sequence[str], rounds: int) -> Asked:
    """Every query asked of the index of every repository; what all of them took together."""
    found = Asked([0.0] * len(queries), [0.0] * len(queries), [0.0] * len(queries))
    for root in roots:
        with Index.open(root, data_dir=room.folder / "data", settings=settings_of_an_index()) as index:
            asked = ask(partial(index.search, k=10), queries, rounds)
        for at in range(len(queries)):
            found.ours[at] += asked.ours[at]
            found.wall[at] += asked.wall[at]
    return found


def _together(room: Room, roots: Sequence[Path], queries: Sequence[str], rounds: int) -> Asked:
    """The files of all repositories as one tree, asked by its index."""
    tree = room.folder / "together"
    for root in roots:
        shutil.copytree(root, tree / root.name, copy_function=os.link, ignore=shutil.ignore_patterns(".git"))
    with Index.open(tree, data_dir=room.folder / "data_together", settings=settings_of_an_index()) as index:
        return ask(partial(index.search, k=10), queries, rounds)


def _told(room: Room, of_fleet: Asked, of_one: Asked, each: Asked, whole: Asked) -> None:
    load = room.raw["load"]
    where = f"{len(load['repositories'])} repositories, {load['units']:,} units"
    both, one_tree = median(of_fleet.together), median(whole.ours)
    room.rows += [
        Row(
            f"a query over {where}, p50", f"<= {BAR:g} ms", both, "ms CPU", "one tree", one_tree, ratio(both, one_tree), at_most(both, BAR)
        ),
        Row("of that ours, p50", "", median(of_fleet.ours), "ms CPU"),
        Row("of that the engine's, p50", "", median(of_fleet.engine), "ms CPU"),
        Row("the same query, p95", "", percentile(of_fleet.together, 0.95), "ms CPU"),
        Row("the same query asked of every index in turn, p50", "", median(each.ours), "ms CPU"),
        Row("a query of one repository of the fleet, p50", "", median(of_one.together), "ms CPU"),
    ]

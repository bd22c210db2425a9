"""Whether a fleet ranks as an index does: the questions of a corpus, asked of both."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from whence.app.index import Index
from whence.fleet.counts import refresh_totals
from whence.fleet.engine import SCHEMAS, Engine
from whence.fleet.registry import Registry
from whence.fleet.sync import sync_index
from whence.search import metrics
from whence.search.result import SearchResponse
from whence_bench.fleet.queries import fleet_of, settings_of_an_index
from whence_bench.fleet.server import Served
from whence_bench.measure import cpu_seconds
from whence_bench.search.corpus import Corpus, Repository
from whence_bench.speed.harness import Room, Row

#: How far the two may be apart.
BAR = 0.01


def run(room: Room, there: Served, corpus: Corpus, index_dir: Path | None) -> None:
    """Send every repository, then ask each question of its index and of the fleet, which is told the repository."""
    data_dir = index_dir or room.folder / "corpus"
    with Engine.open(there.settings("parity")) as engine:
        engine.ensure()
        sizes = {one.name: _sent(room, engine, there, one, data_dir) for one in corpus.repositories}
        refresh_totals(engine)
        engine_has = {"disk": there.disk(), "memory": there.memory(), "rows": {name: engine.count(name) for name in SCHEMAS}}
        fleet = fleet_of(engine)
        answers: list[dict[str, Any]] = []
        for repository in corpus.repositories:
            room.tell(f"questions about {repository.name}")
            with Index.open(repository.root, data_dir=data_dir, settings=settings_of_an_index()) as index:
                answers += _asked(repository, index.search, fleet.search)
        engine.drop()
    by = {name: _means([one for one in answers if one["repository"] == name]) for name in sizes}
    room.raw["parity"] = {"engine": engine_has, "repositories": sizes, "ndcg": by, "answers": answers}
    compare(room, answers)


def _sent(room: Room, engine: Engine, there: Served, repository: Repository, data_dir: Path) -> dict[str, Any]:
    room.tell(f"{repository.name} is sent")
    began = cpu_seconds()
    with Index.open(repository.root, data_dir=data_dir, settings=settings_of_an_index()) as index:
        built, engine_cpu = cpu_seconds(), there.cpu()
        done = sync_index(engine, Registry(engine).add(repository.name, str(repository.root), ()), index.writer)
        spent = {"building": built - began, "sending": cpu_seconds() - built, "taking": there.cpu() - engine_cpu}
    found = done.repository
    sizes = {} if found is None else {name: getattr(found, name) for name in ("files", "units", "passages", "bytes_source", "bytes_sent")}
    return {**sizes, **spent}


def _asked(repository: Repository, index: Callable[..., SearchResponse], fleet: Callable[..., SearchResponse]) -> list[dict[str, Any]]:
    found = []
    for task in repository.tasks:
        own = [one.path for one in index(task.query, k=metrics.DEPTH)]
        others = [one.path.removeprefix(f"{repository.name}/") for one in fleet(f"repo:{repository.name} {task.query}", k=metrics.DEPTH)]
        found.append(
            {
                "repository": repository.name,
                "category": task.category,
                "query": task.query,
                "embedded": metrics.ndcg(task.wanted, own),
                "fleet": metrics.ndcg(task.wanted, others),
                "same": own == others,
            }
        )
    return found


def _means(answers: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "queries": len(answers),
        **{name: metrics.mean([float(one[name]) for one in answers]) for name in ("embedded", "fleet", "same")},
    }


def compare(room: Room, answers: list[dict[str, Any]]) -> None:
    """Say how far the two are apart: in all, and where it is farthest."""
    means = _means(answers)
    off = abs(means["fleet"] - means["embedded"])
    room.rows += [
        Row(
            f"NDCG@10 of the fleet, {len(answers)} questions",
            f"+-{BAR}",
            means["fleet"],
            "",
            "embedded",
            means["embedded"],
            kept=off <= BAR,
        ),
        Row("answers that are the same to the last place", "", 100 * means["same"], "%"),
    ]
    names = dict.fromkeys(one["repository"] for one in answers)
    by = {name: _means([one for one in answers if one["repository"] == name]) for name in names}
    worst = max(by, key=lambda name: abs(by[name]["fleet"] - by[name]["embedded"]))
    figures = by[worst]
    apart = sum(abs(one["fleet"] - one["embedded"]) > BAR for one in by.values())
    room.rows.append(Row(f"repositories, of {len(by)}, where they are farther apart than that", "", apart, ""))
    room.rows.append(Row(f"the repository where they differ most, {worst}", "", figures["fleet"], "", "embedded", figures["embedded"]))

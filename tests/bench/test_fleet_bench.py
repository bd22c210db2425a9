"""The bars of the fleet, measured in small: they are held here too, and what misses one is said to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bench.html.small_results import searched
from campaigns import is_nightly
from sample_trees import SOURCES
from small_cases import each
from whence.cli.main import main
from whence_bench.fleet import errors, workers
from whence_bench.fleet import parity as fleet_parity
from whence_bench.fleet import run as benchmark
from whence_bench.measure import Spent
from whence_bench.speed.harness import Room, Row

#: By day tests/fleet/test_worker.py alone kills a worker.
PARTS = benchmark.PARTS if is_nightly() else tuple(part for part in benchmark.PARTS if part != benchmark.WORKERS)


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Everything that the command writes of a small run."""
    folder = tmp_path_factory.mktemp("fleet")
    out, tree = folder / "out.json", str(SOURCES / "whence" / "query")
    parts = [word for part in PARTS for word in ("--part", part)]
    code = main(["bench", "fleet", "--small", *parts, "--tree", tree, "--corpus", str(searched(folder / "corpus")), "--json", str(out)])
    found: dict[str, Any] = json.loads(out.read_text())
    assert code == int(any(row["kept"] is False for row in found["rows"]))
    return found


def empty() -> Room:
    return Room(Path(), [], lambda _: None)


def test_every_bar_is_held_in_small(report):
    """But those of the clock: on a busy machine a process takes long to start."""
    judged = [row for row in report["rows"] if row["bar"]]
    assert len(judged) == 1 + 6 * (benchmark.WORKERS in PARTS) + len(benchmark.SMALL.troubles) + 1
    assert [row["what"] for row in judged if not row["kept"] and row["unit"] != "s"] == []


def test_a_fleet_ranks_as_the_indexes_of_its_repositories_do(report):
    parity = report["measured"]["parity"]
    assert parity["ndcg"].keys() == {"ash", "elm"}
    assert all(one["embedded"] > 0 for one in parity["answers"])
    assert all(one["units"] > 0 and one["bytes_sent"] > 0 for one in parity["repositories"].values())


@pytest.mark.nightly
def test_a_worker_was_killed_and_nothing_is_missing_or_doubled(report):
    found = report["measured"]["workers"]
    assert found["killed at"]
    assert found["repositories"] == found["of"] == benchmark.SMALL.worked
    assert (found["missing"], found["too many"], found["doubled"], found["other"]) == (0, 0, 0, {})
    assert found["rows"] > found["of"] * 10


def test_an_engine_in_trouble_is_told_of(report):
    assert tuple(report["measured"]["trouble"]) == benchmark.SMALL.troubles
    for one in report["measured"]["trouble"].values():
        assert "127.0.0.1" in one["said"]
        assert [wrong for wrong in one["wrong"] if not wrong.startswith("it took")] == []


def test_queries_are_counted_on_both_sides_and_beside_indexes(report):
    load = report["measured"]["load"]
    assert len(load["queries"]) == benchmark.SMALL.queries
    assert all(load[name]["together"]["p50"] > 0 for name in ("fleet", "one repository of it", "each index", "one tree"))


def test_rows_that_are_missing_too_many_or_other_are_counted():
    expected = {"units": {"a": "1", "b": "2", "c": "3"}, "files": {"d": "4"}}
    found = {"units": {"a": "1", "b": "x"}, "files": {"d": "4", "e": "5"}}
    assert workers.counted(expected, found) == {"rows": 4, "missing": 1, "too many": 1, "other": {"units": 1}}


def test_a_row_that_is_missing_misses_the_bar():
    room = empty()
    room.raw["workers"] = {"killed at": "", "done then": 3, "repositories": 5, "of": 6, "seconds": 1.0}
    room.raw["workers"] |= {"rows": 9, "missing": 1, "too many": 0, "doubled": 2, "other": {"units": 1}, "leases left": ["first"]}
    workers.tell(room)
    assert [row.kept for row in room.rows] == [False, False, False, False, False, False, None]
    assert benchmark.as_text(room).count("MISS") == 6


@each(("fleet", "kept"), [(0.9, True), (0.905, True), (0.88, False), (0.92, False)])
def test_a_fleet_that_ranks_otherwise_misses_the_bar(fleet, kept):
    room = empty()
    fleet_parity.compare(room, [{"repository": "ash", "embedded": 0.9, "fleet": fleet, "same": fleet == 0.9}])
    assert room.rows[0].kept is kept


@pytest.mark.parametrize(
    ("asked", "local", "wrong"),
    [
        (Spent(0.1, 1.0, 0, 2, "", "it is full"), Spent(0.1, 0.1, 0, 0, "a.py", ""), 0),
        (Spent(0.1, 1.0, 0, 1, "", "it is full"), Spent(0.1, 0.1, 0, 0, "a.py", ""), 1),
        (Spent(0.1, 9.0, 0, 2, "a.py", "Traceback"), Spent(0.1, 0.1, 0, 1, "", "nothing"), 4),
    ],
)
def test_trouble_that_is_told_wrongly_is_found(asked, local, wrong):
    assert len(errors.judged(asked, local, "is full")["wrong"]) == wrong


def test_a_missed_bar_is_the_exit_code(monkeypatch, capsys):
    room = empty()
    room.rows.append(Row("a query", "<= 60 ms", 61.0, "ms CPU", kept=False))
    monkeypatch.setattr(benchmark, "run", lambda *_, **__: room)
    assert main(["bench", "fleet"]) == 1
    assert "MISS" in capsys.readouterr().out


def test_a_part_that_there_is_not_is_refused(capsys):
    assert main(["bench", "fleet", "--part", "speed"]) == 2
    assert "parity, workers, trouble, load" in capsys.readouterr().err

"""What a fleet costs, measured in small, and the model of it: what is off is said to be off."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from sample_trees import SOURCES
from small_cases import each
from whence.cli.main import main
from whence.core.errors import UsageError
from whence_bench.fleet import scale
from whence_bench.fleet.server import process_cpu, served
from whence_bench.speed.harness import Room

SIZES = (200, 400, 800)


@pytest.fixture(scope="module")
def room() -> Room:
    """A run over sizes that take seconds."""
    return scale.run(SOURCES / "whence" / "query", lambda _: None, sizes=SIZES, queries=4, rounds=2)


def made(samples: list[dict[str, Any]]) -> Room:
    """What was measured, without measuring."""
    room = Room(Path(), [], lambda _: None)
    room.raw["samples"] = [
        {**dict.fromkeys((one.key for one in scale.QUANTITIES), 1.0), "query_wall": 1.0, "taking": one["units"], **one} for one in samples
    ]
    scale.predict(room)
    return room


def test_every_size_is_measured_and_the_last_was_not_in_the_model(room):
    units = [one["units"] for one in room.raw["samples"]]
    assert len(units) == len(SIZES) + 1
    assert units == sorted(set(units))
    assert 0.5 * scale.LARGER * SIZES[-1] < units[-1] < 2 * scale.LARGER * SIZES[-1]
    assert len(room.rows) == len(scale.QUANTITIES)
    assert room.raw["model"].keys() == {one.key for one in scale.QUANTITIES}


def test_nothing_that_is_measured_is_nothing(room):
    for sample in room.raw["samples"]:
        assert all(sample[name] > 0 for name in ("files", "units", "passages", "sent", "disk", "memory", "building", "query_ours"))
    first, last = room.raw["samples"][0], room.raw["samples"][-1]
    assert last["sent"] > first["sent"]
    assert last["disk"] >= first["disk"]


def test_the_tables_say_sizes_curves_and_predictions(room):
    text = scale.as_text(room)
    for said in (
        "for 1,000 units, and",
        "for a doubling, and",
        "wall of a query, ms",
        "predicted",
        "memory of the engine",
        f"{room.raw['samples'][-1]['units']:,.0f}",
    ):
        assert said in text
    assert json.loads(json.dumps(scale.as_json(room)))["benchmark"] == "scale"


@pytest.mark.parametrize("form", [scale.LINE, scale.PAIRS, scale.DOUBLING])
def test_a_curve_is_found_again(form):
    curve = scale.Curve(form, 3.0, 2.0)
    found = scale.fitted(form, [1_000, 2_000, 4_000], [curve.at(units) for units in (1_000, 2_000, 4_000)])
    assert (round(found.first, 6), round(found.second, 6)) == (3.0, 2.0)


def test_curves_say_what_their_names_say():
    assert scale.Curve(scale.LINE, 3.0, 2.0).at(4_000) == 14.0
    assert scale.Curve(scale.PAIRS, 3.0, 2.0).at(4_000) == 44.0
    assert scale.Curve(scale.DOUBLING, 3.0, 2.0).at(8) == 11.0


def test_what_grows_faster_than_the_model_says_is_missed():
    room = made([{"units": units, "sent": units**2} for units in (1_000, 2_000, 4_000, 8_000)])
    kept = {row.what.partition(",")[0]: row.kept for row in room.rows}
    assert kept["sent"] is False
    assert kept["memory of the engine"] is True
    assert "MISS" in scale.as_text(room)


def test_a_missed_bar_is_the_exit_code(monkeypatch, capsys):
    monkeypatch.setattr(scale, "run", lambda *_, **__: made([{"units": n, "disk": n**2} for n in (1, 2, 4, 8)]))
    assert main(["bench", "scale"]) == 1
    assert "MISS" in capsys.readouterr().out
    monkeypatch.setattr(scale, "run", lambda *_, **__: made([{"units": n} for n in (1, 2, 4, 8)]))
    assert main(["bench", "scale"]) == 0


def test_of_an_engine_elsewhere_its_costs_are_left_out():
    room = made([{"units": n, "memory": 0, "disk": 0} for n in (1, 2, 4, 8)])
    assert [row.what.partition(",")[0] for row in room.rows] == ["sent", "CPU of indexing", "CPU of sending", "CPU of a query"]


@each("sizes", [(), (5,), (5, 5), (9, 5)])
def test_sizes_that_make_no_curve_are_refused(sizes):
    with pytest.raises(UsageError, match="a curve needs"):
        scale.run(None, lambda _: None, sizes=sizes)


@pytest.mark.parametrize("sizes", ["five", "10,,20", "-5,10"])
def test_sizes_that_are_none_are_refused(sizes, capsys):
    assert main(["bench", "scale", "--sizes", sizes]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_without_milvus_lite_one_line_says_how_it_is_installed(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "milvus_lite", None)
    assert main(["bench", "scale", "--sizes", "10,20"]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "pip install milvus-lite" in said


def test_a_server_ends_with_the_benchmark(tmp_path):
    with served(tmp_path) as there:
        assert there.pid is not None
        assert process_cpu(there.pid) >= 0
        assert there.memory() > 1_000_000
    assert not Path(f"/proc/{there.pid}").exists()

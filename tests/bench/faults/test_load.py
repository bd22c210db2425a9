"""Clients all at once: no error, nothing is kept that belongs to those who are gone, and a leak is seen."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from small_cases import each
from whence_bench.faults import load
from whence_bench.faults.load_figures import Sample, growth, latencies, sample_of
from whence_bench.faults.part import Bounds


def test_eight_clients_are_answered_without_error_and_leave_nothing_open(tmp_path: Path) -> None:
    part = load.run(Bounds(tmp_path.resolve(), 60, 1, small=True, tell=lambda _: None))
    assert part.wrong == ()
    assert {name: part.facts[f"{name}: errors"] for name in ("HTTP", "API, one index", "API, an index each")} == dict.fromkeys(
        ("HTTP", "API, one index", "API, an index each"), 0
    )
    assert part.facts["sessions of clients who vanished, and left"] == f"{load.CLIENTS}, 0"
    assert part.tried > 3 * load.CLIENTS


@each(
    ("memory", "wrong"),
    [
        (lambda at: 100.0 + at % 5, ""),
        (lambda at: 60.0 + min(at, 15) * 4, ""),  # it grows while it warms up
        (lambda at: 100.0 + at * 0.2, "grew from"),
        (lambda at: 900.0 + at * 0.4, "grew from"),
        (lambda at: 500.0 + at * 0.15, ""),
        (lambda at: 300.0 + at * 0.15, "rises steadily"),
        (lambda at: 100.0 + (30 if at > 50 else 0), "grew from"),
    ],
)
def test_memory_that_grows_after_the_warm_up_is_told_from_memory_that_is_flat(memory: object, wrong: str) -> None:
    assert callable(memory)
    _, said = growth([Sample(float(at), memory(at), 10, 2, 3) for at in range(60)])
    assert (wrong in said) if wrong else said == ""


def test_a_run_that_is_too_short_says_nothing_of_memory() -> None:
    assert growth([Sample(at / 100, at, 10, 2, 3) for at in range(60)]) == ({"memory": "too short a run to tell"}, "")
    assert latencies([0.001] * 94 + [0.5] * 6) == {"p50 ms": 1.0, "p95 ms": 500.0}


def test_handles_and_threads_that_stay_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load, "TO_LET_GO", 0.1)
    leak = "import sys, threading, time; print(flush=True); sys.stdin.readline(); kept = [open(sys.argv[1], 'w') for _ in range(9)]\n"
    leak += "threading.Thread(target=time.sleep, args=(60,), daemon=True).start(); print(flush=True); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", leak, str(tmp_path / "a.db")], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdout.readline()
        before, seen = sample_of(process.pid), load.Seen()
        process.stdin.write(b"\n")
        process.stdin.flush()
        process.stdout.readline()
        seen.let_go("leaking", before, process.pid)
        process.kill()
    assert sample_of.__name__ in dir(load)
    assert seen.facts["leaking: handles of databases before and after"] == "0, 9"
    assert [line.partition(":")[0] for line in seen.wrong] == ["leaking", "leaking"]

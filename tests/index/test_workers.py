"""A file over which its grammar crashes, or never ends: it is found, left out and named, and everything else is indexed."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sample_trees import SOURCES, write
from whence import Index
from whence.index import workers
from whence.index.layout import Layout
from whence.index.worker import Batch
from whence.index.workers import WorkerPool
from whence_bench.faults.trees_grammar import CRASHES, ENDING, LOOPS, plant_bad_grammar

GOOD = "function walrus_{}(a)\n return a\nend\n"
BAD = "function falls(a)\n return ({})\nend\n"


@pytest.fixture(scope="module")
def bad_grammar(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    planted = plant_bad_grammar(tmp_path_factory.mktemp("bad") / "grammars")
    if not planted:
        pytest.skip("no C compiler to make a grammar with")
    return planted


def batch_of(root: Path, out: Path) -> Batch:
    out.mkdir()
    return Batch(
        str(root), sorted(path.name for path in root.iterdir()), str(out / "0.segment"), str(out / "grammars"), 10**6, 10**4, time.time_ns()
    )


def test_only_the_files_that_crash_or_never_end_are_left_out_and_it_is_said_how_long_they_took(
    tmp_path: Path, bad_grammar: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "FILE_SECONDS", 1.0)
    files = {f"good_{number}{ENDING}": GOOD.format(number) for number in range(4)}
    root = write(tmp_path / "tree", {**files, f"a_crash{ENDING}": BAD.format(CRASHES), f"good_loop{ENDING}": BAD.format(LOOPS)})
    with WorkerPool(1, {**os.environ, **bad_grammar}) as pool:
        found = list(pool.run([batch_of(root, tmp_path / "out")]))
    records = {record.path: record for outcome, _ in found for record in outcome.records}
    assert {path: record.reason for path, record in records.items() if record.reason} == {
        f"a_crash{ENDING}": "parsing it crashed (SIGABRT)",
        f"good_loop{ENDING}": "parsing it took longer than 1 s",
    }
    assert {path for path, record in records.items() if record.row >= 0} == set(files)
    assert sum(len(batch.paths) for _, batch in found) == len(records) == 6
    assert all(Path(batch.out).exists() for outcome, batch in found if outcome.stamp)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux says how long a process has computed")
def test_a_worker_that_gets_no_time_from_the_machine_is_not_slow() -> None:
    program = "import sys, time\ntime.sleep(1.5)\nprint('done', flush=True)\nwhile True: pass"
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as process:
        lines = workers._Lines(process)
        assert lines.next(1.0) == b"done"
        assert lines.next(0.5) is None  # it computes now
        process.kill()


def test_a_small_build_falls_once_over_a_file_and_never_again(tmp_path: Path, own_data_dir: Path, bad_grammar: dict[str, str]) -> None:
    root = write(tmp_path / "tree", {f"good{ENDING}": GOOD.format(1), f"crash{ENDING}": BAD.format(CRASHES)})
    ask = "import sys, whence\nindex = whence.Index.open(sys.argv[1])\nprint(*(hit.path for hit in index.search('walrus falls')), index.last_refresh.read)"

    def asked() -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "PYTHONPATH": str(SOURCES), **bad_grammar}
        return subprocess.run(
            [sys.executable, "-c", ask, str(root)], env=environment, capture_output=True, text=True, check=False, timeout=60
        )

    marker = Layout(own_data_dir, root.resolve()).directory / "parsing"
    assert asked().returncode < 0
    assert marker.exists()
    assert (asked().stdout.split(), marker.exists()) == ([f"good{ENDING}", "2"], False)
    assert asked().stdout.split() == [f"good{ENDING}", "0"]
    write(root, {f"crash{ENDING}": BAD.format("1")})  # as it is mended, it is read
    assert sorted(asked().stdout.split()) == ["1", f"crash{ENDING}", f"good{ENDING}"]


def test_a_build_that_ends_well_or_is_interrupted_leaves_no_marker(tmp_path: Path, own_data_dir: Path) -> None:
    root = write(tmp_path / "tree", {"part.py": "def walrus(): pass\n"})
    Index.open(root).close()
    assert not (Layout(own_data_dir, root.resolve()).directory / "parsing").exists()


def test_a_process_that_is_killed_by_somebody_costs_no_file(tmp_path: Path) -> None:
    root = write(tmp_path / "tree", {f"part_{number}.py": f"def walrus_{number}(): pass\n" * 3_000 for number in range(6)})
    with WorkerPool(1, os.environ) as pool:
        killed = pool._free[0]
        outcomes = pool.run([batch_of(root, tmp_path / "out")])
        time.sleep(0.6)
        killed.kill()
        found = list(outcomes)
    assert {record.reason for outcome, _ in found for record in outcome.records} == {""}
    assert sum(len(outcome.records) for outcome, _ in found) == 6

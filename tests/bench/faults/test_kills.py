"""Kills at write steps: whence outlives them, and what does not is found out."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from whence_bench.faults import kills, write_steps
from whence_bench.faults.part import Bounds, Part
from whence_bench.faults.write_steps import COUNT, FULL, KILL_BEFORE, NO_FLUSH, TEAR, WriteSteps

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="write steps are counted on Linux only")

PROGRAM = """
import os, pathlib, sqlite3, sys
place = pathlib.Path(sys.argv[1])
(place / "half").write_bytes(b"x" * 1000)
with open(place / "flushed", "wb") as file:
    file.write(b"y" * 10)
    file.flush()
    os.fsync(file.fileno())
(place / "flushed").rename(place / "named")
db = sqlite3.connect(place / "rows.db")
db.execute("CREATE TABLE rows (value)")
db.close()
(place.parent / "elsewhere").write_bytes(b"not watched")
print("done")
"""


def bounds(scratch: Path, *, small: bool = True) -> Bounds:
    return Bounds(scratch, 120.0, 1, small, tell=lambda line: None)


@pytest.fixture
def watched(tmp_path: Path) -> Callable[..., tuple[subprocess.CompletedProcess[str], WriteSteps, Path]]:
    """Runs a program that writes, with something done at one of its steps."""
    library = write_steps.compiled(tmp_path)
    assert isinstance(library, Path), library

    def run(fault: int, at: int = 0) -> tuple[subprocess.CompletedProcess[str], WriteSteps, Path]:
        place = tmp_path / f"place-{fault}-{at}"
        place.mkdir()
        steps = WriteSteps(tmp_path / "control")
        steps.watch([place])
        steps.arm(fault, at)
        environment = {**os.environ, **write_steps.environment(library, tmp_path / "control")}
        done = subprocess.run([sys.executable, "-c", PROGRAM, str(place)], env=environment, capture_output=True, text=True, check=False)
        steps.disarm()
        return done, steps, place

    return run


def test_every_call_that_changes_the_disk_is_a_step_that_can_fail(watched):
    done, steps, _ = watched(COUNT)
    assert (done.returncode, done.stdout) == (0, "done\n")
    taken = steps.steps()
    calls = [step.kind for step in taken]
    assert calls[:6] == ["open half", "write half", "open flushed", "write flushed", "fsync flushed", "rename named"]
    assert {"open rows.db", "pwrite rows.db", "unlink rows.db-journal"} <= set(calls)  # what SQLite does is seen too
    assert not [step for step in taken if "elsewhere" in step.path]
    assert taken[1].bytes == 1000

    done, _, place = watched(KILL_BEFORE, 3)
    assert done.returncode == -9
    assert sorted(path.name for path in place.iterdir()) == ["half"]
    assert watched(TEAR, 2)[2].joinpath("half").stat().st_size == 500

    done, steps, place = watched(FULL, 4)
    assert "No space left on device" in done.stderr
    assert steps.acted
    assert place.joinpath("half").stat().st_size == 1000
    assert "Input/output error" in watched(NO_FLUSH, 1)[0].stderr


def test_what_whence_writes_outlives_a_kill_and_a_full_disk(tmp_path):
    names = ["refresh, merged", "commit", "first verdict", "note superseded", "notes to a folder"]
    part = kills.run(bounds(tmp_path), names)
    assert part.wrong == ()
    assert part.facts["kills"] == 2 * len(names)
    assert list(part.facts["scenarios"]) == names
    assert all(one["steps"] > 10 and one["kinds"] for one in part.facts["scenarios"].values())


def test_careless_writing_is_found_out(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    part: Part = kills.run(bounds(tmp_path, small=False), ["overwritten in place", "left behind"], "careless_scenarios")
    wrong = "\n".join(part.wrong)
    assert not part.passed
    assert "overwritten in place: torn at step 2 (write a.md): neither as before nor as after" in wrong
    assert "(rename whole.md): left behind: out/0.part" in wrong

"""The last runs of an index: what was done, when and why. They are a comfort; nothing may depend on them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from sample_histories import commit
from sample_trees import SOURCES, git, write
from whence import Index
from whence.index.build_log import (
    ADOPTED,
    BUILT,
    MAX_RECORDS,
    REFRESHED,
    REPAIRED,
    BuildRecord,
    append_record,
    estimate_seconds,
    expected_cpu,
    read_log,
)
from whence.index.layout import Layout

FILES = {"app/cart.py": "def total(items):\n    return sum(items)\n", "app/price.py": "def price(item):\n    return item.price\n"}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return write(tmp_path / "shop", FILES)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


def opened(tree: Path, data: Path, **settings: object) -> list[BuildRecord]:
    """Open an index, close it, and read its runs."""
    with Index.open(tree, data_dir=data, settings={name.replace("__", "."): value for name, value in settings.items()}):
        pass
    return runs(tree, data)


def runs(tree: Path, data: Path) -> list[BuildRecord]:
    return read_log(Layout(data, tree.resolve()).build_log_file)


def test_a_first_build_is_noted_with_what_it_read(tree, data):
    (run,) = opened(tree, data)
    assert (run.what, run.because, run.added, run.changed, run.removed) == (BUILT, "", 2, 0, 0)
    assert (run.files, run.bytes) == (2, sum(len(text) for text in FILES.values()))
    assert run.units >= 2
    assert 0 < run.seconds < 60


def test_a_refresh_says_what_was_added_changed_and_removed(tree, data):
    opened(tree, data)
    write(tree, {"app/cart.py": "def total(items):\n    return 0\n", "app/tax.py": "RATE = 7\n", "app/fee.py": "FEE = 1\n"})
    (tree / "app/price.py").unlink()
    last = opened(tree, data)[-1]
    assert (last.what, last.added, last.changed, last.removed, last.files) == (REFRESHED, 2, 1, 1, 3)


def test_a_refresh_that_changed_nothing_writes_nothing(tree, data):
    opened(tree, data)
    os.utime(tree / "app/cart.py", (1_000_000_000, 1_000_000_000))  # touched, with the same content
    assert len(opened(tree, data)) == 1


def test_what_was_read_and_left_out_is_counted(tree, data):
    (tree / "logo.png").write_bytes(b"\x89PNG\0\0\0")
    write(tree, {".hidden/notes.txt": "nothing"})
    (run,) = opened(tree, data)
    assert (run.files, run.skipped) == (2, 2)


def test_a_new_commit_without_changes_is_a_run_of_its_own(tree, data):
    git("init", "-q", cwd=tree)
    opened(tree, data)
    commit(tree, "The shop opens")
    last = opened(tree, data)[-1]
    assert (last.what, last.added, last.changed, last.removed) == (REFRESHED, 0, 0, 0)


def test_other_index_settings_are_said_as_the_reason(tree, data):
    opened(tree, data)
    last = opened(tree, data, index__max_line_bytes=5_000)[-1]
    assert (last.what, last.because, last.added) == (BUILT, "it was made with other index settings", 2)


def test_a_repair_says_what_was_damaged(tree, data):
    opened(tree, data)
    layout = Layout(data, tree.resolve())
    (segment,) = layout.segments.glob("*.segment")
    segment.write_bytes(b"nothing")
    last = opened(tree, data)[-1]
    assert last.what == REPAIRED
    assert segment.name in last.because


def test_a_lost_database_is_said(tree, data):
    opened(tree, data)
    Layout(data, tree.resolve()).database.unlink()
    last = opened(tree, data)[-1]
    assert (last.what, last.because) == (REPAIRED, "truth.db was lost")


def test_vectors_that_are_made_again_are_a_repair(tree, data):
    opened(tree, data)
    (vectors,) = Layout(data, tree.resolve()).segments.glob("*.vectors")
    vectors.write_bytes(vectors.read_bytes()[:-8])
    last = opened(tree, data)[-1]
    assert (last.what, last.added, last.changed) == (REPAIRED, 0, 0)


def test_what_is_taken_over_from_another_worktree_is_said(tree, data, tmp_path):
    git("init", "-q", cwd=tree)
    commit(tree, "The shop opens")
    opened(tree, data)
    other = tmp_path / "other"
    git("worktree", "add", "-q", str(other), cwd=tree)
    (run,) = opened(other, data)
    assert (run.what, run.known, run.bytes) == (ADOPTED, 2, 0)
    assert "worktree" in run.because


def test_runs_outlive_a_repair_and_only_the_last_hundred_are_kept(tree, data):
    opened(tree, data)
    place = Layout(data, tree.resolve()).build_log_file
    for number in range(MAX_RECORDS + 20):
        append_record(place, BuildRecord(at=float(number), seconds=1.0, what=REFRESHED))
    kept = read_log(place)
    assert len(kept) == MAX_RECORDS
    assert [kept[0].at, kept[-1].at] == [20.0, MAX_RECORDS + 19.0]
    assert not list(place.parent.glob("*.part"))


@pytest.mark.parametrize(
    "damage",
    [
        b"\xff\xfe{",
        b'{"what": "built"}\n',
        b"[]\n7\nnull\n",
        b'{"at": "x", "seconds": 1, "what": "built"}\n',
        b'{"at": NaN, "seconds": 1, "what": "built"}\n',
        b'{"at": 1, "seconds": 1, "what": "flown"}\n',
        b"[" * 90_000,
    ],
)
def test_a_damaged_file_is_no_trouble_and_the_next_run_is_noted(tree, data, damage):
    opened(tree, data)
    Layout(data, tree.resolve()).build_log_file.write_bytes(damage)
    assert runs(tree, data) == []
    write(tree, {"app/tax.py": "RATE = 7\n"})
    assert [one.what for one in opened(tree, data)] == [REFRESHED]


def test_lines_that_are_whole_are_read_beside_one_that_is_not(tmp_path):
    place = tmp_path / "runs.jsonl"
    append_record(place, BuildRecord(at=1.0, seconds=1.0, what=BUILT))
    with place.open("a", encoding="utf-8") as file:
        file.write('{"at": 2.0, "seco')
    assert [one.at for one in read_log(place)] == [1.0]


def test_what_a_later_version_notes_besides_is_passed_over(tmp_path):
    place = tmp_path / "runs.jsonl"
    place.write_text(json.dumps({"at": 1, "seconds": 2, "what": BUILT, "mood": "good"}) + "\n", encoding="utf-8")
    assert read_log(place) == [BuildRecord(at=1.0, seconds=2.0, what=BUILT)]


@pytest.mark.parametrize("make", [lambda place: place.mkdir(), os.mkfifo], ids=["folder", "fifo"])
def test_something_else_in_its_place_stops_no_build(tree, data, make):
    opened(tree, data)
    place = Layout(data, tree.resolve()).build_log_file
    place.unlink()
    make(place)
    write(tree, {"app/tax.py": "RATE = 7\n"})
    with Index.open(tree, data_dir=data) as index:
        assert index.snapshot.live_files == 3
    assert not list(place.parent.glob("*.part"))


def test_what_a_killed_writer_left_is_taken_away_by_the_next_run(tree, data):
    opened(tree, data)
    place = Layout(data, tree.resolve()).build_log_file
    place.with_name(f"{place.name}-0badf00d.part").write_text("half")
    write(tree, {"app/tax.py": "RATE = 7\n"})
    opened(tree, data)
    assert not list(place.parent.glob("*.part"))


def test_it_is_for_the_eyes_of_its_owner(tree, data):
    opened(tree, data)
    assert Layout(data, tree.resolve()).build_log_file.stat().st_mode & 0o077 == 0


def test_a_full_disk_costs_the_note_and_nothing_else(tmp_path):
    place = tmp_path / "runs.jsonl"
    append_record(place, BuildRecord(at=1.0, seconds=1.0, what=BUILT))
    limited = (
        "import resource, signal, sys; from pathlib import Path; from whence.index.build_log import *;"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN); resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10));"
        "append_record(Path(sys.argv[1]), BuildRecord(at=2.0, seconds=1.0, what=BUILT))"
    )
    done = subprocess.run(
        [sys.executable, "-c", limited, str(place)], capture_output=True, text=True, check=False, env={"PYTHONPATH": str(SOURCES)}
    )
    assert done.returncode == 0, done.stderr
    assert [one.at for one in read_log(place)] == [1.0]
    assert list(tmp_path.iterdir()) == [place]


def test_estimates_follow_what_builds_took_on_this_machine(tmp_path: Path) -> None:
    files, log = [(f"part_{n}.py", 1_000_000) for n in range(10)], tmp_path / "runs.jsonl"
    usual, known = expected_cpu(files), expected_cpu(files[:5])
    assert estimate_seconds(files, [log], 1, 1 << 40) == pytest.approx(usual)
    assert estimate_seconds(files, [log], 2, 0) < 0.7 * usual
    for seconds in (known, known, 50 * known):  # one that was suspended
        append_record(log, BuildRecord(1.0, seconds, "built", bytes=5_000_000, cpu=2 * known, expected=known))
    append_record(log, BuildRecord(2.0, 9.0, "refreshed", bytes=5, cpu=0.1))
    assert estimate_seconds(files, [log], 1, 0) == pytest.approx(usual)  # twice the work, half the time


def test_a_first_build_is_recorded_with_its_work(tmp_path: Path) -> None:
    root = write(tmp_path / "tree", {f"part_{n}.py": "def part(): pass\n" * 50 for n in range(20)})
    with Index.open(root) as index:
        (record,) = read_log(index.layout.build_log_file)
    assert record.cpu > 0
    assert record.expected == pytest.approx(expected_cpu([(f"part_{n}.py", 17 * 50) for n in range(20)]), abs=0.01)

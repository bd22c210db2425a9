"""The parts of the speed benchmark, on trees of a few files."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from whence.core.errors import StorageError, UsageError
from whence_bench import measure, report
from whence_bench.speed import peers, timings, trees
from whence_bench.speed import run as speed
from whence_bench.speed.harness import Room, Row, at_most, ratio

MODULE = '''"""Module {number}."""

MAXIMUM_RETRIES = {number}


class ConnectionPool{number}:
    """Keeps connections open."""

    def acquire_connection(self, timeout_seconds):
        return self.available_connections.pop(timeout_seconds)

    def release_connection(self, connection):
        self.available_connections.append(connection)


def parse_address(address_text):
    return address_text.partition(":")
'''


@pytest.fixture
def sources(tmp_path: Path) -> list[trees.Source]:
    folder = tmp_path / "origin"
    folder.mkdir()
    for number in range(6):
        (folder / f"module_{number}.py").write_text(MODULE.replace("{number}", str(number)))
    return trees.read_sources(folder)


@pytest.fixture
def room(tmp_path: Path, sources: list[trees.Source]) -> Room:
    folder = tmp_path / "room"
    folder.mkdir()
    return Room(folder, sources, lambda text: None)


def spin(seconds: float) -> list[str]:
    return [sys.executable, "-c", f"import time\nwhile time.process_time() < {seconds}: pass"]


# Measuring.
def test_cpu_time_of_a_process_and_of_its_children_is_counted():
    nested = f"import subprocess; subprocess.run({spin(0.3)!r}, check=True)"
    spent = measure.run([sys.executable, "-c", nested])
    assert 0.3 <= spent.cpu < 3


def test_time_asleep_is_on_the_clock_and_not_on_the_cpu():
    spent = measure.run([sys.executable, "-c", "import time; time.sleep(0.5)"])
    assert spent.wall >= 0.5
    assert spent.cpu < 0.5


def test_memory_of_a_process_is_its_peak():
    # Asked by a small process: on Linux the peak of a child begins with that of whoever started it.
    greedy = "x = bytearray(200_000_000); x[::4096] = b'1' * len(x[::4096]); del x"
    program = f"import sys; from whence_bench import measure; print(measure.run([sys.executable, '-c', {greedy!r}]).peak)"
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert 200e6 < int(told) < 400e6


def test_a_command_that_fails_is_an_error_with_what_it_said():
    with pytest.raises(StorageError, match="ended with 3: trouble"):
        measure.run([sys.executable, "-c", "import sys; print('trouble', file=sys.stderr); sys.exit(3)"])


def test_runs_take_turns_and_the_first_round_does_not_count():
    order: list[tuple[str, int]] = []

    def call(name: str):
        def one(number: int) -> measure.Spent:
            order.append((name, number))
            return measure.Spent(number, number, 0, 0, "", "")

        return one

    spent = measure.interleaved(2, {"ours": call("ours"), "peer": call("peer")})
    assert order == [("ours", 0), ("peer", 0), ("ours", 1), ("peer", 1), ("ours", 2), ("peer", 2)]
    assert [one.cpu for one in spent["ours"]] == [1, 2]


# Trees.
def test_the_first_copy_is_the_source_and_later_ones_have_new_names(sources: list[trees.Source]):
    content = sources[0].content
    assert trees.altered(content, 0) == content
    assert trees.altered(content, 1) != content


def test_an_altered_copy_is_still_code_that_parses(sources: list[trees.Source]):
    for part in range(1, 30):
        assert ast.parse(trees.altered(sources[0].content, part))


def test_a_name_is_altered_the_same_way_wherever_it_stands():
    for part in range(1, 10):
        first, second = trees.altered(b"def acquire_connection(): acquire_connection", part).decode().split()[1:]
        assert first.startswith(second)


def test_keywords_stay_as_they_are():
    assert all(trees.altered(b"return continue lambda", part) == b"return continue lambda" for part in range(1, 50))


def test_vocabulary_grows_with_every_copy_and_ever_more_slowly(sources: list[trees.Source]):
    text = b" ".join(b"name_of_thing_%d" % number for number in range(3000))
    known: set[bytes] = set()
    gained = []
    for part in range(8):
        words = set(trees.altered(text, part).split())
        gained.append(len(words - known))
        known |= words
    assert all(gained)
    assert gained[0] > gained[1] > gained[7]


def test_a_tree_has_as_many_files_as_asked_for_and_no_two_alike(tmp_path: Path, sources: list[trees.Source]):
    made = trees.grow(trees.Made(tmp_path / "tree"), sources, files=20)
    contents = [path.read_bytes() for path in (tmp_path / "tree").rglob("*.py")]
    assert made.files == len(contents) == len(set(contents)) == 20
    assert made.bytes == sum(map(len, contents))
    assert sorted(path.name for path in (tmp_path / "tree").iterdir()) == ["part_000", "part_001", "part_002", "part_003"]


def test_a_tree_stops_growing_at_its_size(tmp_path: Path, sources: list[trees.Source]):
    made = trees.grow(trees.Made(tmp_path / "tree"), sources, size=5_000)
    assert 5_000 <= made.bytes < 5_000 + 2 * len(sources[0].content)


def test_the_same_sources_make_the_same_tree(tmp_path: Path, sources: list[trees.Source]):
    def read(name: str) -> dict[str, bytes]:
        trees.grow(trees.Made(tmp_path / name), sources, files=15)
        return {path.relative_to(tmp_path / name).as_posix(): path.read_bytes() for path in (tmp_path / name).rglob("*.py")}

    assert read("one") == read("two")


def test_a_committed_tree_has_nothing_left_for_git_to_report(tmp_path: Path, sources: list[trees.Source]):
    trees.grow(trees.Made(tmp_path / "tree"), sources, files=3)
    trees.commit(tmp_path / "tree")
    status = subprocess.run(["git", "status", "--porcelain"], cwd=tmp_path / "tree", check=True, capture_output=True, text=True)
    assert status.stdout == ""


def test_a_folder_without_source_is_refused(tmp_path: Path):
    (tmp_path / "notes.txt").write_text("words " * 100)
    with pytest.raises(UsageError, match="no source files"):
        trees.read_sources(tmp_path)


def test_queries_are_by_turns_words_and_a_name_of_the_tree(sources: list[trees.Source]):
    asked = trees.questions(sources, 4)
    assert len(asked) == 4
    assert " " in asked[0]
    assert " " not in asked[1]
    assert asked[1].encode() in sources[1].content


# Peers.
def test_the_interpreter_of_a_command_is_read_from_its_first_line(tmp_path: Path):
    (tmp_path / "tool").write_text("#!/some/where/bin/python3\nprint()\n")
    assert peers.interpreter_of(str(tmp_path / "tool")) == "/some/where/bin/python3"


def test_a_peer_that_is_named_and_not_there_is_refused(tmp_path: Path):
    with pytest.raises(UsageError, match="no such command"):
        peers.find_semble(str(tmp_path / "semble"), tmp_path, tmp_path, [])


def test_a_peer_that_cannot_run_is_a_note_and_no_failure(tmp_path: Path):
    tool = tmp_path / "semble"
    tool.write_text("#!/bin/sh\necho no model >&2\nexit 1\n")
    tool.chmod(0o755)
    notes: list[str] = []
    assert peers.find_semble(str(tool), tmp_path, tmp_path, notes) is None
    assert "no model" in notes[0]


# The table.
def test_a_ratio_needs_a_peer():
    assert ratio(1.0, 4.0) == 0.25
    assert ratio(1.0, None) is None
    assert at_most(None, 1) is None


def test_the_table_says_ok_or_miss_where_there_is_a_bar_and_a_figure(room: Room):
    room.rows += [
        Row("quick", "<= 3 ms", 2.0, "ms CPU", kept=True),
        Row("slow", "<= 3 ms", 9.0, "ms CPU", "semble", 4.5, 2.0, kept=False),
        Row("alone", "<= 1 x semble", 1.0, "s"),
    ]
    lines = speed.as_text(room).splitlines()[2:]
    assert [line.split()[-1] for line in lines] == ["OK", "MISS", "-"]
    assert "semble 4.50" in lines[1]


def test_numbers_stand_to_the_right_and_words_to_the_left():
    assert report.table(("name", "count"), [("a", 5), ("long name", 12345)]).splitlines() == [
        "name       count",
        "---------  -----",
        "a              5",
        "long name  12345",
    ]


# The measurements, on a tree of twelve files.
def test_a_first_build_says_what_it_read_and_what_it_took(room: Room):
    made = room.make("tree", files=12)
    built = room.probe("build", "data", tree=str(made.root))
    assert (built["files"], built["source_bytes"]) == (12, made.bytes)
    assert built["units"] > 12
    assert built["cpu"] > 0
    assert built["index_bytes"] > 0


def test_settings_of_the_user_are_kept_out_of_the_measurements(room: Room, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("WHENCE_INDEX_MAX_FILE_BYTES", "1")
    made = room.make("tree", files=3)
    assert room.probe("build", "data", tree=str(made.root))["files"] == 3


def test_refresh_and_edit_and_search_are_measured_beside_git(room: Room):
    made = room.make("tree", files=12)
    timings.refresh(room, made.root, "data", rounds=1)
    timings.edited(room, made.root, "data", edits=1)
    timings.new_process(room, made.root, "data", 100, rounds=1)
    assert [row.unit for row in room.rows] == ["s CPU", "s", "s", "s CPU"]
    assert [row.peer for row in room.rows[:3]] == ["git status"] * 3
    assert all(row.measured > 0 for row in room.rows)


def test_queries_in_a_running_process_have_a_median(room: Room):
    made = room.make("tree", files=6)
    asked = timings.ask(room, made.root, "data")
    assert min(asked["cpu"]) * 1e3 <= asked["p50"] <= max(asked["cpu"]) * 1e3


def test_the_report_is_json_with_versions_and_machine(room: Room, tmp_path: Path):
    report.write_json(tmp_path / "out.json", speed.as_json(room))
    written = json.loads((tmp_path / "out.json").read_text())
    assert written["benchmark"] == "speed"
    assert written["machine"]["cpus"] == os.cpu_count()


def test_memory_has_a_bar_only_for_the_tree_it_was_set_for(room: Room):
    built = {"source_bytes": 100e6, "index_bytes": 90e6, "cpu": 50.0, "peak_own": 300e6, "peak_worker": 100e6, "workers": 2}
    timings.memory(room, built)
    timings.memory(room, built, most_mb=None)
    assert [row.kept for row in room.rows] == [None, False, True, None, None, True]
    assert room.rows[1].measured == 500

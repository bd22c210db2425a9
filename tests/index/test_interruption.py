"""Builds that are cut off or run side by side: what was finished stays, and the answers are those of a clean build (I3, Z6)."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hindrances import environment
from sample_trees import whence, write
from whence import Index
from whence.index.layout import Layout

COUNT = 240
QUERIES = ("retry the request", "part_17", "walrus", "connection limit")


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Large enough for several batches, small enough to read in seconds."""
    names = ["retry", "request", "connection", "limit", "walrus", "parse", "store"]

    def source(number: int) -> str:
        functions = [
            f"def {names[(number + i) % 7]}_{names[i % 7]}_{i}(value):\n    # {names[(number * i) % 7]} the {names[i % 7]}\n"
            f"    return {names[(i + 3) % 7]}(value, {number * i})\n"
            for i in range(50)
        ]
        return f"class Part_{number}:\n    pass\n\n" + "\n".join(functions)

    return write(tmp_path_factory.mktemp("large") / "tree", {f"lib/group_{n % 12}/part_{n}.py": source(n) for n in range(COUNT)})


@pytest.fixture(scope="module")
def clean(tree: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[tuple[str, float]]]:
    return asked(tree, tmp_path_factory.mktemp("clean"))


def asked(tree: Path, data_dir: Path) -> dict[str, list[tuple[str, float]]]:
    with Index.open(tree, data_dir=data_dir) as index:
        return {query: [(found.path, found.score) for found in index.search(query)] for query in QUERIES}


def start(tree: Path, *, workers: int = 1) -> subprocess.Popen[str]:
    """Start building in a process group of its own, as a shell does."""
    return subprocess.Popen(
        [sys.executable, "-m", "whence", "index", "--set", f"index.workers={workers}"],
        cwd=tree,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def files_kept(tree: Path, data_dir: Path) -> int:
    with contextlib.suppress(sqlite3.Error), contextlib.closing(sqlite3.connect(Layout(data_dir, tree.resolve()).database)) as database:
        return int(database.execute("SELECT count(*) FROM files").fetchone()[0])
    return 0


def wait_for_some(process: subprocess.Popen[str], tree: Path, data_dir: Path) -> int:
    """Wait until some files are finished and others are not."""
    database = Layout(data_dir, tree.resolve()).database
    while process.poll() is None:
        if database.exists() and (kept := files_kept(tree, data_dir)):
            assert kept < COUNT, "the tree is too small to be interrupted"
            return kept
        time.sleep(0.005)
    pytest.fail(f"the build ended before it could be interrupted: {process.communicate()}")


@contextlib.contextmanager
def building(tree: Path, *, workers: int = 1) -> Iterator[subprocess.Popen[str]]:
    process = start(tree, workers=workers)
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


@pytest.mark.parametrize("workers", [1, 2])
def test_ctrl_c_keeps_what_was_finished_and_says_so_in_one_line(
    tree: Path, clean: dict[str, list[tuple[str, float]]], own_data_dir: Path, workers: int
) -> None:
    with building(tree, workers=workers) as process:
        kept = wait_for_some(process, tree, own_data_dir)
        os.killpg(process.pid, signal.SIGINT)  # to the whole group, as a terminal sends it
        out, err = process.communicate(timeout=20)
    assert (process.returncode, out) == (130, "")
    assert err.strip() == "whence: interrupted; what was finished is kept"  # after the line that a terminal shows ^C on
    done = whence("index", "--json", cwd=tree)
    assert done.returncode == 0
    assert json.loads(done.stdout)["indexes"][0]["read"] <= COUNT - kept
    assert asked(tree, own_data_dir) == clean


def test_a_process_killed_in_the_middle_loses_no_finished_work(
    tree: Path, clean: dict[str, list[tuple[str, float]]], own_data_dir: Path
) -> None:
    with building(tree) as process:
        kept = wait_for_some(process, tree, own_data_dir)
        process.kill()
        process.communicate()
    with Index.open(tree) as index:
        assert index.last_refresh.read <= COUNT - kept
        assert index.notes == []
    assert asked(tree, own_data_dir) == clean


def test_processes_killed_again_and_again_end_with_the_answers_of_a_clean_build(
    tree: Path, clean: dict[str, list[tuple[str, float]]], own_data_dir: Path
) -> None:
    for seconds in (0.5, 0.8, 1.1):
        with building(tree) as process, contextlib.suppress(subprocess.TimeoutExpired):
            process.communicate(timeout=seconds)
    assert asked(tree, own_data_dir) == clean
    segments = Layout(own_data_dir, tree.resolve()).segments
    assert not [path.name for path in segments.iterdir() if path.suffix not in (".segment", ".shared", ".vectors", ".history")]


def test_two_processes_that_index_at_once_both_succeed(tree: Path, clean: dict[str, list[tuple[str, float]]], own_data_dir: Path) -> None:
    with building(tree) as one, building(tree) as other:
        ended = [process.communicate(timeout=60) for process in (one, other)]
    assert [process.returncode for process in (one, other)] == [0, 0], ended
    assert [err for _, err in ended] == ["", ""]
    assert asked(tree, own_data_dir) == clean


def test_many_first_searches_at_once_all_answer(tmp_path: Path, own_data_dir: Path) -> None:
    root = write(tmp_path / "small", {f"part_{number}.py": f"def walrus_{number}(): pass\n" for number in range(5)})
    command = [sys.executable, "-m", "whence", "search", "walrus", "-l"]
    started = [
        subprocess.Popen(command, cwd=root, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(6)
    ]
    ended = [process.communicate(timeout=60) for process in started]
    assert {(process.returncode, err) for process, (_, err) in zip(started, ended, strict=True)} == {(0, "")}
    assert {len(out.splitlines()) for out, _ in ended} == {5}


def test_searches_while_files_change_never_find_the_index_damaged(tmp_path: Path, own_data_dir: Path) -> None:
    root = write(tmp_path / "small", {f"part_{number}.py": f"def walrus_{number}(): pass\n" for number in range(20)})
    Index.open(root).close()
    search = "import sys, whence\nfor _ in range(10):\n    with whence.Index.open(sys.argv[1]) as index:\n        assert index.search('walrus'), 'nothing'\n        assert not index.notes, index.notes\n"
    started = [
        subprocess.Popen([sys.executable, "-c", search, str(root)], env=environment(), stderr=subprocess.PIPE, text=True) for _ in range(3)
    ]
    number = 0
    while any(process.poll() is None for process in started):
        number += 1
        write(root, {f"part_{number % 20}.py": f"def walrus_{number}(): return {number}\n"})
        time.sleep(0.01)
    assert [process.communicate()[1][-400:] for process in started] == ["", "", ""]

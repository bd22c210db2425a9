"""`whence watch` as it runs: a process beside real edits, told to end."""

from __future__ import annotations

import json
import queue
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hindrances import environment
from sample_trees import git, whence, write
from whence.index.layout import Layout

#: A busy machine may need long; a test that passes never waits so long.
LIMIT = 30.0
on_linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc, and elsewhere trees are looked through")
#: Nothing here asks for meaning, and changes are small.
QUICK = {"index.model": "none", "watch.quiet": "0.15", "watch.poll": "0.2", "index.lock_wait": "0"}


class Watching:
    """A `whence watch` that runs, and what it has said."""

    def __init__(self, *roots: Path, as_json: bool = True, **settings: str) -> None:
        chosen = [part for name, value in {**QUICK, **settings}.items() for part in ("--set", f"{name}={value}")]
        command = [sys.executable, "-m", "whence", "watch", *map(str, roots), *chosen, *(["--json"] if as_json else [])]
        self.process = subprocess.Popen(command, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self._lines: queue.Queue[str] = queue.Queue()
        self.said: list[Any] = []
        self._as_json = as_json
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def _listen(self) -> None:
        for line in self.process.stdout or ():
            self._lines.put(line)

    def until(self, enough: Callable[[list[Any]], object]) -> list[Any]:
        """Wait until what it has said is enough."""
        deadline = time.monotonic() + LIMIT
        while not enough(self.said):
            try:
                line = self._lines.get(timeout=max(deadline - time.monotonic(), 0))
            except queue.Empty:
                raise AssertionError(f"not in {LIMIT} s; it said {self.said}") from None
            self.said.append(json.loads(line) if self._as_json else line.rstrip("\n"))
        return self.said

    def read(self) -> int:
        """How many files it says it has read until now."""
        while not self._lines.empty():
            self.said.append(json.loads(self._lines.get()))
        return sum(one["read"] for one in self.happened("taken"))

    def happened(self, event: str) -> list[dict[str, Any]]:
        """What it has said of one kind."""
        return [one for one in self.said if one["event"] == event]

    def taken(self, **expected: int) -> None:
        """Wait until so much has been taken in in all, and not more."""
        self.until(lambda said: all(sum(one.get(name, 0) for one in said) >= number for name, number in expected.items()))
        assert {name: sum(one.get(name, 0) for one in self.said) for name in expected} == expected
        for one in self.said:
            one.update(dict.fromkeys(expected, 0))

    def end(self, number: int = signal.SIGTERM) -> int:
        """Tell it to end; its exit code."""
        self.process.send_signal(number)
        code = self.process.wait(LIMIT)
        self._listener.join(LIMIT)
        return code


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LIMIT
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.fixture
def watching() -> Iterator[Callable[..., Watching]]:
    """Starts watchers, and leaves none behind."""
    started: list[Watching] = []

    def start(*roots: Path, **options: Any) -> Watching:
        started.append(Watching(*roots, **options))
        return started[-1]

    yield start
    for one in started:
        one.process.kill()
        one.process.wait()


def begun(said: list[Any]) -> bool:
    return any(one["event"] == "followed" for one in said)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write(tmp_path / "shop", {".gitignore": "made/\n", "app.py": "def app(): pass\n", "lib/b.py": "b = 1\n", "made/out.py": "o"})
    git("init", "-q", ".", cwd=tmp_path / "shop")
    git("add", ".", cwd=tmp_path / "shop")
    git("commit", "-qm", "first", cwd=tmp_path / "shop")
    return tmp_path / "shop"


def runs_in_half_a_second(process: int) -> int:
    """How often a process was run, and went to sleep again."""

    def run() -> int:
        status = Path(f"/proc/{process}/status").read_text(encoding="ascii")
        return sum(int(line.split()[1]) for line in status.splitlines() if "ctxt_switches" in line)

    before = run()
    time.sleep(0.5)
    return run() - before


def watched_folders(process: int) -> int:
    return sum(path.read_text(encoding="ascii").count("inotify wd") for path in Path(f"/proc/{process}/fdinfo").iterdir())


@on_linux
def test_changes_are_in_the_index_as_they_happen_and_nothing_runs_between_them(root, watching):
    watch = watching(root)
    watch.until(begun)
    (followed,) = watch.happened("followed")
    assert {**followed, "time": 0} == {"time": 0, "event": "followed", "root": str(root), "files": 3, "folders": 2, "looking": ""}
    write(root, {"app.py": "def application(): pass\n", "made/more.py": "never read"})
    watch.taken(read=1, deleted=0)
    found = whence("search", "-e", "application", "-l", "--no-refresh", "--set", "index.model=none", cwd=root)
    assert (found.stdout, found.returncode) == ("app.py\n", 0)
    write(root, {"new/folder/c.py": "c"})
    watch.taken(read=1, deleted=0)
    write(root, {"new/folder/d.py": "d"})
    watch.taken(read=1, deleted=0)
    (root / "lib/b.py").unlink()
    watch.taken(read=0, deleted=1)
    git("checkout", "-q", "-f", "-b", "topic", cwd=root)
    again = ("search", "-e", "b = 1", "-l", "--no-refresh", "--set", "index.model=none")
    wait_for(lambda: whence(*again, cwd=root).stdout == "lib/b.py\n")
    watch.taken(read=0, deleted=0)  # both files are known from before
    git("commit", "-q", "--allow-empty", "-m", "second", cwd=root)
    commit = git("rev-parse", "HEAD", cwd=root)
    watch.until(lambda said: said[-1].get("commit") == commit)
    assert watched_folders(watch.process.pid) == len([".", "lib", "new", "new/folder"]) + len([".git", "info", "refs", "heads"])
    wait_for(lambda: runs_in_half_a_second(watch.process.pid) == 0)
    assert watch.end() == 0


def test_hundreds_of_edits_at_once_are_few_refreshes(root, watching):
    watch = watching(root, **{"watch.quiet": "0.3"})
    watch.until(begun)
    write(root, {f"many/{number % 7}/m{number}.py": f"number = {number}\n" for number in range(300)})
    watch.until(lambda said: sum(one.get("read", 0) for one in said) >= 300)
    assert len(watch.happened("taken")) <= 4
    assert sum(one["read"] for one in watch.happened("taken")) == 300
    assert watch.end(signal.SIGINT) == 130


def test_a_tree_that_is_too_large_to_watch_is_looked_through_and_that_is_said_once(root, watching):
    watch = watching(root, **{"watch.max_folders": "1"})
    watch.until(begun)
    write(root, {"app.py": "def application(): pass\n"})
    watch.taken(read=1)
    write(root, {"new/c.py": "c"})
    watch.taken(read=1)
    assert [bool(one["looking"]) for one in watch.happened("followed")] == [True]


def test_two_watchers_of_one_tree_read_each_change_once(root, watching):
    both = [watching(root, **{"index.lock_wait": "30"}) for _ in range(2)]
    for watch in both:
        watch.until(begun)
    for number in range(1, 4):
        write(root, {f"n{number}.py": f"number = {number}\n"})
        wait_for(lambda number=number: sum(watch.read() for watch in both) >= number)
    assert [watch.end() for watch in both] == [0, 0]
    assert sum(watch.read() for watch in both) == 3
    assert not any(watch.happened("trouble") for watch in both)


def test_while_another_process_writes_it_says_so_once_and_tries_again(root, watching, own_data_dir):
    watch = watching(root)
    watch.until(begun)
    with Layout(own_data_dir, root).write_lock(0):
        write(root, {"new.py": "new"})
        watch.until(lambda said: said[-1]["event"] == "trouble")
        assert "another process is writing the index" in watch.said[-1]["message"]
        time.sleep(3 * float(QUICK["watch.poll"]))
    watch.taken(read=1)
    assert len(watch.happened("trouble")) == 1


def test_an_index_that_is_removed_meanwhile_is_made_again_with_the_next_change(root, watching):
    watch = watching(root)
    watch.until(begun)
    assert whence("clear", cwd=root).stdout.startswith("removed")
    write(root, {"new.py": "new"})
    watch.taken(read=4)
    write(root, {"new.py": "newer"})
    watch.taken(read=1)
    assert watch.happened("trouble") == []


def test_it_speaks_in_plain_lines_and_ends_when_the_folder_is_gone(root, watching):
    watch = watching(root, as_json=False)
    watch.until(len)
    write(root, {"app.py": "def application(): pass\n"})
    watch.until(lambda said: len(said) == 2)
    git("commit", "-qam", "second", cwd=root)
    watch.until(lambda said: len(said) == 3)
    shutil.rmtree(root)
    assert watch.process.wait(LIMIT) == 2
    lines = watch.until(lambda said: said[-1].startswith("whence: "))
    assert re.fullmatch(rf"\d\d:\d\d:\d\d {re.escape(str(root))}: 3 files in 2 folders; .+", lines[0])
    assert re.fullmatch(r"\d\d:\d\d:\d\d shop: 1 read, 0 gone, \d+\.\d\d s", lines[1])
    assert re.fullmatch(r"\d\d:\d\d:\d\d shop: 0 read, 0 gone, \d+\.\d\d s · commit [0-9a-f]{10}", lines[2])
    assert lines[-1] == f"whence: {root} is gone (watch the folder where it is now)"

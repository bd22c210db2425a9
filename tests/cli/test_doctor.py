"""`whence doctor`, as a process: its lines, its JSON, its exit codes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hindrances import environment, obeying_permissions
from sample_histories import commit
from sample_trees import git, whence, write
from whence.app.doctor.finding import overall_level
from whence.app.doctor.index_files import check_index
from whence.core.settings import Settings
from whence.index.layout import Layout

FILES = {
    "shop/basket.py": 'def total(items):\n    """Adds up the prices of everything a visitor wants to buy."""\n    return sum(one.price for one in items)\n',
    "shop/stock.py": "def reserve(item, count):\n    return warehouse.take(item, count)\n",
}


@pytest.fixture
def tree(tmp_path) -> Path:
    """A small repository with a past, indexed."""
    root = write(tmp_path / "tree", FILES)
    git("init", "--quiet", cwd=root)
    commit(root, "Reserve what a visitor puts into the basket")
    assert whence("index", cwd=root).returncode == 0
    return root


def everything_in(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_all_is_well_and_nothing_was_changed(tree, own_data_dir):
    before = everything_in(own_data_dir) | everything_in(tree)
    done = whence("doctor", "--json", cwd=tree / "shop")
    assert (done.returncode, done.stderr) == (0, "")
    told = json.loads(done.stdout)
    assert told["root"] == str(tree)
    assert told["fixed"] == []
    names = {one["name"] for one in told["checks"]}
    assert names >= set("versions packages grammars git settings database index freshness lock orphans notes processes recall".split())
    assert names >= {"model of code", "model of notes", "data folder", "derived files", "left out"}
    assert not [one for one in told["checks"] if one["level"] == "failed"]
    recall = {one["facts"]["kind"]: one["facts"] for one in told["checks"] if one["name"] == "recall"}
    assert recall["commits"]["search"]["questions"] == recall["doc comments"]["search"]["questions"] == 1
    assert everything_in(own_data_dir) | everything_in(tree) == before


def test_damage_is_one_line_with_what_to_do_and_doing_it_helps(tree, own_data_dir):
    segment = next(own_data_dir.glob("indexes/*/segments/*.segment"))
    segment.write_bytes(segment.read_bytes()[:-100])
    done = whence("doctor", "--questions", "0", cwd=tree)
    assert (done.returncode, done.stderr) == (1, "")
    lines = done.stdout.splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith("failed"))
    assert "derived files" in lines[at]
    assert segment.name in lines[at + 1]
    assert lines[at + 2].split() == "-> run whence clear, then whence index; learned feedback stays".split()
    assert lines[-1].endswith("1 failed, 0 warnings")
    assert [whence(command, cwd=tree).returncode for command in ("clear", "index")] == [0, 0]
    assert overall_level(check_index(Layout(own_data_dir, tree), Settings(), time.time_ns()).findings) == "ok"


def test_fix_removes_the_index_of_a_folder_that_is_gone_and_nothing_else(tree, tmp_path, own_data_dir):
    other = write(tmp_path / "other", {"a.py": "a = 1\n"})
    assert whence("index", cwd=other).returncode == 0
    shutil.rmtree(other)
    done = whence("doctor", "--questions", "0", "--fix", cwd=tree)
    assert done.returncode == 0
    assert f"fixed    removed the index of {other}" in done.stdout
    assert [path.name.rpartition("-")[0] for path in (own_data_dir / "indexes").iterdir()] == ["tree"]


@pytest.mark.parametrize("arguments", [("nowhere",), ("--questions", "-1"), ("--questions", "many"), ("--set", "no.such=1")])
def test_wrong_use_is_one_line_and_code_2(tmp_path, arguments):
    done = whence("doctor", *arguments, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1


def test_a_data_folder_that_cannot_be_written_fails_and_the_index_in_it_is_still_whole(tree, own_data_dir):
    places = [own_data_dir, *(path for path in own_data_dir.rglob("*") if path.is_dir())]
    drop = obeying_permissions()
    for place in places:
        place.chmod(0o500)
    try:
        command = [sys.executable, "-m", "whence", "doctor", "--json"]
        done = subprocess.run(command, cwd=tree, env=environment(), capture_output=True, text=True, check=False, preexec_fn=drop)
    finally:
        for place in places:
            place.chmod(0o700)
    assert (done.returncode, done.stderr) == (1, "")
    levels = [(one["name"], one["level"]) for one in json.loads(done.stdout)["checks"]]
    assert [name for name, level in levels if level == "failed"] == ["data folder"]
    assert levels.count(("recall", "ok")) == 2
    assert os.access(own_data_dir, os.W_OK)

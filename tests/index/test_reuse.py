"""Worktrees, branches and clones of one repository cost only their difference (Z5)."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from sample_histories import git
from sample_trees import write
from whence import Index
from whence.index.layout import Layout

QUERIES = ("retry the request", "parse a document", "connection limit", "walrus")
SOURCE = "def {name}_{n}(value):\n    '''{name} the request with a connection limit, number {n}.'''\n    return parse_{n}(value)\n"


def files() -> dict[str, str]:
    names = ("retry", "parse", "connect", "limit", "store", "walrus")
    return {f"lib/{name}_{n}.py": SOURCE.format(name=name, n=n) * 4 for name in names for n in range(5)} | {"README.md": "# Walrus\n"}


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = write(tmp_path / "main", files())
    git("init", "-b", "main", cwd=root)
    git("add", ".", cwd=root)
    git("commit", "-m", "retry the request", cwd=root)
    aged(root)
    return root


def aged(root: Path) -> None:
    """Time stamps that are old enough to be trusted."""
    for path in root.rglob("*"):
        if ".git" not in path.parts:
            os.utime(path, (1_600_000_000, 1_600_000_000), follow_symlinks=False)


def answers(index: Index) -> list[object]:
    found: list[object] = [[(one.path, one.score, one.qualified_name) for one in index.search(query, content="all")] for query in QUERIES]
    graph = index.open_graph()
    return [*found, sorted((graph.name(a), graph.name(b)) for a, b in zip(graph.source.tolist(), graph.target.tolist(), strict=True))]


def of_a_clean_build(root: Path, tmp_path: Path) -> list[object]:
    with Index.open(root, data_dir=tmp_path / f"clean-{os.urandom(4).hex()}") as index:
        return answers(index)


def room(data_dir: Path, root: Path) -> int:
    """Bytes that only this index takes: a file with a second name elsewhere is the other's too."""
    return sum(
        path.stat().st_size
        for path in Layout(data_dir, root.resolve()).directory.rglob("*")
        if path.is_file() and path.stat().st_nlink == 1
    )


def test_a_second_worktree_reads_only_what_differs_and_answers_like_a_clean_build(repository: Path, tmp_path: Path) -> None:
    data = tmp_path / "data"
    with Index.open(repository, data_dir=data) as first:
        assert first.last_refresh.read == len(files())
        assert first.open_graph().source.size
    git("worktree", "add", "-b", "topic", str(tmp_path / "second"), cwd=repository)
    (tmp_path / "second/lib/retry_0.py").write_text("def retried_otherwise():\n    return walrus\n")
    (tmp_path / "second/lib/new.py").write_text("def brand_new_walrus():\n    return 1\n")
    (tmp_path / "second/lib/limit_0.py").unlink()
    with Index.open(tmp_path / "second", data_dir=data) as second:
        assert second.last_refresh.read == 2
        assert second.last_refresh.reused == len(files()) - 2
        assert second.notes == []
        assert answers(second) == of_a_clean_build(tmp_path / "second", tmp_path)
    with Index.open(repository, data_dir=data) as first:
        assert first.last_refresh.read == 0
        assert answers(first) == of_a_clean_build(repository, tmp_path)


def test_an_equal_worktree_takes_over_the_graph_and_the_columns_too(repository: Path, tmp_path: Path) -> None:
    data = tmp_path / "data"
    with Index.open(repository, data_dir=data) as first:
        before = answers(first)
    whole = room(data, repository)
    git("worktree", "add", "--detach", str(tmp_path / "second"), cwd=repository)
    aged(tmp_path / "second")
    with Index.open(tmp_path / "second", data_dir=data) as second:
        assert (second.last_refresh.read, second.last_refresh.reused) == (0, len(files()))
        assert answers(second) == before
    assert room(data, tmp_path / "second") < whole / 2  # of a tree this small the database is most
    segments = Layout(data, (tmp_path / "second").resolve()).segments
    assert all(path.stat().st_nlink == 2 for path in segments.iterdir()), "nothing was written that was there already"


def test_what_one_worktree_does_with_its_index_does_not_touch_the_other(repository: Path, tmp_path: Path) -> None:
    data = tmp_path / "data"
    with Index.open(repository, data_dir=data) as first:
        before = answers(first)
    git("worktree", "add", "--detach", str(tmp_path / "second"), cwd=repository)
    Index.open(tmp_path / "second", data_dir=data).close()
    for path in (tmp_path / "second/lib").glob("*.py"):
        path.write_text(f"def another_{path.stem}():\n    return 0\n")
    with Index.open(tmp_path / "second", data_dir=data) as second:  # merged and rewritten there
        assert answers(second) == of_a_clean_build(tmp_path / "second", tmp_path)
    with Index.open(repository, data_dir=data) as first:
        assert first.notes == []
        assert first.last_refresh.read == 0
        assert answers(first) == before


def test_a_clone_at_the_same_commit_takes_over_too(repository: Path, tmp_path: Path) -> None:
    data = tmp_path / "data"
    Index.open(repository, data_dir=data).close()
    subprocess.run(["git", "clone", "-q", str(repository), str(tmp_path / "clone")], check=True)
    with Index.open(tmp_path / "clone", data_dir=data) as clone:
        assert clone.last_refresh.read == 0


def test_another_repository_or_other_settings_take_over_nothing(repository: Path, tmp_path: Path) -> None:
    data = tmp_path / "data"
    Index.open(repository, data_dir=data).close()
    stranger = write(tmp_path / "stranger", files())
    with Index.open(stranger, data_dir=data) as index:
        assert index.last_refresh.reused == 0
    git("worktree", "add", "--detach", str(tmp_path / "second"), cwd=repository)
    with Index.open(tmp_path / "second", data_dir=data, settings={"index.max_line_bytes": 5_000}) as index:
        assert index.last_refresh.reused == 0


def test_going_back_to_a_branch_reads_nothing_again(repository: Path, tmp_path: Path) -> None:
    data = tmp_path / "data"
    with Index.open(repository, data_dir=data) as index:
        before = answers(index)
    git("switch", "-c", "topic", cwd=repository)
    for n in range(3):
        (repository / f"lib/store_{n}.py").write_text(f"def stored_on_topic_{n}():\n    return walrus_{n}()\n")
    git("commit", "-am", "another store", cwd=repository)
    with Index.open(repository, data_dir=data) as index:
        assert (index.last_refresh.read, index.last_refresh.reused) == (3, 0)
        on_topic = answers(index)
    git("switch", "main", cwd=repository)
    with Index.open(repository, data_dir=data) as index:
        assert (index.last_refresh.read, index.last_refresh.reused) == (0, 3)
        assert answers(index)[:-1] == before[:-1]
        assert answers(index) == of_a_clean_build(repository, tmp_path)
    git("switch", "topic", cwd=repository)
    with Index.open(repository, data_dir=data) as index:
        assert index.last_refresh.read <= 3
        assert answers(index) == on_topic


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:100])


@pytest.mark.parametrize(
    "damage", [Path.unlink, cut, lambda path: path.write_bytes(os.urandom(path.stat().st_size))], ids=["gone", "cut", "noise"]
)
def test_a_damaged_index_nearby_harms_nobody(repository: Path, tmp_path: Path, damage: Callable[[Path], object]) -> None:
    data = tmp_path / "data"
    Index.open(repository, data_dir=data).close()
    for path in Layout(data, repository.resolve()).segments.glob("*.segment"):
        damage(path)
    git("worktree", "add", "--detach", str(tmp_path / "second"), cwd=repository)
    with Index.open(tmp_path / "second", data_dir=data) as index:
        assert answers(index) == of_a_clean_build(tmp_path / "second", tmp_path)

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
from whence.index.store import VERSIONS

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


def test_going_back_and_forth_between_branches_reads_nothing_again(repository: Path, tmp_path: Path) -> None:
    """Most files differ, so that segments are rewritten at every turn."""
    data = tmp_path / "data"
    with Index.open(repository, data_dir=data) as index:
        on_main = answers(index)
    git("switch", "-c", "topic", cwd=repository)
    changed = sorted((repository / "lib").glob("*.py"))[2:]
    for n, path in enumerate(changed):
        path.write_text(f"def stored_on_topic_{n}():\n    return walrus_{n}()\n")
    (repository / "lib/only_on_topic.py").write_text("def only_on_topic():\n    return 1\n")
    git("add", ".", cwd=repository)
    git("commit", "-m", "another store", cwd=repository)
    with Index.open(repository, data_dir=data) as index:
        assert index.last_refresh.read == len(changed) + 1
        on_topic = answers(index)
    for branch, before in (("main", on_main), ("topic", on_topic), ("main", on_main), ("topic", on_topic)):
        git("switch", branch, cwd=repository)
        with Index.open(repository, data_dir=data, settings={"index.overlay_share": 0}) as index:
            assert (index.last_refresh.read, len(index.store.segments())) == (0, 1), branch
            assert index.last_refresh.reused == len(changed) + (branch == "topic")
            assert answers(index)[:-1] == before[:-1]
            assert answers(index) == of_a_clean_build(repository, tmp_path)
            path = changed[0].relative_to(repository).as_posix()
            assert ("stored_on_topic_0" in [unit.name for unit in index.parsed(path).units]) == (branch == "topic")


def test_of_what_was_there_once_only_the_latest_is_kept(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whence.index.builder.KEPT_ROWS", 6)
    monkeypatch.setattr("whence.index.builder.KEPT_SHARE", 0)
    path = repository / "lib/store_0.py"
    settings = {"index.overlay_share": 0}
    for version in range(6):
        path.write_text(f"def version_{version}():\n    return 1\n")
        Index.open(repository, data_dir=tmp_path / "data", settings=settings).close()
    with Index.open(repository, data_dir=tmp_path / "data", settings=settings) as index:
        assert len(index.store.dead_file_rows()) == VERSIONS
    others = [one for one in sorted((repository / "lib").glob("*.py")) if one != path][:6]
    for other in others:
        other.write_text("def other():\n    return 1\n")
    with Index.open(repository, data_dir=tmp_path / "data", settings=settings) as index:
        assert {one for one, *_ in index.store.dead_file_rows()} == {f"lib/{other.name}" for other in others}
        assert not index.store.verify()


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

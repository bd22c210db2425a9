"""What git knows, read without git: real repositories, and git's own answer beside ours."""

from __future__ import annotations

from pathlib import Path

import pytest

from sample_trees import git, write
from whence.source.git import Head, read_head, repository_root


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = write(tmp_path / "repository", {"lib/a.py": "a\n"})
    git("init", cwd=root)
    git("add", ".", cwd=root)
    git("commit", "-m", "first", cwd=root)
    return root


def test_the_commit_and_branch_are_those_git_tells(repository: Path) -> None:
    assert read_head(repository) == Head(git("rev-parse", "HEAD", cwd=repository), "main")


def test_a_branch_with_a_slash_keeps_its_name(repository: Path) -> None:
    git("checkout", "-b", "feature/deep", cwd=repository)
    assert read_head(repository) == Head(git("rev-parse", "HEAD", cwd=repository), "feature/deep")


def test_a_detached_head_has_a_commit_and_no_branch(repository: Path) -> None:
    git("checkout", "--detach", cwd=repository)
    assert read_head(repository) == Head(git("rev-parse", "HEAD", cwd=repository), "")


def test_a_packed_branch_is_found(repository: Path) -> None:
    git("pack-refs", "--all", cwd=repository)
    assert not (repository / ".git/refs/heads/main").exists()
    assert read_head(repository) == Head(git("rev-parse", "HEAD", cwd=repository), "main")


def test_a_worktree_has_its_own_commit(repository: Path, tmp_path: Path) -> None:
    git("worktree", "add", "-b", "other", str(tmp_path / "tree"), cwd=repository)
    write(tmp_path / "tree", {"b.py": "b\n"})
    git("add", ".", cwd=tmp_path / "tree")
    git("commit", "-m", "second", cwd=tmp_path / "tree")
    assert read_head(tmp_path / "tree") == Head(git("rev-parse", "other", cwd=repository), "other")
    assert read_head(repository) == Head(git("rev-parse", "main", cwd=repository), "main")


def test_a_worktree_on_a_packed_branch_is_found(repository: Path, tmp_path: Path) -> None:
    git("worktree", "add", "-b", "other", str(tmp_path / "tree"), cwd=repository)
    git("pack-refs", "--all", cwd=repository)
    assert read_head(tmp_path / "tree") == Head(git("rev-parse", "other", cwd=repository), "other")


def test_a_repository_with_no_commit_has_no_head(tmp_path: Path) -> None:
    git("init", cwd=tmp_path)
    assert read_head(tmp_path) is None


def test_a_plain_folder_has_no_head(tmp_path: Path) -> None:
    assert read_head(tmp_path) is None


@pytest.mark.parametrize("text", [b"", b"ref: ", b"ref: refs/heads/../../../etc/passwd", b"\xff\xfe\0", b"ref: refs/heads/main\0"])
def test_a_damaged_head_is_no_head(repository: Path, text: bytes) -> None:
    (repository / ".git/HEAD").write_bytes(text)
    assert read_head(repository) is None


@pytest.mark.parametrize("text", ["", "gitdir: ", "gitdir: /nowhere/at/all", "something else"])
def test_a_git_file_that_leads_nowhere_is_no_head(tmp_path: Path, text: str) -> None:
    (tmp_path / ".git").write_text(text)
    assert read_head(tmp_path) is None


def test_the_root_of_a_repository_is_found_from_inside(repository: Path) -> None:
    assert repository_root(repository / "lib") == repository
    assert repository_root(repository) == repository


def test_a_folder_outside_every_repository_has_no_root(tmp_path: Path) -> None:
    assert repository_root(tmp_path) is None

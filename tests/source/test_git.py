"""What git knows, read without git: real repositories, and git's own answer beside ours."""

from __future__ import annotations

import os
import random
import struct
import subprocess
import time
from pathlib import Path

import pytest

from campaigns import examples
from sample_trees import git, write
from whence.source.git import MOST_INDEX_BYTES, MOST_NAME_BYTES, Head, read_head, read_index, repository_root, tracked_files


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


# What git tracks.
FILES = {
    "a.py": "a\n",
    "build/lib/deep/rules.py": "b\n",
    "build/lib/deep/rules_of_two.py": "b\n",
    "lib/é.py": "c\n",
    "name with spaces.py": "d\n",
    f"long/{'x' * 200}/{'y' * 200}.py": "e\n",
}


def tracked(root: Path) -> list[str] | None:
    found = tracked_files(root)
    return None if found is None else sorted(found.files)


@pytest.fixture(params=["sha1", "sha256"])
def full_repository(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    root = write(tmp_path / "repository", FILES)
    (root / os.fsdecode(b"\xff.py")).write_bytes(b"f\n")
    git("init", f"--object-format={request.param}", cwd=root)
    git("add", ".", cwd=root)
    git("commit", "-m", "first", cwd=root)
    return root


@pytest.mark.parametrize("version", ["2", "3", "4"])
def test_the_tracked_files_are_those_git_tells(full_repository: Path, version: str) -> None:
    write(full_repository, {"new.py": "n\n", "later.py": "l\n"})
    git("add", "-N", "new.py", cwd=full_repository)  # with this, version 2 becomes 3
    git("update-index", "--index-version", version, cwd=full_repository)
    found = tracked_files(full_repository)
    assert found is not None
    names = subprocess.run(["git", "ls-files", "-z"], cwd=full_repository, capture_output=True, check=True).stdout.split(b"\0")[:-1]
    assert sorted(map(os.fsencode, found.files)) == sorted(names)
    assert "new.py" in found.files
    assert "later.py" not in found.files
    assert [found.holds(folder, is_folder=True) for folder in ("build", "build/lib", "buil", "lib/é.py", "long")] == [1, 1, 0, 0, 1]


def test_an_index_without_entries_tracks_nothing(full_repository: Path) -> None:
    git("rm", "-rq", "--cached", ".", cwd=full_repository)
    assert tracked(full_repository) == []


def test_a_file_in_conflict_is_tracked_once(repository: Path) -> None:
    git("checkout", "-q", "-b", "other", cwd=repository)
    git("commit", "-qam", "other", cwd=write(repository, {"lib/a.py": "other\n"}))
    git("checkout", "-q", "main", cwd=repository)
    git("commit", "-qam", "main", cwd=write(repository, {"lib/a.py": "main\n"}))
    subprocess.run(["git", "merge", "-q", "other"], cwd=repository, capture_output=True, check=False)
    assert len(git("ls-files", "-u", cwd=repository).splitlines()) == 3
    assert tracked(repository) == ["lib/a.py"]


def test_a_worktree_has_its_own_tracked_files(repository: Path, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    git("worktree", "add", "-q", "-b", "other", str(tree), cwd=repository)
    git("add", "b.py", cwd=write(tree, {"b.py": "b\n"}))
    assert (tracked(tree), tracked(repository)) == (["b.py", "lib/a.py"], ["lib/a.py"])


def test_a_submodule_is_no_tracked_file_and_has_its_own(repository: Path, tmp_path: Path) -> None:
    other = write(tmp_path / "other", {"inner.py": "i\n"})
    git("init", cwd=other)
    git("add", ".", cwd=other)
    git("commit", "-m", "first", cwd=other)
    git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(other), "vendor/inner", cwd=repository)
    assert tracked(repository) == [".gitmodules", "lib/a.py"]
    assert tracked(repository / "vendor/inner") == ["inner.py"]


def test_below_a_folder_of_a_repository_paths_are_relative_to_it(repository: Path) -> None:
    assert tracked(repository / "lib") == ["a.py"]


@pytest.mark.parametrize("arguments", [("update-index", "--split-index"), ("sparse-checkout", "set", "--sparse-index", "build")])
def test_an_index_that_is_split_or_sparse_tells_nothing(full_repository: Path, arguments: tuple[str, ...]) -> None:
    git(*arguments, cwd=full_repository)
    assert tracked(full_repository) is None


def test_no_process_is_started_and_a_pipe_or_an_endless_index_tells_nothing(repository: Path) -> None:
    write(repository, {".git/hook": f"#!/bin/sh\ntouch {repository}/ran\n"}).joinpath(".git/hook").chmod(0o755)
    git("config", "core.fsmonitor", str(repository / ".git/hook"), cwd=repository)
    assert tracked(repository) == ["lib/a.py"]
    assert not (repository / "ran").exists()
    index = repository / ".git/index"
    index.unlink()
    assert tracked(repository) is None
    os.mkfifo(index)
    assert tracked(repository) is None
    index.unlink()
    with index.open("wb") as file:
        file.truncate(MOST_INDEX_BYTES + 1)
    started = time.thread_time()
    assert tracked(repository) is None
    assert time.thread_time() - started < 1


def index_of(entries: list[tuple[int, bytes]]) -> bytes:
    """An index of version 4 whose entries share as much of the name before as they say."""
    raw, name = [struct.pack(">4sII", b"DIRC", 4, len(entries))], b""
    for shared, rest in entries:
        dropped, name = len(name) - shared, name[:shared] + rest
        number = bytes([dropped]) if dropped < 128 else bytes([(dropped >> 7) - 1 | 128, dropped & 127])
        raw.append(bytes(60) + struct.pack(">H", min(len(name), 0xFFF)) + number + rest + b"\0")
    return b"".join(raw) + bytes(20)


def test_names_that_are_longer_than_any_path_or_grow_without_end_are_no_index() -> None:
    assert read_index(index_of([(0, b"a/b.py"), (2, b"c.py")])) == ["a/b.py", "a/c.py"]
    assert read_index(index_of([(0, b"a" * MOST_NAME_BYTES)])) is None
    many = MOST_INDEX_BYTES // 4_000 + 1  # each adds as much as the first, in 70 bytes
    raw = index_of([(0, b"a" * 4_000), *((4_000, b"a%06d" % number) for number in range(many))])
    started = time.thread_time()
    assert read_index(raw) is None
    assert time.thread_time() - started < 1


def real_index(version: str, folder: Path) -> bytes:
    write(folder, FILES)
    git("init", cwd=folder)
    git("add", ".", cwd=folder)
    git("update-index", "--index-version", version, cwd=folder)
    return (folder / ".git/index").read_bytes()


@pytest.mark.parametrize("version", ["2", "4"])
def test_a_damaged_index_tells_nothing_or_paths_and_never_fails(version: str, tmp_path: Path) -> None:
    raw = real_index(version, tmp_path)
    assert all(read_index(raw[:length]) is None for length in range(len(raw)))
    chance = random.Random(18)
    for _ in range(examples(4_000)):
        damaged = bytearray(raw)
        for _ in range(chance.randrange(1, 5)):
            at = chance.randrange(len(damaged))
            damaged[at : at + chance.randrange(3)] = chance.randbytes(chance.randrange(3))
        found = read_index(bytes(damaged))
        assert found is None or all(path and "\0" not in path for path in found)

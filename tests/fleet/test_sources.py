"""Where repositories come from: a folder where it is, a URL checked out below the data folder, and nothing that git would run."""

from __future__ import annotations

from pathlib import Path

import pytest

from sample_histories import commit
from sample_trees import git, write
from small_cases import each
from whence.core.errors import UsageError, WhenceError
from whence.fleet.sources import GitError, checkout, checkout_path, default_name, normalize_source, remote_head, remove_checkout


@pytest.fixture
def remote(tmp_path: Path) -> Path:
    root = write(tmp_path / "acme" / "shop", {"a.py": "def one():\n    return 1\n", "b.txt": "crlf\r\n"})
    git("init", "-q", cwd=root)
    commit(root, "First")
    return root


def url_of(root: Path) -> str:
    return f"file://{root}"


@each(
    "text",
    [
        "ext::sh -c true",
        "ext://example.org/x",
        "--upload-pack=touch /tmp/x",
        "-u",
        "http://example.org/a/b",
        "git://example.org/a/b",
        "ftp://example.org/a/b",
        "https://user:secret@example.org/a/b",
        "https://token@example.org/a/b",
        "ssh://git:secret@example.org/a/b",
        "ssh://-oProxyCommand=true/a/b",
        "ssh://-x@example.org/a/b",
        "ssh://example.org/-a",
        "https:///a/b",
        "https://example.org",
        "https://example.org/",
        "https://example.org/a b",
        "https://example.org/a?token=x",
        "https://example.org/a#x",
        "https://example.org/a\nb",
        "https://example.org:port/a",
        "file://host/a",
        "file:///",
        "fd::17",
        "git@example.org:a/b",
        "no such folder",
    ],
)
def test_what_is_no_folder_and_no_plain_url_is_refused(text: str):
    with pytest.raises(WhenceError) as refused:
        normalize_source(text)
    assert "secret" not in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("text", ["https://example.org/a/b.git", "ssh://git@example.org:2222/a/b", "file:///srv/git/a.git"])
def test_plain_urls_are_taken_as_they_are(text: str):
    assert normalize_source(text) == text


def test_a_folder_is_kept_as_a_whole_path(remote: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(remote.parent)
    assert normalize_source("shop") == str(remote)


def test_a_part_of_a_repository_is_refused(remote: Path):
    write(remote, {"src/c.py": "x = 1\n"})
    with pytest.raises(UsageError, match="is inside the repository"):
        normalize_source(str(remote / "src"))


@each(
    ("source", "name"),
    [
        ("https://example.org/acme/shop.git", "acme/shop"),
        ("https://example.org/deep/er/acme/shop/", "acme/shop"),
        ("ssh://git@example.org/shop", "shop"),
        ("file:///srv/git/acme/my%20shop", "acme/my-20shop"),
        ("/home/ada/code/shop", "shop"),
        ("/home/ada/@odd name", "odd-name"),
    ],
)
def test_a_repository_has_a_name_by_itself(source: str, name: str):
    assert default_name(source) == name


def test_a_url_is_checked_out_and_follows_its_server(remote: Path, own_data_dir: Path):
    url = url_of(remote)
    with checkout(url, own_data_dir, 10) as root:
        assert root == checkout_path(url, own_data_dir)
        assert (root / "a.py").read_text() == (remote / "a.py").read_text()
        assert (root / "b.txt").read_bytes() == b"crlf\r\n"
        assert git("rev-parse", "HEAD", cwd=root) == git("rev-parse", "HEAD", cwd=remote)
        assert git("symbolic-ref", "HEAD", cwd=root) == "refs/heads/main"
    (remote / "a.py").unlink()
    git("checkout", "-q", "-b", "other", cwd=remote)
    commit(write(remote, {"c.py": "def two():\n    return 2\n"}), "Second")
    with checkout(url, own_data_dir, 10) as root:
        assert sorted(one.name for one in root.iterdir()) == [".git", "b.txt", "c.py"]
        assert git("symbolic-ref", "HEAD", cwd=root) == "refs/heads/other"
        assert git("log", "--format=%s", cwd=root).splitlines() == ["Second", "First"]


def test_a_server_without_a_branch_is_followed_too(remote: Path, own_data_dir: Path):
    git("checkout", "-q", "--detach", cwd=remote)
    assert remote_head(url_of(remote)).branch == ""
    with checkout(url_of(remote), own_data_dir, 10) as root:
        assert git("rev-parse", "HEAD", cwd=root) == git("rev-parse", "HEAD", cwd=remote)


def test_what_a_killed_git_left_is_no_hindrance(remote: Path, own_data_dir: Path):
    with checkout(url_of(remote), own_data_dir, 10) as root:
        pass
    for left in ("index.lock", "shallow.lock", "HEAD.lock"):
        (root / ".git" / left).touch()
    commit(write(remote, {"c.py": "x = 1\n"}), "Second")
    with checkout(url_of(remote), own_data_dir, 10) as root:
        assert (root / "c.py").exists()


def test_only_as_much_history_is_fetched_as_is_needed(remote: Path, own_data_dir: Path):
    for number in range(8):
        commit(write(remote, {"a.py": f"x = {number}\n"}), f"Change {number}")
    with checkout(url_of(remote), own_data_dir, 2) as root:
        assert len(git("log", "--format=%s", cwd=root).splitlines()) == 3


def test_no_program_of_the_repository_or_of_the_configuration_is_run(remote: Path, own_data_dir: Path, tmp_path, monkeypatch):
    mark = tmp_path / "was here"
    hooks = write(
        tmp_path / "hooks", {"post-checkout": f"#!/bin/sh\ntouch '{mark}'\n", "reference-transaction": f"#!/bin/sh\ntouch '{mark}'\n"}
    )
    for hook in hooks.iterdir():
        hook.chmod(0o755)
    write(tmp_path, {"config": f'[core]\n\thooksPath = {hooks}\n[filter "odd"]\n\tsmudge = touch "{mark}"\n\trequired = true\n'})
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "config"))
    write(remote, {".gitattributes": "* filter=odd\n", ".gitmodules": '[submodule "x"]\n\tpath = x\n\turl = ext::sh -c true\n'})
    monkeypatch.delenv("GIT_CONFIG_GLOBAL")
    commit(remote, "Attributes")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "config"))
    with checkout(url_of(remote), own_data_dir, 10) as root:
        assert (root / "a.py").read_text() == (remote / "a.py").read_text()
    assert not mark.exists()


def test_a_server_that_is_not_there_is_one_line(tmp_path: Path, own_data_dir: Path):
    with pytest.raises(GitError) as failed, checkout(f"file://{tmp_path}/nothing", own_data_dir, 10):
        pass
    assert "\n" not in str(failed.value)
    assert "git ls-remote failed" in str(failed.value)


def test_a_repository_without_a_commit_is_said_to_have_none(tmp_path: Path, own_data_dir: Path):
    git("init", "-q", "empty", cwd=tmp_path)
    with pytest.raises(GitError, match="has no commit"), checkout(f"file://{tmp_path}/empty", own_data_dir, 10):
        pass


def test_a_checkout_is_forgotten_and_a_folder_never(remote: Path, own_data_dir: Path):
    with checkout(url_of(remote), own_data_dir, 10) as root:
        pass
    assert remove_checkout(url_of(remote), own_data_dir)
    assert not root.exists()
    assert not remove_checkout(url_of(remote), own_data_dir)
    assert not remove_checkout(str(remote), own_data_dir)
    assert (remote / "a.py").exists()

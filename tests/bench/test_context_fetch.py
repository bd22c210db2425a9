"""Fetching the context benchmark from repositories on this machine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench.published_projects import commit, git, repository
from whence.cli.main import main
from whence_bench.context.corpus import load

CORPUS = "bench/cross-system/corpus"
TASK = "id: a-1\nrepo: tiny\ntier: easy\ndescription: where is it pinned\nground_truth:\n  - pinned\n"


@pytest.fixture
def pinned(tmp_path: Path) -> str:
    """The first of two commits of a project."""
    project = repository(tmp_path / "project")
    revision = commit(project, {"src/a.py": "def pinned():\n    return 1\n"})
    commit(project, {"src/a.py": "def later():\n    return 2\n"})
    return revision


@pytest.fixture
def published(tmp_path: Path, pinned: str) -> Path:
    source = repository(tmp_path / "published")
    commit(source, {f"{CORPUS}/MANIFEST.yaml": manifest(tmp_path, pinned), f"{CORPUS}/tasks/tiny/easy/a.yaml": TASK})
    return source


def manifest(tmp_path: Path, revision: str, name: str = "tiny") -> str:
    return f'repos:\n  - name: {name}\n    url: {tmp_path / "project"}\n    commit: "{revision}"\n    language: Python\n'


def fetch(directory: Path, published: Path) -> int:
    return main(["bench", "fetch", "context", str(directory), "--from", str(published)])


def test_repositories_are_placed_at_their_pinned_revision_and_tasks_beside_them(tmp_path: Path, published: Path, pinned: str):
    assert fetch(tmp_path / "out", published) == 0
    assert "pinned" in (tmp_path / "out" / "repos" / "tiny" / "src" / "a.py").read_text()
    found = load(tmp_path / "out").repositories[0]
    assert (found.language, found.revision) == ("Python", pinned)
    assert found.tasks[0].wanted == ("pinned",)


def test_a_revision_that_is_cut_short_is_found_and_kept_when_fetched_again(tmp_path: Path, published: Path, pinned: str):
    commit(published, {f"{CORPUS}/MANIFEST.yaml": manifest(tmp_path, pinned[:7])})
    assert fetch(tmp_path / "out", published) == 0
    assert git(tmp_path / "out" / "repos" / "tiny", "rev-parse", "HEAD") == pinned
    (tmp_path / "out" / "repos" / "tiny" / "mark").write_text("kept")
    assert fetch(tmp_path / "out", published) == 0
    assert (tmp_path / "out" / "repos" / "tiny" / "mark").exists()


@pytest.mark.parametrize(("name", "revision"), [("../escape", "1" * 40), ("tiny", "main"), ("tiny", "--help")])
def test_a_list_that_could_do_harm_is_refused(tmp_path: Path, published: Path, name: str, revision: str):
    commit(published, {f"{CORPUS}/MANIFEST.yaml": manifest(tmp_path, revision, name)})
    assert fetch(tmp_path / "out", published) == 2
    assert not (tmp_path / "out" / "repos").exists()


def test_a_task_that_is_a_link_to_another_file_is_not_followed(tmp_path: Path, published: Path):
    (tmp_path / "secret.yaml").write_text(TASK.replace("a-1", "secret"))
    (published / CORPUS / "tasks" / "link.yaml").symlink_to(tmp_path / "secret.yaml")
    commit(published, {})
    fetch(tmp_path / "out", published)
    assert [task.name for task in load(tmp_path / "out").repositories[0].tasks] == ["a-1"]


@pytest.mark.parametrize("text", ["repos:\n", "7\n", "repos:\n  - name: tiny\n", "repos: ["])
def test_a_list_that_is_none_is_one_clear_line(tmp_path: Path, published: Path, text: str, capsys: pytest.CaptureFixture[str]):
    commit(published, {f"{CORPUS}/MANIFEST.yaml": text})
    assert fetch(tmp_path / "out", published) == 2
    assert "MANIFEST.yaml: " in capsys.readouterr().err


def test_a_source_that_publishes_no_such_benchmark_is_one_clear_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    other = repository(tmp_path / "other")
    commit(other, {"README.md": "nothing here\n"})
    assert fetch(tmp_path / "out", other) == 2
    assert "MANIFEST.yaml" in capsys.readouterr().err


def test_a_folder_with_another_corpus_is_left_alone(tmp_path: Path, published: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "repos.json").write_text(json.dumps([{"name": "other"}]))
    assert fetch(tmp_path / "out", published) == 2
    assert "another corpus" in capsys.readouterr().err
    assert not (tmp_path / "out" / "tasks").exists()

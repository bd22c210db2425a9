"""Fetching a benchmark from repositories on this machine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench.published_projects import commit, repository
from whence.cli.main import main
from whence_bench.search import corpus as corpora


@pytest.fixture
def published(tmp_path: Path) -> Path:
    """A list that pins the first of two commits of a project."""
    project = repository(tmp_path / "project")
    pinned = commit(project, {"src/a.py": "def pinned():\n    return 1\n"})
    commit(project, {"src/a.py": "def later():\n    return 2\n"})
    spec = {"name": "tiny", "language": "python", "url": str(project), "revision": pinned, "benchmark_root": "src"}
    questions = [{"query": "pinned", "relevant": ["src/a.py"], "category": "symbol"}]
    source = repository(tmp_path / "published")
    commit(source, {"benchmarks/repos.json": json.dumps([spec]), "benchmarks/annotations/tiny.json": json.dumps(questions)})
    return source


def pin(published: Path, **changes: str) -> None:
    spec = json.loads((published / "benchmarks" / "repos.json").read_text())[0]
    commit(published, {"benchmarks/repos.json": json.dumps([{**spec, **changes}])})


def fetch(directory: Path, published: Path) -> int:
    return main(["bench", "fetch", "search", str(directory), "--from", str(published)])


def test_a_repository_is_placed_at_its_pinned_revision(tmp_path: Path, published: Path):
    assert fetch(tmp_path / "out", published) == 0
    assert "pinned" in (tmp_path / "out" / "repos" / "tiny" / "src" / "a.py").read_text()


def test_what_was_fetched_is_a_corpus_that_can_be_measured(tmp_path: Path, published: Path):
    fetch(tmp_path / "out", published)
    assert corpora.load(tmp_path / "out").repositories[0].tasks[0].query == "pinned"
    assert main(["bench", "search", "--corpus", str(tmp_path / "out")]) == 0


def test_fetching_again_keeps_what_is_there(tmp_path: Path, published: Path):
    fetch(tmp_path / "out", published)
    (tmp_path / "out" / "repos" / "tiny" / "mark").write_text("kept")
    assert fetch(tmp_path / "out", published) == 0
    assert (tmp_path / "out" / "repos" / "tiny" / "mark").exists()


def test_a_revision_that_does_not_exist_is_a_failure_that_leaves_nothing_behind(
    tmp_path: Path, published: Path, capsys: pytest.CaptureFixture[str]
):
    pin(published, revision="1" * 40)
    assert fetch(tmp_path / "out", published) == 2
    assert "tiny: git" in capsys.readouterr().err
    assert not (tmp_path / "out" / "repos" / "tiny").exists()


@pytest.mark.parametrize(
    "changes",
    [{"name": "../escape"}, {"url": "--upload-pack=touch x"}, {"revision": "main"}, {"benchmark_root": "../.."}],
    ids=["name", "url", "revision", "root"],
)
def test_a_list_that_could_do_harm_is_refused(tmp_path: Path, published: Path, changes: dict[str, str]):
    pin(published, **changes)
    assert fetch(tmp_path / "out", published) == 2
    assert not (tmp_path / "out" / "repos").exists()


def test_git_runs_no_command_that_a_list_names(tmp_path: Path, published: Path):
    pin(published, url=f"ext::touch {tmp_path / 'ran'}")
    assert fetch(tmp_path / "out", published) == 2
    assert not (tmp_path / "ran").exists()


def test_a_folder_with_another_corpus_is_left_alone(tmp_path: Path, published: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "repos.json").write_text("[]")
    assert fetch(tmp_path / "out", published) == 2
    assert "another corpus" in capsys.readouterr().err
    assert (tmp_path / "out" / "repos.json").read_text() == "[]"


def test_a_folder_in_the_way_is_not_removed(tmp_path: Path, published: Path, capsys: pytest.CaptureFixture[str]):
    mine = tmp_path / "out" / "repos" / "tiny" / "mine.txt"
    mine.parent.mkdir(parents=True)
    mine.write_text("mine")
    assert fetch(tmp_path / "out", published) == 2
    assert "move it away" in capsys.readouterr().err
    assert mine.read_text() == "mine"


def test_a_list_that_cannot_be_reached_is_one_clear_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert fetch(tmp_path / "out", tmp_path / "nowhere") == 2
    assert capsys.readouterr().err.startswith("whence: git clone failed")


def test_any_other_benchmark_is_refused_with_what_is_allowed(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["bench", "fetch", "poetry", str(tmp_path / "out")]) == 2
    assert "allowed: search" in capsys.readouterr().err

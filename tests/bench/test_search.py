"""The search benchmark on a corpus of three files and two questions."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bench.small_corpora import lay_out
from whence.cli.main import main
from whence.core.errors import UsageError
from whence_bench.search import corpus as corpora

FILES = {
    "lib/parser.py": "def parse_config(text):\n    '''Read the settings out of a text.'''\n    return dict(text)\n",
    "lib/network.py": "def open_socket(host):\n    '''Connect to a host over the network.'''\n    return host\n",
    "lib/shapes.py": "class Circle:\n    def area(self):\n        return 3\n",
    "other/parser.py": "def parse_config_elsewhere():\n    return 1\n",
}
QUESTIONS = [
    {"query": "parse_config", "relevant": ["lib/parser.py"], "secondary": [], "category": "symbol"},
    {"query": "connect to a host over the network", "relevant": [{"path": "lib/network.py", "start_line": 1, "end_line": 3}]},
]


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """One repository of which only `lib` is indexed."""
    return lay_out(tmp_path / "corpus", FILES, QUESTIONS, url="", revision="0", benchmark_root="lib")


def test_questions_keep_their_targets_and_get_a_category_where_none_is_given(corpus: Path):
    first, second = corpora.load(corpus).repositories[0].tasks
    assert (first.wanted, first.category) == (("lib/parser.py",), "symbol")
    assert (second.wanted, second.category) == (("lib/network.py",), "semantic")


def test_only_the_benchmark_root_is_indexed(corpus: Path):
    assert corpora.load(corpus).repositories[0].root == corpus / "repos" / "tiny" / "lib"


def test_a_listed_repository_that_is_not_there_is_named(corpus: Path):
    listed = json.loads((corpus / "repos.json").read_text())
    (corpus / "repos.json").write_text(json.dumps([*listed, {"name": "gone", "language": "go"}]))
    assert corpora.load(corpus).missing == ("gone",)


def test_a_folder_that_is_no_corpus_is_refused_with_a_hint(tmp_path: Path):
    with pytest.raises(UsageError, match="bench fetch search"):
        corpora.load(tmp_path)


def test_an_unknown_repository_is_refused_and_the_known_ones_are_named(corpus: Path):
    with pytest.raises(UsageError, match="tiny"):
        corpora.load(corpus, ("huge",))


def test_both_questions_are_answered_at_the_top(corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["bench", "search", "--corpus", str(corpus), "--json", str(tmp_path / "out.json")]) == 0
    printed = capsys.readouterr().out
    report = json.loads((tmp_path / "out.json").read_text())
    for profile in ("default", "classic"):
        assert report["profiles"][profile]["ndcg"] == 1.0
        assert report["profiles"][profile]["recall"] == 1.0
        assert report["profiles"][profile]["queries"] == 2
        assert profile in printed
    assert report["repositories"][0]["files"] == 3


def test_the_report_says_what_is_needed_to_repeat_it(corpus: Path, tmp_path: Path):
    main(["bench", "search", "--corpus", str(corpus), "--profile", "classic", "--json", str(tmp_path / "out.json")])
    report = json.loads((tmp_path / "out.json").read_text())
    assert list(report["profiles"]) == ["classic"]
    assert {"whence", "python", "numpy", "tree-sitter"} <= set(report["versions"])
    assert report["machine"]["cpus"] == os.cpu_count()
    assert {"name": "search.k", "value": 10, "source": "call"} in report["settings"]


def test_settings_of_the_user_change_nothing(corpus: Path, tmp_path: Path):
    environment = {**os.environ, "WHENCE_SEARCH_CONTENT": "docs", "WHENCE_SEARCH_K": "1"}
    command = [sys.executable, "-m", "whence", "bench", "search", "--corpus", str(corpus), "--json", str(tmp_path / "out.json")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "out.json").read_text())["profiles"]["default"]["ndcg"] == 1.0


def test_indexes_are_kept_where_they_are_asked_to_be(corpus: Path, tmp_path: Path):
    main(["bench", "search", "--corpus", str(corpus), "--index-dir", str(tmp_path / "kept")])
    assert list((tmp_path / "kept" / "indexes").iterdir())


def test_an_unknown_profile_is_refused_with_the_known_ones(corpus: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["bench", "search", "--corpus", str(corpus), "--profile", "best"]) == 2
    assert "allowed: default, classic" in capsys.readouterr().err

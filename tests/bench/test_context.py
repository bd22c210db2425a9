"""The context benchmark on a corpus of two small repositories and three tasks."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from whence.cli.main import main
from whence.context.pipeline import STAGES
from whence.core.profiles import SYMBOL_PROFILES, USAGE_WEIGHTS

FILES = {
    "lib/parser.py": "def parse_settings(text):\n    '''Read the settings out of a text.'''\n    return dict(text)\n",
    "lib/network.py": "def open_socket(host):\n    '''Connect to a host over the network.'''\n    return host\n",
    "lib/shapes.py": "class Circle:\n    '''A round shape.'''\n\n    def area(self):\n        '''How much a round shape covers.'''\n        return 3\n",
}
TASKS = [
    ("ash-1", "ash", "easy", "Where are the settings read out of a text?", ["parse_settings"]),
    ("ash-2", "ash", "hard", "How much does a round shape cover?", ["Circle", "Circle.area"]),
    ("elm-1", "elm", "easy", "How does it connect to a host over the network?", ["open_socket"]),
]


def task_file(name: str, repository: str, tier: str, description: str, wanted: list[str]) -> str:
    return json.dumps({"id": name, "repo": repository, "tier": tier, "description": description, "ground_truth": wanted})


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two repositories with the same files."""
    directory = tmp_path_factory.mktemp("corpus")
    for name in ("ash", "elm"):
        for path, text in FILES.items():
            file = directory / "repos" / name / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
    (directory / "repos.json").write_text(json.dumps([{"name": "ash", "language": "Python", "revision": "1"}, {"name": "elm"}]))
    (directory / "tasks").mkdir()
    for task in TASKS:
        (directory / "tasks" / f"{task[0]}.yaml").write_text(task_file(*task))
    return directory


@pytest.fixture(scope="module")
def index_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("indexes")


def measure(corpus: Path, out: Path, *arguments: str) -> dict[str, Any]:
    assert main(["bench", "context", "--corpus", str(corpus), "--json", str(out), *arguments]) == 0
    found: dict[str, Any] = json.loads(out.read_text())
    return found


@pytest.fixture(scope="module")
def measured(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return measure(corpus, tmp_path_factory.mktemp("out") / "out.json")


def test_every_task_is_asked_with_the_default_and_the_classic_profile(measured: dict[str, Any]):
    assert list(measured["profiles"]) == ["default", "classic"]
    for figures in measured["profiles"].values():
        assert [one["task"] for one in figures["answers"]] == ["ash-1", "ash-2", "elm-1"]
        assert figures["tasks"] == 3


def test_what_is_wanted_in_so_small_a_tree_is_found_by_both_measures(measured: dict[str, Any]):
    for figures in measured["profiles"].values():
        assert (figures["recall"], figures["strict_recall"]) == (1.0, 1.0)
        assert figures["strict_precision"] == pytest.approx(0.4 / 3)
        assert figures["precision"] >= figures["strict_precision"]


def test_figures_are_given_by_tier_and_by_repository(measured: dict[str, Any]):
    figures = measured["profiles"]["default"]
    assert {name: of["tasks"] for name, of in figures["by_tier"].items()} == {"easy": 2, "hard": 1}
    assert {name: of["tasks"] for name, of in figures["by_repository"].items()} == {"ash": 2, "elm": 1}
    assert figures["by_tier"]["hard"]["strict_precision"] == pytest.approx(0.2)


def test_the_time_of_a_query_and_of_an_index_is_measured(measured: dict[str, Any]):
    assert 0 < measured["profiles"]["default"]["cpu_ms_p50"] <= measured["profiles"]["default"]["cpu_ms_p95"]
    assert [one["name"] for one in measured["repositories"]] == ["ash", "elm"]
    assert all(one["index_cpu"] > 0 and one["files"] == 3 for one in measured["repositories"])


def test_the_report_says_what_is_needed_to_repeat_it(measured: dict[str, Any]):
    assert {"whence", "python", "numpy", "tree-sitter"} <= set(measured["versions"])
    assert measured["machine"]["cpus"] == os.cpu_count()
    assert {"name": "search.k", "value": 10, "source": "call"} in measured["settings"]
    assert {"name": "learn.enabled", "value": False, "source": "call"} in measured["settings"]
    assert measured["repositories"][0]["revision"] == "1"


def test_settings_of_the_user_change_nothing(corpus: Path, measured: dict[str, Any], tmp_path: Path):
    environment = {**os.environ, "WHENCE_SEARCH_CONTENT": "docs", "WHENCE_SEARCH_K": "1"}
    command = [sys.executable, "-m", "whence", "bench", "context", "--corpus", str(corpus), "--json", str(tmp_path / "out.json")]
    done = subprocess.run([*command, "--repo", "elm"], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    answers = json.loads((tmp_path / "out.json").read_text())["profiles"]["default"]["answers"]
    assert [one["returned"] for one in answers] == [one["returned"] for one in measured["profiles"]["default"]["answers"][2:]]


def test_an_index_that_was_there_already_has_no_time(corpus: Path, index_dir: Path, tmp_path: Path):
    where = ("--repo", "ash", "--profile", "default", "--index-dir", str(index_dir))
    assert measure(corpus, tmp_path / "first.json", *where)["repositories"][0]["index_cpu"] > 0
    assert measure(corpus, tmp_path / "second.json", *where)["repositories"][0]["index_cpu"] is None


def test_tables_are_printed_for_every_profile(corpus: Path, index_dir: Path, capsys: pytest.CaptureFixture[str]):
    main(["bench", "context", "--corpus", str(corpus), "--index-dir", str(index_dir)])
    printed = capsys.readouterr().out
    for part in ("bars, profile default", "\nclassic\n", "tier easy", "strict R@10", "index CPU s", "elm"):
        assert part in printed


def test_taken_apart_a_profile_is_asked_without_each_of_its_stages(
    corpus: Path, index_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    found = measure(corpus, tmp_path / "out.json", "--ablate", "--index-dir", str(index_dir))
    stages = {one["part"] for one in found["parts"]["strict_precision"]}
    assert stages == (set(SYMBOL_PROFILES["default"].signals) | set(STAGES)) - set(USAGE_WEIGHTS)
    assert set(found["profiles"]) == {"default", *(f"default without {stage}" for stage in stages)}
    assert "loss without each stage" in capsys.readouterr().out


def test_an_unknown_profile_is_refused_with_the_known_ones(corpus: Path, capsys: pytest.CaptureFixture[str]):
    for more in ((), ("--ablate",)):
        assert main(["bench", "context", "--corpus", str(corpus), "--profile", "best", *more]) == 2
        assert "allowed: default, classic" in capsys.readouterr().err


def test_a_listed_repository_that_is_not_there_is_named(corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    partial = tmp_path / "partial"
    partial.mkdir()
    for part in ("repos", "tasks"):
        (partial / part).symlink_to(corpus / part)
    (partial / "repos.json").write_text(json.dumps([{"name": "elm"}, {"name": "oak"}]))
    assert measure(partial, tmp_path / "out.json", "--profile", "default")["missing"] == ["oak"]
    assert "oak is listed and is not there" in capsys.readouterr().err


# Beside the peer: a command that takes the same arguments and answers in the same form.

PEER = """#!{python}
import json, sys
if sys.argv[1] == "context":
    print(json.dumps({{"symbols": [{{"qualified_name": "bench/ash:///x/lib/shapes.py.Circle.area"}}]}}))
"""


@pytest.fixture
def peer(tmp_path: Path) -> Path:
    command = tmp_path / "peer"
    command.write_text(PEER.format(python=sys.executable))
    command.chmod(0o755)
    return command


def test_a_peer_is_measured_beside_in_the_same_run(corpus: Path, peer: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    found = measure(corpus, tmp_path / "out.json", "--profile", "default", "--knowing", str(peer))
    for described in found["repositories"]:
        assert described["knowing"]["index_cpu"] > 0
        assert described["knowing"]["resolver_cpu"] > 0
        assert all(spent > 0 for spent in described["knowing"]["cpu_ms"])
    assert list(found["profiles"]) == ["default"]
    assert "knowing index" in capsys.readouterr().out


def test_a_peers_answers_are_measured_when_asked_for(corpus: Path, peer: Path, tmp_path: Path):
    found = measure(corpus, tmp_path / "out.json", "--profile", "default", "--knowing", str(peer), "--knowing-quality")
    answers = {one["task"]: one for one in found["profiles"]["knowing"]["answers"]}
    assert (answers["ash-2"]["recall"], answers["ash-2"]["strict_recall"]) == (1.0, 0.5)
    assert answers["elm-1"]["recall"] == 0.0


def test_a_peer_that_fails_is_a_note_and_the_rest_is_measured(corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    found = measure(corpus, tmp_path / "out.json", "--profile", "default", "--repo", "ash", "--knowing", "false")
    assert found["repositories"][0]["knowing"] is None
    assert found["profiles"]["default"]["recall"] == 1.0
    assert "knowing on ash: false index" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--knowing", "no-such-command"), "no such command"),
        (("--knowing-quality",), "give --knowing PATH"),
        (("--ablate", "--profile", "default", "--profile", "classic"), "one --profile"),
        (("--ablate", "--knowing", "true"), "one --profile"),
        (("--repo", "oak"), "it has ash, elm"),
    ],
)
def test_what_cannot_be_measured_is_refused_before_any_work(
    corpus: Path, arguments: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
):
    assert main(["bench", "context", "--corpus", str(corpus), *arguments]) == 2
    assert said in capsys.readouterr().err


def test_packs_are_measured_at_every_budget_beside_grep_windows(corpus, index_dir, tmp_path, capsys):
    scores = measure(corpus, tmp_path / "packs.json", "--packs", "--index-dir", str(index_dir))["scores"]
    assert {one["budget"] for one in scores} == {1_000, 2_000, 4_000, 6_000, 8_000, 12_000}
    assert all(one["packed"] == one["wanted"] and one["best_shown"] for one in scores)
    assert "in grep windows" in capsys.readouterr().out

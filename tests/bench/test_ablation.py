"""What each part is worth: a part that decides everything shows its loss, one that decides nothing shows none."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bench.judged_questions import PLANTED, questions
from whence.cli.main import main
from whence.core.errors import UsageError
from whence.core.profiles import PROFILES, Profile, Weight
from whence.search.metrics import mean
from whence_bench.search.ablation import as_text, opened, worths
from whence_bench.search.features import ndcg

REPOSITORIES = ("ash", "birch", "cedar", "elm")
FILES = {
    "lib/parser.py": "def parse_config(text):\n    '''Read the settings out of a text.'''\n    return dict(text)\n",
    "lib/network.py": "def open_socket(host):\n    '''Connect to a host over the network.'''\n    return host\n",
    "lib/shapes.py": "class Circle:\n    def area(self):\n        return 3\n",
    "lib/store.py": "def save_record(record):\n    '''Write a record to the disk.'''\n    return record\n",
}
QUESTIONS = [
    {"query": "parse_config", "relevant": ["lib/parser.py"], "category": "symbol"},
    {"query": "connect to a host over the network", "relevant": ["lib/network.py"], "category": "semantic"},
    {"query": "how is a record written to the disk", "relevant": ["lib/store.py"], "category": "architecture"},
]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three repositories with the same questions."""
    directory = tmp_path_factory.mktemp("corpus")
    (directory / "annotations").mkdir()
    for name in REPOSITORIES[:3]:
        for path, text in FILES.items():
            file = directory / "repos" / name / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        (directory / "annotations" / f"{name}.json").write_text(json.dumps(QUESTIONS))
    (directory / "repos.json").write_text(json.dumps([{"name": name, "language": "python"} for name in REPOSITORIES[:3]]))
    return directory


@pytest.fixture(scope="module")
def index_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("indexes")


# Made-up questions.


def test_a_signal_that_decides_everything_shows_its_loss_and_one_that_decides_nothing_shows_none():
    weights = {"likeness": Weight(8.0, 8.0), "penalty": Weight(0.0, 0.0), "noise": Weight(0.0, 0.0)}
    found = {one.part: one for one in worths(questions(80, REPOSITORIES, weights), Profile(signals=weights)) if one.kind == "signal"}
    assert found["likeness"].loss > 0.3
    assert found["likeness"].low > 0.2
    assert (found["noise"].loss, found["noise"].low, found["noise"].high) == (0, 0, 0)


def test_a_signal_that_only_harms_shows_a_gain():
    harmful = {**PLANTED, "noise": Weight(3.0, 3.0)}
    found = {one.part: one for one in worths(questions(120, REPOSITORIES), Profile(signals=harmful))}
    assert found["noise"].loss < 0
    assert found["noise"].high < 0


def test_the_greatest_loss_comes_first_among_signals_and_among_retrievers():
    found = worths(questions(60, REPOSITORIES), Profile(signals=PLANTED))
    for kind in ("signal", "retriever"):
        losses = [one.loss for one in found if one.kind == kind]
        assert losses == sorted(losses, reverse=True)
    assert {one.part for one in found if one.kind == "signal"} == set(PLANTED)
    assert {one.part for one in found if one.kind == "retriever"} == {"words", "meaning"}


def test_the_loss_is_the_mean_of_what_each_question_loses():
    judged, profile = questions(60, REPOSITORIES), Profile(signals=PLANTED)
    found = next(one for one in worths(judged, profile) if one.part == "penalty")
    without = {name: weight for name, weight in PLANTED.items() if name != "penalty"}
    assert found.loss == pytest.approx(mean([ndcg(one, PLANTED) - ndcg(one, without) for one in judged]))
    assert found.low <= found.loss <= found.high


def test_a_retriever_that_alone_finds_what_is_wanted_is_worth_all_of_it():
    judged = []
    for one in questions(40, REPOSITORIES):
        found_by = np.ones((len(one.owner), 2), bool)
        found_by[one.owner == one.wanted[0][0], 0] = False  # words do not find it
        judged.append(replace(one, found_by=found_by))
    found = {one.part: one for one in worths(judged, Profile(signals=PLANTED)) if one.kind == "retriever"}
    assert found["meaning"].loss == pytest.approx(mean([ndcg(one, PLANTED) for one in judged]))
    assert found["words"].loss == 0


def test_the_interval_is_over_repositories_not_over_questions():
    """A part that all of the questions of one repository live by, and none of the others: four draws decide."""
    judged = questions(400, REPOSITORIES)
    lost = [
        replace(one, found_by=np.tile([False, True], (len(one.owner), 1)) if one.repository == "elm" else one.found_by) for one in judged
    ]
    found = next(one for one in worths(lost, Profile(signals=PLANTED)) if one.part == "meaning")
    assert found.low == 0
    assert found.high > 2 * found.loss


def test_the_same_questions_give_the_same_intervals():
    judged, profile = questions(30, REPOSITORIES), Profile(signals=PLANTED)
    assert worths(judged, profile) == worths(judged, profile)


def test_a_profile_that_multiplies_cannot_be_taken_apart():
    with pytest.raises(UsageError, match="multiplies"):
        opened("classic", every_signal=False)


def test_an_unknown_profile_is_refused_with_the_known_ones():
    with pytest.raises(UsageError, match="allowed: default"):
        opened("best", every_signal=False)


def test_the_table_says_what_was_taken_apart_and_how_well_it_does_whole():
    judged = [replace(one, signals=("unit", "mass", "depth")) for one in questions(12, REPOSITORIES)]
    text = as_text(worths(judged, PROFILES["default"]), judged, "default")
    assert text.startswith("profile default: NDCG@10 ")
    assert all(name in text for name in PROFILES["default"].signals)


# The command.


def bench(corpus: Path, index_dir: Path, *options: str) -> int:
    return main(["bench", "search", "--corpus", str(corpus), "--index-dir", str(index_dir), *options])


@pytest.mark.parametrize("profile", ["default", "semantic"])
def test_ablate_prints_a_line_for_each_signal_and_retriever(corpus, index_dir, tmp_path, capsys, profile):
    assert bench(corpus, index_dir, "--ablate", "--profile", profile, "--json", str(tmp_path / "out.json")) == 0
    printed = capsys.readouterr().out
    report = json.loads((tmp_path / "out.json").read_text())
    assert report["profile"] == profile
    parts = {(one["kind"], one["part"]) for one in report["parts"]}
    assert {part for kind, part in parts if kind == "signal"} == set(PROFILES[profile].signals)
    assert {"words", "meaning"} <= {part for kind, part in parts if kind == "retriever"}
    assert all(part in printed for _, part in parts)
    assert printed.startswith(f"profile {profile}: NDCG@10 ")


def test_learn_prints_the_mean_and_that_of_each_repository_and_category(corpus, index_dir, tmp_path, capsys):
    assert bench(corpus, index_dir, "--learn", "--json", str(tmp_path / "out.json")) == 0
    printed = capsys.readouterr().out
    report = json.loads((tmp_path / "out.json").read_text())
    assert {"all", *REPOSITORIES[:3], "symbol", "semantic", "architecture"} <= set(report["ndcg"])
    assert report["ndcg"]["all"] == pytest.approx(mean([report["ndcg"][name] for name in REPOSITORIES[:3]]))
    assert report["ndcg"]["all"] > 0.9
    assert all(name in printed for name in (*REPOSITORIES[:3], "leave-one-repository-out"))


def test_learning_needs_two_repositories_and_says_so_in_one_line(corpus, index_dir, capsys):
    assert bench(corpus, index_dir, "--learn", "--repo", "ash") == 2
    said = capsys.readouterr().err
    assert len(said.splitlines()) == 1
    assert "two repositories" in said


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--ablate", "--learn"), "one at a time"),
        (("--ablate", "--profile", "classic"), "multiplies"),
        (("--ablate", "--profile", "best"), "allowed: default"),
    ],
    ids=["both", "classic", "unknown"],
)
def test_what_cannot_be_asked_is_one_line_and_exit_code_2(corpus, index_dir, capsys, options, said):
    assert bench(corpus, index_dir, *options) == 2
    err = capsys.readouterr().err
    assert len(err.splitlines()) == 1
    assert said in err

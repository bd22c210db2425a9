"""What every signal says of a question's candidates, and what a ranking made of it is worth."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.judged_questions import PLANTED, SIGNALS, question, questions
from campaigns import examples
from sample_trees import write
from small_cases import each
from whence import Index
from whence.core.profiles import PROFILES, Weight
from whence.search import metrics
from whence_bench.search.features import FUSED, Asked, additive_signals, judge, load, ndcg, open_profile, ranking, save

FILES = {
    **{
        f"lib/part{number}.py": f"def parse_part_{number}(text):\n    '''Parse a part of the text.'''\n    return text\n"
        for number in range(15)
    },
    "lib/config.py": "def load_settings(path):\n    '''Read the settings from a file.'''\n    return parse(path)\n",
    "lib/network.py": "def open_socket(host):\n    '''Connect to a host over the network.'''\n    return host\n",
    "tests/test_config.py": "def test_settings_are_read_from_a_file():\n    assert load_settings('a')\n",
}
QUESTIONS = (
    ("parse a part of the text", ("lib/part7.py", "lib/part12.py")),
    ("read settings from a file", ("lib/config.py",)),
    ("connect over the network", ("lib/network.py", "lib/missing.py")),
    ("load_settings", ("lib/config.py", "tests/test_config.py")),
    ("nosuchword", ("lib/config.py",)),
)


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory):
    place = tmp_path_factory.mktemp("features")
    with Index.open(write(place / "tree", FILES), data_dir=place / "data") as opened:
        yield opened


def asked(query: str, wanted: tuple[str, ...]) -> Asked:
    return Asked("tree", "python", "semantic", query, wanted)


@each(("query", "wanted"), QUESTIONS)
@each("name", ["default", "semantic"])
def test_taken_apart_and_put_together_a_question_scores_as_its_search_does(index: Index, name: str, query: str, wanted: tuple[str, ...]):
    profile = PROFILES[name]
    judged = judge(index, open_profile(profile, list(profile.signals)), asked(query, wanted))
    found = [one.path for one in index.search(query, k=metrics.DEPTH, profile=name)]
    scores = {one.path: one.score for one in index.search(query, k=metrics.DEPTH, profile=name)}
    put_together = [judged.files[row] for row in ranking(judged, profile.signals)][: metrics.DEPTH]
    assert [scores[path] for path in found] == pytest.approx(sorted(scores.values(), reverse=True))
    assert len(put_together) == len(found)
    if len(set(scores.values())) == len(scores):  # equal scores are ordered by more than their signals
        assert put_together == found
        assert ndcg(judged, profile.signals) == pytest.approx(metrics.ndcg(wanted, found))


def test_every_signal_that_may_be_added_has_a_column(index: Index):
    names = additive_signals()
    assert not FUSED & set(names)
    judged = judge(index, open_profile(PROFILES["default"], names), asked(*QUESTIONS[0]))
    assert set(judged.signals) == set(names)
    assert judged.columns.shape == (len(judged.owner), len(names))
    assert np.isfinite(judged.columns).all()


def test_a_wanted_file_that_was_not_found_is_known_as_such(index: Index):
    judged = judge(index, open_profile(PROFILES["default"], ["unit"]), asked(*QUESTIONS[2]))
    assert [bool(rows) for rows in judged.wanted] == [True, False]
    assert ndcg(judged, {"unit": Weight(1.0, 1.0)}) < 1


def test_each_candidate_was_found_by_someone(index: Index):
    judged = judge(index, open_profile(PROFILES["default"], ["unit"]), asked(*QUESTIONS[0]))
    assert judged.found_by is not None
    assert judged.found_by.shape == (len(judged.owner), len(judged.retrievers))
    assert judged.found_by.any(axis=1).all()


# What a ranking is worth.


@settings(max_examples=examples(60), deadline=None)
@given(seed=st.integers(0, 10_000), files=st.integers(1, 30), length=st.sampled_from([0.0, 0.3, 1.0]), wanted=st.integers(1, 4))
def test_the_worth_of_a_ranking_is_the_measure_of_the_benchmark(seed: int, files: int, length: float, wanted: int):
    chance = np.random.default_rng(seed)
    one = question(chance, "ash", files=files, length=length)
    rows = chance.choice(files + 3, min(wanted, files), replace=False).tolist()  # the last ones were not found
    one = replace(one, wanted=tuple((row,) if row < files else () for row in rows))
    weights = np.array([PLANTED[name].at_length(length) for name in SIGNALS])
    best = (one.columns @ weights).reshape(files, -1).max(axis=1)
    returned = [f"file{row}.py" for row in np.argsort(-best, kind="stable")]
    assert ndcg(one, PLANTED) == pytest.approx(metrics.ndcg([f"file{row}.py" for row in rows], returned))


def test_a_question_that_wants_nothing_is_worth_nothing():
    one = replace(question(np.random.default_rng(0), "ash"), wanted=())
    assert ndcg(one, PLANTED) == 0.0


def test_a_question_without_candidates_is_worth_nothing():
    none = np.zeros((0, len(SIGNALS)), np.float32)
    one = question(np.random.default_rng(0), "ash")
    one = replace(one, columns=none, owner=np.zeros(0, np.int32), files=(), wanted=((),), found_by=np.zeros((0, 2), bool))
    assert ndcg(one, PLANTED) == 0.0
    assert ranking(one, PLANTED) == []


def test_without_a_retriever_what_it_alone_found_is_gone_and_the_rest_stays():
    one = question(np.random.default_rng(0), "ash", files=4, units=1)
    found_by = np.array([[1, 0], [1, 1], [0, 1], [0, 1]], bool)
    one = replace(one, found_by=found_by)
    assert set(ranking(one, PLANTED, without="meaning")) == {0, 1}
    assert set(ranking(one, PLANTED, without="words")) == {1, 2, 3}
    assert set(ranking(one, PLANTED, without="nobody")) == {0, 1, 2, 3}
    assert [row for row in ranking(one, PLANTED) if row in {0, 1}] == ranking(one, PLANTED, without="meaning")


# Kept in a file.


def test_judged_questions_come_back_as_they_were_saved(tmp_path: Path):
    judged = [replace(one, text="größe \udcff", files=(*one.files[:-1], "caf\udce9.py")) for one in questions(4, ("ash", "birch"))]
    save(judged, tmp_path / "judged.npz")
    for before, after in zip(judged, load(tmp_path / "judged.npz"), strict=True):
        for name in Judged_FIELDS:
            assert np.array_equal(getattr(before, name), getattr(after, name)), name


Judged_FIELDS = (
    "repository",
    "language",
    "category",
    "text",
    "length",
    "signals",
    "columns",
    "owner",
    "files",
    "wanted",
    "retrievers",
    "found_by",
)

"""Learning weights from judged questions: what was planted is found, and what is left out is never seen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

from bench.judged_questions import PLANTED, SIGNALS, question, questions
from whence.core.errors import UsageError
from whence.core.profiles import Weight
from whence.search.metrics import mean
from whence_bench.search.features import Judged, ndcg
from whence_bench.search.learning import learn, left_out, scored_apart

NOTHING: Mapping[str, Weight] = {}
REPOSITORIES = ("ash", "birch", "cedar")


def vector(weights: Mapping[str, Weight]) -> np.ndarray:
    return np.array([getattr(weights[name], side) for side in ("short", "long") for name in SIGNALS])


def alike(one: Mapping[str, Weight], other: Mapping[str, Weight]) -> float:
    """The cosine between two weightings."""
    a, b = vector(one), vector(other)
    return float(a @ b / (np.linalg.norm(a) * np.linalg.norm(b)))


def mean_ndcg(judged: list[Judged], weights: Mapping[str, Weight]) -> float:
    return mean([ndcg(one, weights) for one in judged])


# What is planted is found.


def test_a_planted_weighting_is_found_again_for_short_and_for_long_questions():
    found = learn(questions(600, REPOSITORIES), NOTHING, ridge=1.0)
    assert alike(found, PLANTED) > 0.98
    for side in ("short", "long"):
        assert abs(getattr(found["noise"], side)) < 0.3
        assert getattr(found["likeness"], side) > 0 > getattr(found["penalty"], side)


def test_learned_weights_rank_new_questions_about_as_well_as_the_planted_ones():
    found = learn(questions(400, REPOSITORIES), NOTHING)
    new = questions(200, REPOSITORIES, seed=7)
    assert mean_ndcg(new, found) > mean_ndcg(new, PLANTED) - 0.02
    assert mean_ndcg(new, found) > mean_ndcg(new, NOTHING) + 0.2


def test_wherever_learning_starts_it_ends_at_the_same_place():
    judged = [question(np.random.default_rng(seed), "ash", units=1) for seed in range(150)]
    wrong = {name: Weight(-5.0, 5.0) for name in SIGNALS}
    assert np.allclose(vector(learn(judged, NOTHING)), vector(learn(judged, wrong)), atol=0.02)


def test_the_unit_of_a_signal_does_not_matter():
    judged = questions(150, REPOSITORIES)
    factors = np.array([1000.0, 0.01, 1.0], np.float32)
    changed = learn([replace(one, columns=one.columns * factors) for one in judged], NOTHING)
    plain = learn(judged, NOTHING)
    assert np.allclose(vector(changed) * np.tile(factors, 2), vector(plain), rtol=0.02, atol=0.01)


def test_a_signal_that_is_the_same_for_all_gets_no_weight():
    judged = [
        replace(one, columns=np.column_stack([one.columns[:, :2], np.full(len(one.columns), 7.0)])) for one in questions(100, REPOSITORIES)
    ]
    found = learn(judged, {"noise": Weight(4.0, 4.0)})
    assert abs(found["noise"].short) < 0.05
    assert np.isfinite(vector(found)).all()


def test_more_restraint_means_smaller_weights():
    judged = questions(150, REPOSITORIES)
    sizes = [np.linalg.norm(vector(learn(judged, NOTHING, ridge=ridge))) for ridge in (0.5, 5, 50, 500)]
    assert sizes == sorted(sizes, reverse=True)


def test_a_question_that_is_worth_two_counts_as_two():
    judged = questions(60, REPOSITORIES)
    twice = learn(judged, NOTHING, worth=lambda one: 2.0)
    assert np.allclose(vector(twice), vector(learn([*judged, *judged], NOTHING)), atol=0.01)


def test_the_same_questions_give_the_same_weights():
    judged = questions(80, REPOSITORIES)
    assert learn(judged, NOTHING) == learn(judged, NOTHING)


def test_a_file_stands_for_its_best_unit():
    """Each wanted file has one good unit among bad ones: on average it is worse than the others."""
    chance, judged = np.random.default_rng(3), []
    for _ in range(200):
        one = question(chance, "ash", units=4)
        columns = one.columns * 0.1
        columns[one.wanted[0][0] * 4 : one.wanted[0][0] * 4 + 4, 0] = [3.0, -3.0, -3.0, -3.0]
        judged.append(replace(one, columns=columns))
    assert mean_ndcg(judged, learn(judged, {"likeness": Weight(0.1, 0.1)})) > 0.95


# Questions that teach nothing.


def without_answer(one: Judged) -> Judged:
    return replace(one, wanted=((),))


def without_candidates(one: Judged) -> Judged:
    none = np.zeros((0, len(SIGNALS)), np.float32)
    return replace(one, columns=none, owner=np.zeros(0, np.int32), files=(), wanted=((),), found_by=np.zeros((0, 2), bool))


@pytest.mark.filterwarnings("error")
def test_a_question_without_candidates_changes_nothing():
    judged = questions(60, REPOSITORIES)
    factors = np.array([1000.0, 0.01, 1.0], np.float32)  # weights that depend on how much each signal varies
    scaled = [replace(one, columns=one.columns * factors) for one in judged]
    assert learn([*scaled, without_candidates(judged[0])], NOTHING) == learn(scaled, NOTHING)


def test_a_question_whose_files_were_not_found_pulls_in_no_direction():
    judged = questions(100, REPOSITORIES)
    lost = [without_answer(one) for one in questions(20, REPOSITORIES, seed=5)]
    assert alike(learn([*judged, *lost], NOTHING), learn(judged, NOTHING)) > 0.999


def test_where_nothing_that_was_wanted_was_found_there_is_nothing_to_learn():
    lost = [without_answer(one) for one in questions(10, REPOSITORIES)]
    for judged in (lost, [without_candidates(one) for one in lost]):
        with pytest.raises(UsageError):
            learn(judged, NOTHING)


# Left out.


def test_the_weights_for_a_repository_are_learned_without_any_question_of_it():
    """Whatever its own questions say, to the last bit."""
    judged = questions(90, REPOSITORIES)
    reversed_ = {name: Weight(-weight.short, -weight.long) for name, weight in PLANTED.items()}
    for name in REPOSITORIES:
        others = questions(90, [name], reversed_, seed=9)
        changed = [*[one for one in judged if one.repository != name], *others]
        assert left_out(changed, NOTHING)[name] == left_out(judged, NOTHING)[name]


def test_there_are_weights_for_each_repository():
    assert set(left_out(questions(60, REPOSITORIES), NOTHING)) == set(REPOSITORIES)


def test_a_repository_unlike_the_others_is_scored_by_what_the_others_teach():
    reversed_ = {name: Weight(-weight.short, -weight.long) for name, weight in PLANTED.items()}
    odd = questions(60, ["odd"], reversed_, seed=4)
    judged = [*questions(200, REPOSITORIES), *odd]
    scores = scored_apart(judged, left_out(judged, NOTHING))
    of_odd = mean([score for one, score in zip(judged, scores, strict=True) if one.repository == "odd"])
    assert of_odd < mean_ndcg(odd, learn(odd, NOTHING)) - 0.3
    assert mean([score for one, score in zip(judged, scores, strict=True) if one.repository != "odd"]) > 0.6


def test_one_repository_alone_cannot_be_left_out():
    with pytest.raises(UsageError, match="two repositories"):
        left_out(questions(20, ["ash"]), NOTHING)

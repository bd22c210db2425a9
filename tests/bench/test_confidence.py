"""The benchmark of "not here": what it asks, what it learns, and what it reports of made and of real repositories."""

from __future__ import annotations

import json
import random
from xml.etree import ElementTree as ET

import pytest

from sample_trees import write
from whence.core.errors import UsageError
from whence.ranking.confidence import WEIGHTS, ConfidenceFeatures
from whence_bench.search import confidence as benchmark
from whence_bench.search import confidence_plot, corpus

TREES = {
    "letters": {
        "post/envelope.py": 'class EnvelopePrinter:\n    """Prints addresses on envelopes."""\n    def print_address(self, street, city): ...\n',
        "post/stamp.py": 'def stamp_price(weight):\n    """What a stamp costs for a letter of some weight."""\n    return weight * 2\n',
    },
    "garden": {
        "plants/seed.py": 'class SeedDrawer:\n    """Keeps seeds of vegetables dry until spring."""\n    def sow_row(self, depth): ...\n',
        "plants/water.py": 'def water_beds(hours):\n    """Open the valve of the sprinkler for some hours."""\n    return hours\n',
    },
}
QUESTIONS = {
    "letters": [
        ("how is an address printed on envelopes by EnvelopePrinter", "post/envelope.py", "architecture"),
        ("stamp_price", "post/stamp.py", "symbol"),
        ("what a stamp costs for a letter", "post/stamp.py", "semantic"),
    ],
    "garden": [
        ("where SeedDrawer keeps seeds of vegetables", "plants/seed.py", "architecture"),
        ("water_beds", "plants/water.py", "symbol"),
        ("open the valve of the sprinkler", "plants/water.py", "semantic"),
    ],
}


@pytest.fixture
def loaded(tmp_path_factory):
    place = tmp_path_factory.mktemp("corpus")
    write(place, {"repos.json": json.dumps([{"name": name, "language": "python"} for name in TREES])})
    for name, files in TREES.items():
        write(place / "repos" / name, files)
        tasks = [{"query": query, "relevant": [path], "category": category} for query, path, category in QUESTIONS[name]]
        write(place / "annotations", {f"{name}.json": json.dumps(tasks)})
    return corpus.load(place)


def test_a_corpus_is_asked_its_own_questions_and_those_of_others_and_the_shipped_weights_tell_them_apart(loaded, tmp_path):
    seen: list[int] = []
    found = benchmark.run(loaded, tmp_path, lambda done, _of: seen.append(done), apart=False, line=0.3)
    assert seen == [0, 1, 2]
    assert found["questions"][benchmark.OWN] == 6
    assert found["questions"][benchmark.LANGUAGE] == 6
    assert found["questions"][benchmark.FOREIGN] == 2 * len(benchmark.FOREIGN_QUESTIONS)
    assert (found["at_the_line"]["alarms"], found["at_the_line"]["caught"]) == (0.0, 1.0)
    text = benchmark.as_text(found)
    assert "weights as shipped, line 0.30" in text
    assert "OK" in text
    page = confidence_plot.as_markdown(found)
    assert "| all | 6 | 0.000 | 1.000 |" in page
    drawing = ET.fromstring(confidence_plot.as_svg(found))
    assert drawing.tag.endswith("svg")


def test_a_name_that_both_repositories_define_is_no_question_without_an_answer(loaded, tmp_path):
    write(loaded.repositories[0].root, {"post/rain.py": "def water_beds(): ...\n"})
    cases = benchmark.collect(loaded, tmp_path, lambda *_: None)
    kinds = {(one.repository, one.text): one.kind for one in cases}
    assert kinds["letters", "water_beds"] == benchmark.DEFINED
    assert kinds["garden", "stamp_price"] == benchmark.LANGUAGE


def made(repository, here, likeness, seed):
    """A case as a tree would give it: answers are nearer and share more words, with some chance in it."""
    chance = random.Random(f"{repository} {here} {seed}")
    share = min(max(likeness + chance.gauss(0, 0.12), 0), 1)
    facts = ConfidenceFeatures(share, share, share, share, share, share / 2, 0.0, 0.0, 0.0, chance.random())
    return benchmark.Case(
        repository, repository if here else "other", "semantic", benchmark.OWN if here else benchmark.ELSEWHERE, "", here, facts
    )


@pytest.fixture
def cases():
    return [made(f"tree {tree}", here, 0.7 if here else 0.3, seed) for tree in range(4) for here in (True, False) for seed in range(60)]


def test_probabilities_learned_without_the_repository_asked_are_kept_as_promised(cases):
    chances = benchmark.left_out(cases)
    found = benchmark.figures(cases, chances, 0.5)
    assert found["calibration_error"] < 0.06
    assert found["at_the_line"]["caught"] > 0.9
    assert found["at_the_line"]["alarms"] < 0.1
    assert [point["alarms"] for point in found["roc"]] == sorted(point["alarms"] for point in found["roc"])
    assert all(point["alarms"] <= allowed for point, allowed in zip(found["roc"], benchmark.ALARMS, strict=True))
    assert sum(row["questions"] for row in found["reliability"]) == len(cases)


def test_a_repository_has_no_part_in_its_own_weights(cases):
    odd = [made("tree 0", here, 0.3 if here else 0.7, seed) for here in (True, False) for seed in range(60)]  # the other way round
    others = [one for one in cases if one.repository != "tree 0"]
    mine = benchmark.left_out([*odd, *others])[: len(odd)]
    assert mine == benchmark.chances(odd, benchmark.learn_both(others))


def test_what_cannot_be_known_is_not_learned_from(cases):
    right = benchmark.learn_both(cases)
    answerable = [made("tree 9", False, 0.9, seed) for seed in range(50)]
    same_field = [benchmark.Case(one.repository, one.source, "semantic", benchmark.FIELD, "", False, one.facts) for one in answerable]
    nothing_found = [benchmark.Case("tree 9", "other", "semantic", benchmark.ELSEWHERE, "", False, None)]
    assert benchmark.learn_both([*cases, *same_field, *nothing_found]) == right
    assert benchmark.chances(nothing_found, right) == [0.0]


def test_a_corpus_counts_like_as_many_questions_as_it_is_told(cases):
    assert sum(one.worth for one in benchmark.counting_like(cases, 600) if one.here) == pytest.approx(600)


def test_one_repository_alone_has_no_questions_without_an_answer(cases):
    with pytest.raises(UsageError, match="not both questions"):
        benchmark.learn_both([one for one in cases if one.here])


def test_made_up_names_are_put_together_from_names_that_are_spoken_of():
    assert benchmark.made_up_names(["how StrCat joins", "flat_hash_map and StrSplit", "plain words"]) == ["StrMap", "FlatSplit"]


def test_shipped_weights_have_every_fact_and_no_other():
    shipped = json.loads(WEIGHTS.read_text(encoding="utf-8"))
    assert set(shipped["meaning"]) == {*benchmark.BY_MEANING, "constant"}
    assert set(shipped["words"]) == {*benchmark.BY_WORDS, "constant"}
    assert 0 < shipped["similarity"]["chance"] < shipped["similarity"]["answers"] < 1

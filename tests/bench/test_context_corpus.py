"""The context benchmark on disk: what is read, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from whence.core.errors import UsageError
from whence_bench.context.corpus import load

TASK = """id: {name}
repo: {repository}
tier: easy
description: "Where is the {name} opened?"
source: manual
ground_truth:
  - Door
  - Door.open
tags: [doors]
"""


def write(directory: Path, path: str, text: str) -> None:
    (directory / path).parent.mkdir(parents=True, exist_ok=True)
    (directory / path).write_text(text)


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """Two repositories with three tasks, one of them in a folder that is named for no repository."""
    write(tmp_path, "repos.json", json.dumps([{"name": "house", "language": "Python", "revision": "0"}, {"name": "barn"}]))
    write(tmp_path, "repos/house/door.py", "class Door:\n    def open(self):\n        return 1\n")
    write(tmp_path, "repos/barn/gate.py", "def gate():\n    return 1\n")
    write(tmp_path, "tasks/house/easy/window.yaml", TASK.format(name="window", repository="house"))
    write(tmp_path, "tasks/barn/easy/gate.yaml", TASK.format(name="gate", repository="barn"))
    write(tmp_path, "tasks/cross/door.yaml", TASK.format(name="door", repository="house"))
    return tmp_path


def test_a_task_belongs_to_the_repository_that_it_names_wherever_it_lies(corpus: Path):
    house = load(corpus).repositories[0]
    assert [task.name for task in house.tasks] == ["door", "window"]
    assert (house.name, house.language, house.root) == ("house", "Python", corpus / "repos" / "house")


def test_a_task_has_a_description_a_tier_and_wanted_names(corpus: Path):
    task = load(corpus).repositories[0].tasks[0]
    assert (task.tier, task.description, task.wanted) == ("easy", "Where is the door opened?", ("Door", "Door.open"))


def test_only_the_named_repositories_are_loaded(corpus: Path):
    assert [one.name for one in load(corpus, ("barn",)).repositories] == ["barn"]


def test_an_unknown_repository_is_refused_and_the_known_ones_are_named(corpus: Path):
    with pytest.raises(UsageError, match="house, barn"):
        load(corpus, ("castle",))


def test_a_listed_repository_without_a_folder_or_without_tasks_is_named_as_missing(corpus: Path):
    listed = json.loads((corpus / "repos.json").read_text())
    write(corpus, "repos.json", json.dumps([*listed, {"name": "tower"}, {"name": "shed"}]))
    write(corpus, "repos/shed/a.py", "x = 1\n")
    write(corpus, "tasks/tower.yaml", TASK.format(name="stairs", repository="tower"))
    assert load(corpus).missing == ("tower", "shed")


def test_tasks_of_repositories_that_are_not_listed_are_left_out(corpus: Path):
    write(corpus, "tasks/castle.yaml", TASK.format(name="moat", repository="castle"))
    assert [one.name for one in load(corpus).repositories] == ["house", "barn"]


def test_a_folder_that_is_no_corpus_is_refused_with_the_command_that_makes_one(tmp_path: Path):
    with pytest.raises(UsageError, match="bench fetch context"):
        load(tmp_path)


def test_a_corpus_without_any_repository_in_place_is_refused(corpus: Path):
    write(corpus, "repos.json", json.dumps([{"name": "castle"}]))
    with pytest.raises(UsageError, match="no listed repository is there"):
        load(corpus)


@pytest.mark.parametrize(
    ("path", "text", "said"),
    [
        ("repos.json", "[{}]", "not a list of repositories"),
        ("repos.json", "7", "not a list of repositories"),
        ("repos.json", "{", "cannot be read as JSON"),
        ("tasks/a.yaml", "id: [", "cannot be read as YAML"),
        ("tasks/a.yaml", "!!python/object/apply:os.getcwd []", "cannot be read as YAML"),
        ("tasks/a.yaml", "- a list", "not a task"),
        ("tasks/a.yaml", "id: a\nrepo: house\ntier: easy\n", "not a task"),
        ("tasks/a.yaml", "id: a\nrepo: house\ntier: easy\ndescription: d\nground_truth:\n", "not a task"),
        ("tasks/a.yaml", "", "not a task"),
    ],
    ids=["no name", "no list", "no json", "broken", "an object", "a list", "no description", "no names", "empty"],
)
def test_what_cannot_be_read_is_one_line_that_names_the_file(corpus: Path, path: str, text: str, said: str):
    write(corpus, path, text)
    with pytest.raises(UsageError, match=said) as caught:
        load(corpus)
    assert path in caught.value.message
    assert "\n" not in caught.value.message

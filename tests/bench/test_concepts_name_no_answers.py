"""The shipped classes are general knowledge: they name no more of a benchmark's answers than common names do (B6).

Chance is what as many names name that were drawn from unrelated code bases: the standard
library as one, and each installed package. Those are Python, so a target that only other
languages use has nothing to be compared with, and counts in full against the same bar.
"""

from __future__ import annotations

import random
import re
import statistics
import sysconfig
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from sample_trees import SOURCES
from whence.query.concepts import is_generic, load_concepts, name_key
from whence.text.analyzer import parts
from whence_bench.context.corpus import read_yaml
from whence_bench.context.metrics import canonical

TASKS = SOURCES.parents[1] / "shared" / "bench" / "context" / "tasks"
STANDARD_LIBRARY = Path(sysconfig.get_paths()["stdlib"])
INSTALLED = Path(sysconfig.get_paths()["purelib"])
NOT_A_CODE_BASE = {"test", "tests", "site-packages", "lib2to3", "idlelib", "__pycache__", "whence"}
#: A pattern and not the parser: 25,000 names of whole code bases in seconds, where a parsed sample is too small to draw from.
DEFINITION = re.compile(rb"^[ \t]*(?:async )?(?:def|class) (\w+)", re.MULTILINE)
DRAWS = 500


def last(name: str) -> str:
    """The last component of a name, without type parameters."""
    return re.sub(r"<.*?>", "", name.replace("::", ".")).rpartition(".")[2]


def source_files(place: Path) -> Iterator[Path]:
    for path in [place] if place.suffix == ".py" else sorted(place.rglob("*.py")):
        if not NOT_A_CODE_BASE & set(path.relative_to(place.parent).parts):
            yield path


def names_defined(place: Path) -> set[str]:
    """The names that a code base defines for others, as targets are compared."""
    found = {name.decode(errors="ignore") for path in source_files(place) for name in DEFINITION.findall(path.read_bytes())}
    return {name_key(name) for name in found if not is_generic(name) and (name.startswith("__") or not name.startswith("_"))}


@pytest.fixture(scope="module")
def answers() -> Counter[str]:
    """How often a task of the benchmark wants a symbol of each name."""
    pytest.importorskip("yaml", reason="the tasks of the context benchmark are YAML")
    if not TASKS.is_dir():
        pytest.skip("the tasks of the context benchmark are not beside the repository")
    wanted = [str(name) for path in sorted(TASKS.rglob("*.yaml")) for name in read_yaml(path)["ground_truth"]]
    return Counter(name_key(last(canonical(name))) for name in wanted)


@pytest.fixture(scope="module")
def commonness(answers) -> Counter[str]:
    """In how many code bases each name is defined."""
    found: Counter[str] = Counter()
    for package in sorted(path for path in INSTALLED.iterdir() if path.is_dir()):
        found.update(names_defined(package))
    found.update({name for part in STANDARD_LIBRARY.iterdir() for name in names_defined(part)})
    return found


@pytest.fixture(scope="module")
def ours() -> dict[str, str]:
    """Every target by the form in which it is compared."""
    return {name_key(last(target)): last(target) for concept in load_concepts() for target in concept.targets}


def share_named(names: set[str], answers: Counter[str]) -> float:
    return sum(times for name, times in answers.items() if name in names) / answers.total()


def bar(shares: list[float]) -> float:
    return statistics.mean(shares) + 3 * statistics.stdev(shares)


def test_the_classes_name_no_more_answers_than_common_names_do(answers, commonness, ours):
    pool = sorted(name for name, bases in commonness.items() if bases > 1)
    assert len(pool) > 2 * len(ours), "too few names to draw from: every draw would be the same"
    draw = random.Random(20_261)
    chance = [share_named(set(draw.sample(pool, len(ours))), answers) for _ in range(DRAWS)]
    share = share_named(set(ours), answers)
    assert share <= bar(chance), (
        f"{share:.4f} of {answers.total()} answers; by chance {statistics.mean(chance):.4f}, at most {bar(chance):.4f}"
    )


def test_targets_that_other_code_has_name_no_more_answers_than_names_as_common(answers, commonness, ours):
    known = {name for name in ours if commonness[name]}
    alike: defaultdict[int, list[str]] = defaultdict(list)
    for name in sorted(commonness):
        alike[commonness[name]].append(name)
    needed = Counter(commonness[name] for name in known)
    draw = random.Random(20_262)
    chance = [
        share_named({name for bases, times in needed.items() for name in draw.sample(alike[bases], times)}, answers) for _ in range(DRAWS)
    ]
    share = share_named(known, answers)
    assert share <= bar(chance), (
        f"{share:.4f} of {answers.total()} answers; by chance {statistics.mean(chance):.4f}, at most {bar(chance):.4f}"
    )


def test_a_target_of_three_words_that_is_an_answer_is_a_name_that_other_code_has(answers, commonness, ours):
    assert [name for key, name in ours.items() if len(parts(name)) > 2 and key in answers and not commonness[key]] == []


def test_a_list_written_from_the_answers_would_be_caught(answers, commonness, ours):
    """The bar can be failed: half of the answers, as a dictionary written by hand would have them, lie far above it."""
    pool = sorted(name for name, bases in commonness.items() if bases > 1)
    draw = random.Random(20_263)
    chance = [share_named(set(draw.sample(pool, len(ours))), answers) for _ in range(DRAWS)]
    written = set(draw.sample(sorted(answers), len(answers) // 2))
    assert share_named(written, answers) > 2 * bar(chance)

"""Hostile input: a small run of every target finds nothing, and one that fails is told with what it takes to repeat it."""

from __future__ import annotations

import base64
import signal
import time
from pathlib import Path

import pytest

from whence_bench.faults import fuzz, fuzz_engine
from whence_bench.faults.fuzz_engine import Current, Engine, Target
from whence_bench.faults.fuzz_targets import BY_NAME, TARGETS
from whence_bench.faults.part import Bounds

SEEDS = Path(__file__).parents[2] / "fuzz_seeds"


def bounds(place: Path, seconds: float = 60.0) -> Bounds:
    return Bounds(place, seconds, seed=1, small=True, tell=lambda line: None)


def tried(target: Target, place: Path, executions: int = 3_000):
    return Engine(target, target.make(place), 1, Current(place / "current", new=True)).run(executions, 30.0, 1)


def test_a_small_run_tries_every_target_and_finds_nothing(tmp_path):
    part = fuzz.run(bounds(tmp_path))
    assert part.wrong == ()
    assert set(part.facts["executions"]) == {target.name for target in TARGETS}
    assert all(part.facts["edges"][target.name] > 20 for target in TARGETS)
    assert part.tried == sum(part.facts["executions"].values()) > sum(target.small for target in TARGETS) / 2


@pytest.mark.parametrize("path", sorted(SEEDS.glob("*.input")), ids=lambda path: path.stem)
def test_what_once_failed_is_refused_or_read(path, tmp_path):
    name = path.stem.rpartition("-")[0].replace("_", " ")
    assert fuzz.replay(name, path.read_bytes(), tmp_path) is None


def _picky(_: Path):
    """Fails where three comparisons one after the other come out right: without a look at lines nobody finds that."""

    def read(data: bytes) -> None:
        text = data.decode("utf-8", "replace")
        for at, letter in enumerate("w\u00fc!"):
            if text[at : at + 1] != letter:
                return
        raise KeyError(text)

    return read


def test_an_input_deep_inside_is_found_and_made_small(tmp_path):
    target = Target("picky", _picky, (__file__,), (b"hello",), (b"w", "\u00fc".encode(), b"!"))
    found = tried(target, tmp_path, 20_000)
    assert len(found.wrong) == 1
    assert "KeyError" in found.wrong[0]
    assert base64.b64decode(found.wrong[0].rpartition(": ")[2]).decode() == "w\u00fc!"
    assert found.kept >= 2


def test_a_hang_and_time_without_measure_are_failures(tmp_path, monkeypatch):
    monkeypatch.setattr(fuzz_engine, "HANGS", 0.1)

    def sleepless(data: bytes) -> None:
        begun = time.process_time()
        while b"x" in data[:8] and time.process_time() - begun < 0.3:
            pass

    def squared(data: bytes) -> None:
        begun = time.thread_time()
        while len(data) > 10_000 and time.thread_time() - begun < (len(data) / 100_000) ** 6 * 0.4:
            pass

    found = tried(Target("sleepless", lambda _: sleepless, (), (b"abc",), (b"x",), grows=False), tmp_path, 20)
    assert found.wrong[0].startswith("sleepless: hangs at ")
    found = tried(Target("squared", lambda _: squared, (), (b"ab",)), tmp_path, 200)
    assert "more than 8.0 times as long as for half of them" in found.wrong[0]


def test_a_target_that_kills_its_process_is_told_with_its_input_and_the_others_go_on(tmp_path, monkeypatch):
    """The process is a real one: a target's module is found by name in a file that stands before it."""
    (tmp_path / "sitecustomize.py").write_text(
        "import os, signal\n"
        "import whence.text.analyzer as tokens\n"
        "words = tokens.words\n"
        "def deadly(text):\n"
        "    if 'client' in text and os.environ.get('PYTHONHASHSEED') == '0':\n"
        "        os.kill(os.getpid(), signal.SIGSEGV)\n"
        "    return words(text)\n"
        "tokens.words = deadly\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    place = tmp_path / "place"
    place.mkdir()
    part = fuzz.run(bounds(place, 30.0), [BY_NAME["tokens"], BY_NAME["spans"]])
    assert part.facts["executions"]["spans"] >= BY_NAME["spans"].small
    assert len(part.wrong) == fuzz.MOST_DEATHS
    assert f"dies of {signal.SIGSEGV.name}" in part.wrong[0]
    assert b"client" in base64.b64decode(part.wrong[0].rpartition(": ")[2])


def test_the_same_seed_finds_the_same(tmp_path):
    _, one, other = (tried(BY_NAME["spans"], tmp_path, 600) for _ in range(3))  # the first loads what is loaded once
    assert (one.executions, one.edges, one.kept) == (other.executions, other.edges, other.kept)

"""A trace: one line of JSON for each stage of a query, and nothing where none is wanted (E2)."""

from __future__ import annotations

import io
import json
import math
from pathlib import Path

import pytest

from sample_trees import whence, write
from whence import Index
from whence.core.profiles import PROFILES
from whence.core.trace import TOP, Trace

FILES = {f"part_{n:02}.py": f"def alpha_{n}(beta):\n    return beta\n" for n in range(30)}


def stages(text: str) -> list[dict]:
    return [json.loads(line) for line in text.splitlines()]


def traced(root: Path, query: str, **options: object) -> list[dict]:
    stream = io.StringIO()
    with Index.open(write(root, FILES), trace=Trace(stream)) as index:
        index.search(query, **options)  # type: ignore[arg-type]
    return stages(stream.getvalue())


@pytest.mark.parametrize("profile", sorted(PROFILES))
def test_every_stage_is_one_line_from_the_retrievers_to_the_answer(tmp_path, profile):
    names = [stage["stage"] for stage in traced(tmp_path, "alpha beta", profile=profile)]
    assert names[:3] == ["retrieved by words", "retrieved by windows", "retrieved by paths"]
    assert {name.removeprefix("after ") for name in names if name.startswith("after ")} == {
        name for name, weight in PROFILES[profile].signals.items() if weight.short
    }
    assert names[-1] == "final"


def test_each_stage_holds_its_twenty_best_and_says_how_many_there_were(tmp_path):
    for stage in traced(tmp_path, "alpha beta"):
        assert stage["query"] == "alpha beta"
        assert len(stage["top"]) == min(TOP, stage["count"])
        assert all(set(one) == {"path", "line", "score"} for one in stage["top"])
        scores = [one["score"] for one in stage["top"]]
        assert scores == sorted(scores, reverse=True)


def test_the_last_stage_is_the_answer(tmp_path):
    final = traced(tmp_path, "alpha beta", k=10)[-1]
    with Index.open(tmp_path) as index:
        results = index.search("alpha beta", k=10)
    assert [one["path"] for one in final["top"]][:10] == [result.path for result in results]
    assert [one["score"] for one in final["top"]][:10] == [pytest.approx(result.score, abs=1e-5) for result in results]
    assert final["not_finite"] == 0


def test_numbers_that_json_does_not_know_are_written_as_null():
    stream = io.StringIO()
    Trace(stream).stage("final", "q", [("a.py", 1, math.nan), ("b.py", 1, math.inf), ("c.py", 1, -math.inf)])

    def refuse(name: str) -> None:
        raise AssertionError(name)

    assert [one["score"] for one in json.loads(stream.getvalue(), parse_constant=refuse)["top"]] == [None, None, None]


def test_there_is_no_trace_unless_it_is_asked_for(tmp_path):
    done = whence("search", "alpha", cwd=write(tmp_path, FILES))
    assert (done.returncode, done.stderr) == (0, "")


def test_trace_writes_to_the_file_it_is_given(tmp_path):
    write(tmp_path / "tree", FILES)
    done = whence("search", "alpha", "--trace", "../trace.jsonl", cwd=tmp_path / "tree")
    assert (done.returncode, done.stderr) == (0, "")
    assert stages((tmp_path / "trace.jsonl").read_text())[-1]["stage"] == "final"


def test_the_variable_writes_to_standard_error(tmp_path):
    done = whence("search", "alpha", "-l", cwd=write(tmp_path, FILES), WHENCE_TRACE="1")
    assert stages(done.stderr)[-1]["stage"] == "final"
    assert all(line.endswith(".py") for line in done.stdout.splitlines())


@pytest.mark.parametrize("value", ["", "0"])
def test_the_variable_can_say_no(tmp_path, value):
    assert whence("search", "alpha", cwd=write(tmp_path, FILES), WHENCE_TRACE=value).stderr == ""


def test_a_trace_that_cannot_be_written_is_refused_in_one_line(tmp_path):
    done = whence("search", "alpha", "--trace", "missing/trace.jsonl", cwd=write(tmp_path, FILES))
    assert done.returncode == 2
    assert done.stderr.startswith("whence: --trace missing/trace.jsonl: ")
    assert done.stderr.count("\n") == 1

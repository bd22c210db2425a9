"""Running the peer of the context benchmark: a command that notes how it was called stands at its place."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from whence.core.errors import StorageError, UsageError
from whence_bench.context.knowing import Knowing, find_knowing

COMMAND = """#!{python}
import json, os, sys
with open(os.path.expanduser("~/calls"), "a") as calls:
    calls.write(json.dumps([sys.argv[1:], sorted(name for name in os.environ if name.startswith("KNOWING_"))]) + "\\n")
sum(range(400_000))
if sys.argv[1] == "context":
    print({answer!r})
"""
ANSWER = json.dumps({"symbols": [{"qualified_name": "bench/ash:///x/a.py.Door.open"}, {"qualified_name": "Wall"}]})


def peer(tmp_path: Path, answer: str = ANSWER) -> Knowing:
    command = tmp_path / "command"
    command.write_text(COMMAND.format(python=sys.executable, answer=answer))
    command.chmod(0o755)
    home = tmp_path / "home"
    home.mkdir()
    return find_knowing(str(command), home)


def calls(tmp_path: Path) -> list[tuple[list[str], list[str]]]:
    return [tuple(json.loads(line)) for line in (tmp_path / "home" / "calls").read_text().splitlines()]


def test_both_passes_of_an_index_are_timed_and_speak_of_the_same_repository(tmp_path: Path):
    found = peer(tmp_path).index("ash", tmp_path)
    assert found.index > 0
    assert found.resolver > 0
    assert found.cpu == found.index + found.resolver
    (first, _), (second, _) = calls(tmp_path)
    assert first[:2] == ["index", "-no-enrich"]
    assert second[:2] == ["enrich", "resolver"]
    assert first[2:] == second[2:] == ["-db", str(tmp_path / "home" / "ash.db"), "-url", "bench/ash", str(tmp_path)]


def test_names_come_in_the_order_of_the_answer_with_the_time_of_the_process(tmp_path: Path):
    names, spent = peer(tmp_path).context("ash", "open the door")
    assert names == ["bench/ash:///x/a.py.Door.open", "Wall"]
    assert spent.cpu > 0
    assert calls(tmp_path)[0][0][3:5] == ["-task", "open the door"]


def test_settings_of_the_user_do_not_reach_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("KNOWING_DB", "mine.db")
    peer(tmp_path).context("ash", "open the door")
    assert calls(tmp_path)[0][1] == []


def test_an_answer_without_symbols_is_empty(tmp_path: Path):
    assert peer(tmp_path, '{"symbols": null}').context("ash", "open the door")[0] == []


@pytest.mark.parametrize("answer", ["no json", "[]", '{"symbols": [7]}', '{"symbols": [{}]}'])
def test_an_answer_that_cannot_be_read_is_an_error_that_shows_it(tmp_path: Path, answer: str):
    with pytest.raises(StorageError, match="cannot be read"):
        peer(tmp_path, answer).context("ash", "open the door")


def test_a_command_that_does_not_exist_is_refused_with_where_to_get_it(tmp_path: Path):
    with pytest.raises(UsageError, match="npm pack"):
        find_knowing(str(tmp_path / "nothing"), tmp_path)

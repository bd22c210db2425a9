"""What a task needs: the contract of the answer (A1), the same for the same code (P4), true to its receipt (E1)."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import pytest

from context.mail_tree import FILES, TASK, answer, folded, mail_tree, names, place
from hindrances import environment
from sample_trees import write
from small_cases import each
from whence import Index
from whence.context.pack import ContextPack
from whence.context.request import ContextOptions, ContextRequest
from whence.core.errors import QueryError, StorageError, UsageError
from whence.text import token_estimate

TASKS = [
    TASK,
    "messages that wait",
    "Client.send",
    "where are dates?",
    "fix the crash when `save_message` has no file",
    "tests of the client",
]
PROFILES = ["default", "classic"]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return mail_tree(tmp_path_factory.mktemp("context") / "tree")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("data")


@pytest.fixture(scope="module")
def index(root: Path, data: Path) -> Iterator[Index]:
    with Index.open(root, data_dir=data) as opened:
        yield opened


# The contract.
def test_the_symbols_that_the_task_speaks_of_come_first(index):
    assert set(names(index.context(TASK))[:2]) == {"Client.send", "wait_between"}
    assert names(index.context("Client.send"))[0] == "Client.send"
    assert names(index.context("write messages to disk"))[0] == "save_message"


def test_every_symbol_has_its_name_place_kind_score_and_reasons(index):
    symbols = {one.qualified_name: one for one in index.context(TASK).symbols}
    send = symbols["Client.send"]
    assert (send.path, send.start_line, send.end_line, send.kind) == ("mail/client.py", 15, 22, "method")
    assert send.key == "mail/client.py#Client.send"
    assert symbols["LONGEST_WAIT"].kind == "constant"
    assert "words" in send.found_by
    assert all(line.because for line in send.why)


@each("profile", PROFILES)
@each("task", TASKS)
def test_every_score_is_the_fold_of_its_reasons_and_no_symbol_stands_above_a_better_one(index, task, profile):
    symbols = index.context(task, profile=profile).symbols
    assert symbols
    for one in symbols:
        assert folded(one) == pytest.approx(one.score, abs=1e-12)
    scores = [round(one.score, 9) for one in symbols]
    assert scores == sorted(scores, reverse=True)


@pytest.mark.parametrize("asked", [{"files": ["mail/queue.py"]}, {"files": ["mail"]}])
def test_scores_around_files_are_the_fold_of_their_reasons_too(index, asked):
    for one in index.context(**asked).symbols:
        assert folded(one) == pytest.approx(one.score, abs=1e-12)


def test_all_symbols_are_ranked_whatever_the_budget(index):
    small, large = index.context(TASK, budget=150), index.context(TASK, budget=50_000)
    assert answer(small) == answer(large)
    assert len(small.text) < len(large.text)


def test_each_symbol_is_there_once(index):
    keys = [one.key for one in index.context(TASK).symbols]
    assert len(keys) == len(set(keys))


def test_no_test_is_among_them_unless_the_task_speaks_of_tests(index):
    assert not [one for one in index.context(TASK).symbols if one.path.startswith("tests/")]
    assert "tests/test_client.py" in [one.path for one in index.context("tests of the client").symbols]


def test_what_a_match_calls_is_found_through_the_graph(index):
    found = {one.qualified_name: one.found_by for one in index.context("Client.send").symbols}
    assert "graph" in found["wait_between"]
    assert place(index.context("Client.send"), "wait_between") < len(found)


def test_tokens_and_what_is_left_out_are_of_the_text(index):
    pack = index.context(TASK, budget=200)
    assert token_estimate.count_tokens(pack.text) == pack.tokens <= 200
    keys = [one.key for one in pack.symbols]
    assert pack.left_out
    assert set(pack.left_out) < set(keys)
    assert f"{len(pack.left_out)} left out" in pack.text
    for key in pack.left_out:
        assert f" {key.partition('#')[2]}`" not in pack.text


def test_nothing_is_left_out_when_all_fits(index):
    pack = index.context(TASK)
    assert pack.left_out == []
    assert "0 left out" in pack.text


def test_the_text_shows_source_as_it_is_in_the_file(index, root):
    source = (root / "mail/retry.py").read_text(encoding="utf-8")
    assert source[source.index("def wait_between") :] in index.context(TASK).text


def test_fewer_symbols_are_chosen_from_when_that_is_asked_for(index):
    assert "1 with body" in index.context(TASK, symbols=1).text


# Refusals.
@each(
    ("asked", "complaint"),
    [
        ({}, "there is no task"),
        ({"task": " \t\n"}, "there is no task"),
        ({"task": TASK, "files": ["mail"]}, "exclude each other"),
        ({"task": TASK, "diff": "HEAD"}, "exclude each other"),
        ({"files": ["mail"], "diff": "HEAD"}, "exclude each other"),
        ({"task": TASK, "files": ["mail"], "diff": "HEAD"}, "exclude each other"),
        ({"task": TASK, "profile": "semantic"}, "default, classic"),
        ({"task": TASK, "format": "html"}, "markdown, xml, json"),
        ({"task": TASK, "budget": 0}, "budget"),
        ({"task": TASK, "budget": -5}, "budget"),
        ({"task": TASK, "budget": True}, "budget"),
        ({"task": TASK, "budget": 1.5}, "budget"),
        ({"task": TASK, "symbols": 0}, "symbols"),
    ],
)
def test_what_cannot_be_answered_is_refused_before_any_work(index, asked, complaint):
    with pytest.raises(UsageError, match=complaint):
        index.context(**asked)


def test_every_option_is_a_keyword_of_a_call():
    assert {"task", *ContextOptions.__annotations__} == {field.name for field in fields(ContextRequest)}


def test_an_unknown_option_is_a_plain_type_error(index):
    with pytest.raises(TypeError, match="depth"):
        index.context(TASK, depth=3)


def test_a_budget_too_small_says_the_least_and_that_one_is_enough(index):
    with pytest.raises(UsageError, match="too small") as refusal:
        _ = index.context(TASK, budget=10).text
    least = int(refusal.value.hint.split()[-1])
    assert index.context(TASK, budget=least).tokens <= least
    with pytest.raises(UsageError, match="too small"):
        _ = index.context(TASK, budget=least - 1).text


def test_the_ranking_can_be_had_though_the_budget_is_too_small_for_a_text(index):
    assert "wait_between" in names(index.context(TASK, budget=10))[:2]


def test_a_closed_index_answers_nothing(tmp_path):
    index = Index.open(mail_tree(tmp_path / "tree"), data_dir=tmp_path / "data")
    index.close()
    with pytest.raises(StorageError):
        index.context(TASK)


# The same question, the same answer.
def everything(pack: ContextPack) -> tuple[object, str]:
    return answer(pack), pack.text


@pytest.mark.parametrize("profile", PROFILES)
def test_the_same_question_has_the_same_answer_in_one_process(index, root, data, profile):
    asked = [everything(index.context(task, profile=profile)) for task in TASKS]
    assert [everything(index.context(task, profile=profile)) for task in TASKS] == asked
    with Index.open(root, data_dir=data) as other:
        assert [everything(other.context(task, profile=profile)) for task in reversed(TASKS)] == asked[::-1]


SCRIPT = """
import json, sys
from whence import Index
with Index.open(sys.argv[1], data_dir=sys.argv[2]) as index:
    for task in json.loads(sys.argv[3]):
        for profile in ("default", "classic"):
            pack = index.context(task, profile=profile)
            print(json.dumps([[one.key, one.score.hex(), [line.contribution.hex() for line in one.why]] for one in pack.symbols]))
            print(pack.text)
    print(index.context(files=["mail/queue.py"]).text)
"""


def in_a_process_of_its_own(root: Path, data: Path, seed: str) -> bytes:
    command = [sys.executable, "-c", SCRIPT, str(root), str(data), json.dumps(TASKS)]
    return subprocess.run(command, env=environment(PYTHONHASHSEED=seed), capture_output=True, check=True).stdout


@pytest.mark.process
def test_two_processes_and_an_index_built_from_nothing_give_the_same_bytes(root, tmp_path):
    first = in_a_process_of_its_own(root, tmp_path / "data", "1")
    assert first.count(b"\n# ") == 2 * len(TASKS) + 1
    assert in_a_process_of_its_own(root, tmp_path / "data", "2") == first
    shutil.rmtree(tmp_path / "data")
    assert in_a_process_of_its_own(root, tmp_path / "data", "3") == first


def live_paths(index: Index) -> list[str]:
    """The files of an index in the order of their rows."""
    return [path for row, path in enumerate(index.snapshot.paths) if index.snapshot.alive[row]]


def test_it_does_not_matter_in_which_order_files_came_into_the_index(tmp_path):
    tree = mail_tree(tmp_path / "tree")
    asked = [*({"task": task} for task in TASKS), {"files": ["mail"]}, {"files": ["mail/queue.py", "mail/store.py"]}]
    with Index.open(tree, data_dir=tmp_path / "data") as index:
        before, rows = [everything(index.context(**one)) for one in asked], live_paths(index)
    for name in sorted(FILES, reverse=True):
        write(tmp_path / "later" / "tree", {name: FILES[name]})
        Index.open(tmp_path / "later" / "tree", data_dir=tmp_path / "later").close()
    with Index.open(tmp_path / "later" / "tree", data_dir=tmp_path / "later") as index:
        assert live_paths(index) != rows
        assert [everything(index.context(**one)) for one in asked] == before


def test_the_same_question_of_an_index_without_vectors_is_answered_too(root, tmp_path):
    with Index.open(root, data_dir=tmp_path, settings={"index.model": "none"}) as index:
        found = index.context(TASK)
        assert "wait_between" in names(found)[:2]
        assert all("meaning" not in one.found_by for one in found.symbols)


def test_several_threads_get_the_answer_of_one(root, data):
    with Index.open(root, data_dir=data) as index:
        expected = index.context(TASK).text
        _ = index.open_graph()
    told: list[str] = []

    def ask() -> None:
        with Index.open(root, data_dir=data) as own:
            told.append(own.context(TASK).text)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert told == [expected] * 4


# Another answer after an edit (P4).
def test_an_edit_is_in_the_answer_after_a_refresh(tmp_path):
    tree = mail_tree(tmp_path / "tree")
    with Index.open(tree, data_dir=tmp_path / "data") as index:
        before = index.context(TASK)
        assert index.context(TASK) is before
        write(tree, {"mail/pause.py": 'def attempt_pause():\n    """Wait longer between attempts to send a message."""\n    return 5\n'})
        assert "attempt_pause" not in names(index.context(TASK))
        index.refresh()
        assert place(index.context(TASK), "attempt_pause") <= 3
        assert "attempt_pause" in index.context(TASK).text
        (tree / "mail/pause.py").unlink()
        index.refresh()
        assert everything(index.context(TASK)) == everything(before)


def test_edges_that_come_later_are_in_the_next_answer(tmp_path):
    from whence.core.types import RUNTIME, Edge

    tree = mail_tree(tmp_path / "tree")
    with Index.open(tree, data_dir=tmp_path / "data", settings={"index.model": "none"}) as index:
        assert "first_day_of_week" not in names(index.context("`drain`"))
        index.add_edges(RUNTIME, [Edge("mail/queue.py#Queue.drain", "mail/calendar.py#first_day_of_week", "calls", RUNTIME, 0.9)])
        assert "graph" in next(one for one in index.context("`drain`").symbols if one.qualified_name == "first_day_of_week").found_by


def test_a_file_that_vanished_after_indexing_leaves_pointers_and_no_error(tmp_path):
    tree = mail_tree(tmp_path / "tree")
    with Index.open(tree, data_dir=tmp_path / "data") as index:
        (tree / "mail/retry.py").unlink()
        text = index.context(TASK).text
        assert "mail/retry.py:6 wait_between" in text
        assert "2**attempt" not in text


def test_a_task_that_is_only_marks_says_what_is_missing(index):
    for profile in PROFILES:
        with pytest.raises(QueryError, match="no word to go by"):
            index.context("?!. () -> ***", profile=profile)


# Reports.
def test_a_report_is_told_of_every_file_with_a_function_of_that_name_and_a_request_of_the_best(tmp_path: Path):
    for name in ("mail", "news"):
        write(tmp_path / "tree", {f"{name}.py": f"def load_archive(path):\n    # Load the archive of {name}.\n    return path\n"})
    report = "Loading an archive fails since the last release. " + "We load the archive of mail each night, and it is empty. " * 4
    with Index.open(tmp_path / "tree", data_dir=tmp_path / "data") as index:
        assert sorted(one.path for one in index.context(report).symbols) == ["mail.py", "news.py"]
        assert names(index.context("load the archive of mail")) == ["load_archive"]

"""`whence context`, run as a person or a program runs it (A4, P3, Z4), and `whence why --context` (E1)."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from context.mail_tree import TASK, mail_tree
from hindrances import environment
from sample_histories import commit
from sample_trees import git, whence, whence_process, write
from small_cases import each
from whence.cli.main import main
from whence.text import token_estimate

FOUND, NOTHING, FAILED = 0, 1, 2
Command = Callable[..., str]

pytestmark = pytest.mark.shared_data


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository that no test changes."""
    root = mail_tree(tmp_path_factory.mktemp("tree") / "tree")
    git("init", "--quiet", cwd=root)
    commit(root, "first")
    return root


@pytest.fixture
def asked(tree: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Runs a command in the tree and gives what it prints: on standard error where it fails."""

    def run(*arguments: str, cwd: Path = tree, code: int = FOUND) -> str:
        with monkeypatch.context() as here:
            here.chdir(cwd)
            assert main([*arguments]) == code, capsys.readouterr()
        out, err = capsys.readouterr()
        assert (out == "") == (code == FAILED)
        return err if code == FAILED else out

    return run


def refused(told: str, *words: str) -> None:
    """One line that holds these words."""
    assert len(told.splitlines()) == 1, told
    assert told.startswith("whence: ")
    for word in words:
        assert word in told


def from_standard_input(text: bytes, *arguments: str, cwd: Path, **variables: str) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "whence", "context", "-", *arguments]
    return subprocess.run(command, cwd=cwd, env=environment(**variables), input=text, capture_output=True, check=False)


# What is printed.
def test_a_real_process_prints_a_pack_within_its_budget_and_nothing_else(tree):
    for form in ("markdown", "xml", "json"):
        done = whence_process("context", TASK, "--budget", "400", "--format", form, cwd=tree)
        assert (done.returncode, done.stderr) == (FOUND, "")
        assert token_estimate.count_tokens(done.stdout) <= 400
        assert "wait_between" in done.stdout


def test_two_processes_print_the_same_bytes(tree):
    first, again = (whence_process("context", TASK, "--list", "--why", "--json", cwd=tree, PYTHONHASHSEED=seed) for seed in ("1", "2"))
    assert first.stdout == again.stdout != ""


def test_the_text_opens_with_the_task_and_the_commit_and_ends_with_the_account(tree, asked):
    text = asked("context", TASK)
    assert text.startswith(f"# {TASK}\n")
    assert git("rev-parse", "HEAD", cwd=tree) in text.splitlines()[2]
    assert re.fullmatch(
        r"Tokens: 50000 asked, \d+ given\. Symbols: \d+ with body, (\d+ with an excerpt, )?\d+ with signature, \d+ named(, \d+ inside these)?, 0 left out",
        text.splitlines()[-1],
    )


def test_what_is_left_out_is_counted_and_how_to_get_it_is_said(asked):
    last = asked("context", TASK, "--budget", "250").splitlines()[-1]
    assert int(re.search(r"(\d+) left out", last)[1]) > 0
    assert "a larger budget" in last.partition("left out")[2]
    told = json.loads(asked("context", TASK, "--budget", "300", "--json"))
    assert told["left_out"]["count"] > 0
    assert "a larger budget" in told["left_out"]["how"]


def test_settings_choose_budget_and_format(asked):
    told = json.loads(asked("context", TASK, "--set", "context.format=json", "--set", "context.budget=300"))
    assert told["budget"] == 300
    assert told["tokens"] <= 300


def test_paths_are_those_of_the_caller(asked, tree):
    assert "`retry.py:6-8 wait_between`" in asked("context", TASK, cwd=tree / "mail")
    assert "`../mail/retry.py:6-8 wait_between`" in asked("context", TASK, cwd=tree / "tests")
    told = json.loads(asked("context", TASK, "--json", cwd=tree / "tests"))
    first = next(one for one in told["symbols"] if one["key"] == "mail/retry.py#wait_between")
    assert first["path"] == "../mail/retry.py"
    assert "`mail/retry.py:6-8 wait_between`" in asked("context", TASK, "--path", ".", cwd=tree)
    assert f"{tree.name}/mail/retry.py:6-8" in asked("context", TASK, "--path", str(tree), cwd=tree.parent)


def test_an_edit_is_in_the_next_answer_and_an_old_index_says_so(tmp_path, asked):
    root = mail_tree(tmp_path / "tree")
    asked("context", TASK, cwd=root)
    write(root, {"mail/pause.py": 'def attempt_pause():\n    """Wait longer between attempts to send a message."""\n    return 5\n'})
    old = asked("context", TASK, "--no-refresh", "--json", cwd=root)
    assert "attempt_pause" not in old
    assert json.loads(old)["freshness"] == {"commit": None, "changed_files": 1, "fresh": False}
    assert "attempt_pause" in asked("context", TASK, cwd=root)


# The list.
def test_a_list_names_the_best_with_score_kind_and_place(asked):
    lines = asked("context", TASK, "--list", "-k", "3").splitlines()
    assert len(lines) == 3
    told = [line.split() for line in lines]
    assert [line[0] for line in told] == ["1", "2", "3"]
    *_, kind, where = next(line for line in told if line[2] == "wait_between")
    assert (kind, where) == ("function", "mail/retry.py:6")
    assert float(told[0][1]) >= float(told[1][1]) >= float(told[2][1])
    assert "\x1b[" not in "".join(lines)
    assert "\x1b[" in asked("context", TASK, "--list", "--color", "always")


def test_reasons_under_a_list_add_up_to_the_scores(asked):
    total, score = 0.0, None
    for line in asked("context", TASK, "--list", "-k", "1", "--why").splitlines():
        if score is None:
            score = float(line.split()[1])
        else:
            total += float(line.split()[0])
    assert total == pytest.approx(score, abs=0.002)


@pytest.mark.parametrize("form", [("--json",), ("--format", "json")])
def test_a_list_in_json_has_the_whole_receipt(asked, form):
    told = json.loads(asked("context", TASK, "--list", "--why", "-k", "2", *form))
    assert list(told) == ["task", "symbols", "ranked"]
    assert len(told["symbols"]) == 2 < told["ranked"]
    for one in told["symbols"]:
        assert {"qualified_name", "kind", "path", "start_line", "end_line", "score", "found_by", "why"} == one.keys()
        assert sum(line["contribution"] for line in one["why"]) == pytest.approx(one["score"])
    assert "why" not in json.loads(asked("context", TASK, "--list", *form))["symbols"][0]


def test_a_list_of_one_profile_differs_from_that_of_another(asked):
    assert asked("context", TASK, "--list", "--profile", "classic") != asked("context", TASK, "--list")


# Files.
def test_files_are_relative_to_the_caller(asked, tree):
    from_below = asked("context", "--files", "retry.py", "--list", cwd=tree / "mail")
    assert "retry.py:6" in from_below
    assert "client.py:15" in from_below
    assert "../mail/client.py:15" in asked("context", "--files", "../mail/retry.py", "--list", cwd=tree / "tests")


def test_a_folder_and_several_files_are_answered(asked):
    assert "first_day_of_week" in asked("context", "--files", "mail", "--list", "-k", "99")
    both = asked("context", "--files", "mail/retry.py", "--files", "mail/store.py", "--list")
    assert "wait_between" in both
    assert "save_message" in both
    assert "first_day_of_week" in asked("context", "--files", ".", "--list", "-k", "99")


def test_files_that_are_in_no_repository_are_asked_of_the_folder_around_them(tmp_path, asked):
    root = mail_tree(tmp_path / "tree")
    assert "Client.send" in asked("context", "--files", "mail/retry.py", "--list", cwd=root)
    assert "Client.send" in asked("context", "--files", str(root / "mail/retry.py"), "--path", str(root), "--list", cwd=tmp_path)


def test_a_file_that_is_not_there_or_not_indexed_is_refused(asked, tree, tmp_path):
    refused(asked("context", "--files", "mail/none.py", code=FAILED), "mail/none.py", "no such file")
    refused(asked("context", "--files", ".git/HEAD", code=FAILED), "is not indexed")
    other = write(tmp_path / "other", {"a.py": "def other():\n    return 1\n"})
    refused(asked("context", "--files", "mail", "--files", str(other / "a.py"), code=FAILED), "several repositories")


# Changes.
def test_a_change_is_told_since_the_last_commit_or_against_a_branch(tmp_path, asked):
    root = mail_tree(tmp_path / "tree")
    git("init", "--quiet", cwd=root)
    commit(root, "first")
    git("checkout", "--quiet", "-b", "wait", cwd=root)
    assert asked("context", "--diff", cwd=root, code=NOTHING).startswith("# changes since HEAD")
    write(root, {"mail/retry.py": (root / "mail/retry.py").read_text(encoding="utf-8").replace("2**", "3**")})
    assert asked("context", "--diff", "--list", cwd=root).split()[2] == "wait_between"
    commit(root, "wait longer")
    assert asked("context", "--diff", cwd=root, code=NOTHING)
    assert asked("context", "--diff", "main", "--list", cwd=root).split()[2] == "wait_between"
    assert asked("context", "--diff", "main", "--list", "--path", str(root), cwd=tmp_path).split()[2] == "wait_between"
    assert asked("context", "--diff", "main", "--list", cwd=root / "tests").split()[2] == "wait_between"
    write(root, {"mail/late.py": "def late_one():\n    return 1\n"})
    (root / "mail/calendar.py").unlink()
    assert "late_one" in asked("context", "--diff", cwd=root)


def test_what_git_cannot_compare_is_refused(asked, tmp_path):
    refused(asked("context", "--diff", "nowhere", code=FAILED), "git cannot compare", "'nowhere'")
    refused(asked("context", "--diff=-x", code=FAILED))
    refused(asked("context", "--diff", "--output=stolen", code=FAILED))
    refused(asked("context", "--diff", cwd=mail_tree(tmp_path / "tree"), code=FAILED), "git cannot compare")


# Standard input.
def test_a_task_is_read_from_standard_input(tree):
    done = from_standard_input(TASK.encode(), "--list", "-k", "2", cwd=tree)
    assert (done.returncode, done.stderr) == (FOUND, b"")
    assert b"wait_between" in done.stdout


@each("noise", [b"\xff\xfe", b"\0\0", b"\x1b[31m", "日本語".encode("utf-16")])
def test_bytes_that_are_no_text_do_no_harm(tree, noise):
    done = from_standard_input(noise + b" wait between attempts " + noise, "--list", cwd=tree, PYTHONIOENCODING="utf-8:strict")
    assert (done.returncode, done.stderr) == (FOUND, b"")
    assert b"wait_between" in done.stdout


def test_a_long_text_from_standard_input_is_answered_within_the_budget(tree):
    done = from_standard_input(b"wait between attempts to send " * 60_000, "--budget", "500", cwd=tree)
    assert done.returncode == FOUND
    assert token_estimate.count_tokens(done.stdout.decode()) <= 500


def test_an_empty_standard_input_is_refused(tree):
    done = from_standard_input(b" \n", cwd=tree)
    assert (done.returncode, done.stdout) == (FAILED, b"")
    refused(done.stderr.decode(), "there is no task")


# Refusals.
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], ["there is no task"]),
        ([""], ["there is no task"]),
        ([TASK, "--files", "mail"], ["exclude each other"]),
        ([TASK, "--diff"], ["exclude each other"]),
        (["--files", "mail", "--diff", "HEAD"], ["exclude each other"]),
        ([TASK, "--files", "mail", "--diff", "HEAD"], ["exclude each other"]),
        (["?!. () ***"], ["no word", "in words"]),
        ([TASK, "--budget", "10"], ["too small", "the least is"]),
        ([TASK, "--budget", "0"], ["budget"]),
        ([TASK, "--budget", "-1"], ["budget"]),
        ([TASK, "--budget", "many"], ["--budget"]),
        ([TASK, "--format", "html"], ["'html'", "markdown, xml, json"]),
        ([TASK, "--json", "--format", "xml"], ["two forms"]),
        ([TASK, "--why"], ["--list"]),
        ([TASK, "--list", "--budget", "100"], ["-k"]),
        ([TASK, "--list", "--format", "xml"], ["--json"]),
        ([TASK, "--list", "-k", "0"], ["-k"]),
        ([TASK, "--profile", "semantic"], ["'semantic'", "default, classic"]),
        ([TASK, "--path", "nowhere"], ["nowhere"]),
        ([TASK, "--set", "context.budget=none"], ["context.budget"]),
    ],
    ids=str,
)
def test_what_cannot_be_answered_is_refused_in_one_line(asked, arguments, words):
    refused(asked("context", *arguments, code=FAILED), *words)


def test_where_nothing_is_found_the_answer_is_empty_with_code_1_and_says_where_to_look(tmp_path, asked):
    for name, files in (("empty", {}), ("texts", {"a.txt": "a timeout\n", "b.yaml": "timeout: 3\n"})):
        root = tmp_path / name
        root.mkdir()
        done = whence("context", "change the timeout", cwd=write(root, files))
        assert done.returncode == NOTHING
        assert "0 left out" in done.stdout
        assert "whence search" in done.stderr.splitlines()[-1]
        assert json.loads(asked("context", "change the timeout", "--json", cwd=root, code=NOTHING))["symbols"] == []
        assert ET.fromstring(asked("context", "change the timeout", "--format", "xml", cwd=root, code=NOTHING)).findall("symbol") == []


# Why.
def test_why_shows_rank_score_and_the_rank_without_each_line(asked):
    text = asked("why", "--context", TASK, "Client.deliver")
    rank, candidates = map(int, re.search(r"rank (\d+) of (\d+) candidates", text).groups())
    listed = asked("context", TASK, "--list", "-k", "99").splitlines()
    assert listed[rank - 1].split()[2] == "Client.deliver"
    assert len(listed) == candidates
    assert text.startswith("mail/client.py:24  method Client.deliver\n")
    assert f"first is {listed[0].split()[2]} with" in text


def test_why_in_json_folds_to_its_score(asked):
    told = json.loads(asked("why", "--context", TASK, "Client.send", "--json"))
    assert sum(one["line"]["contribution"] for one in told["lines"]) == pytest.approx(told["score"])
    assert told["leader_is_symbol"] is True
    assert all(one["rank_without"] >= 1 for one in told["lines"])


def test_why_of_a_name_that_several_bear_says_whose_answer_it_is(tmp_path):
    root = write(mail_tree(tmp_path / "tree"), {"shop/basket.py": "class Basket:\n    def put(self, thing):\n        return thing\n"})
    done = whence("why", "--context", "a queue of messages", "put", cwd=root)
    assert done.returncode == FOUND
    assert done.stdout.startswith("mail/queue.py:12  method Queue.put\n")
    assert (
        done.stderr == "whence: 2 symbols are called 'put'; answering for the best of mail/queue.py#Queue.put, shop/basket.py#Basket.put\n"
    )
    assert whence("why", "--context", "a queue of messages", "Basket.put", cwd=root).stderr == ""


def test_why_of_a_symbol_that_is_no_candidate_says_that_nothing_found_it(asked):
    assert "found by no retriever" in asked("why", "--context", TASK, "test_a_busy_server_is_asked_again")


def test_why_of_a_name_that_nothing_bears_is_refused_with_the_nearest(asked):
    refused(asked("why", "--context", TASK, "wait_betwen", code=FAILED), "no such symbol", "nearest: wait_between")
    refused(asked("why", "--context", TASK, "accept", code=FAILED), "not defined in this repository")
    refused(asked("why", "--context", "?!", "wait_between", code=FAILED), "no word")

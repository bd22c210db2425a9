"""What the command line prints, seen by real processes in pipes and on a pseudo terminal (A4, A6, Z2)."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from hindrances import environment
from sample_trees import git, whence, whence_process, write
from small_cases import each
from terminals import on_a_terminal
from whence.cli.main import COMMANDS, cli

ESCAPE = "\x1b["
FILES = {
    "src/app.py": "class App:\n    def run(self):\n        return alpha\n",
    "src/net/client.py": "def alpha(timeout):\n    return timeout\n",
    "lib/tool.go": "package tool\n\nfunc Alpha() int { return 1 }\n",
    "docs/guide.md": "# Guide\n\nAll about beta.\n",
}

pytestmark = pytest.mark.shared_data


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory, data: Path) -> Path:
    """A tree that no test changes, indexed."""
    root = write(tmp_path_factory.mktemp("tree") / "tree", FILES)
    whence("index", cwd=root, WHENCE_DATA_DIR=str(data))
    return root


def made_repository(root: Path) -> Path:
    write(root, FILES)
    git("init", cwd=root)
    git("add", ".", cwd=root)
    git("commit", "-m", "first", cwd=root)
    return root


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository that no test changes."""
    return made_repository(tmp_path_factory.mktemp("repository") / "tree")


@pytest.fixture
def own_tree(tmp_path: Path) -> Path:
    """A tree for one test to change."""
    return write(tmp_path / "tree", FILES)


@pytest.fixture
def own_repository(tmp_path: Path) -> Path:
    """A repository for one test to change."""
    return made_repository(tmp_path / "tree")


# Text.
def test_in_a_pipe_the_text_is_plain(tree):
    done = whence_process("search", "alpha", "--why", cwd=tree)
    assert done.returncode == 0
    assert ESCAPE not in done.stdout


def test_colour_can_be_forced_and_refused(tree):
    assert ESCAPE in whence("search", "alpha", "--color", "always", cwd=tree).stdout
    assert ESCAPE not in whence("search", "alpha", "--color", "never", cwd=tree).stdout


def test_on_a_terminal_the_text_is_coloured(tree):
    written, code = on_a_terminal("search", "alpha", cwd=tree)
    assert code == 0
    assert ESCAPE in written


def test_no_color_is_heard_on_a_terminal(tree, monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    assert ESCAPE not in on_a_terminal("search", "alpha", cwd=tree)[0]


def test_colour_changes_nothing_but_colour(tree):
    without_time = [re.sub(r"indexed \d+ s ago", "", whence("search", "alpha", "--color", c, cwd=tree).stdout) for c in ("always", "never")]
    assert re.sub(r"\x1b\[[0-9;]*m", "", without_time[0]) == without_time[1]


def test_a_result_is_its_place_its_unit_its_score_and_its_lines(tree):
    first, line = whence("search", "alpha timeout", "-k", "1", cwd=tree).stdout.splitlines()[:2]
    assert re.fullmatch(r" 1 src/net/client\.py:1-2  function alpha  \d+\.\d\d", first)
    assert re.fullmatch(r" +1  def alpha\(timeout\):", line)


def test_control_characters_in_files_and_names_are_shown_not_sent(tmp_path):
    write(tmp_path, {"evil\x1b[31m.py": b"alpha = '\x1b[2J\x07'\n"})
    for options in ((), ("-n",), ("-l",)):
        done = whence("search", "alpha", *options, cwd=tmp_path)
        assert done.returncode == 0
        assert not set(done.stdout) & {"\x1b", "\x07"}


def test_why_shows_what_each_score_is_made_of(tree):
    shown = whence("search", "alpha", "-k", "1", "--why", cwd=tree).stdout
    score = float(re.search(r"  (-?\d+\.\d\d)$", shown.splitlines()[0]).group(1))  # type: ignore[union-attr]
    parts = [float(value) for value in re.findall(r"^      \+ +(-?\d+\.\d+)", shown, re.MULTILINE)]
    assert len(parts) > 3
    assert sum(parts) == pytest.approx(score, abs=0.02)


# JSON.
def test_json_has_the_documented_keys(tree):
    told = json.loads(whence("search", "alpha", "--json", cwd=tree).stdout)
    assert set(told) == {"query", "count", "results", "indexes", "confidence"}
    assert told["count"] == len(told["results"]) == 3
    expected = {
        "path",
        "start_line",
        "end_line",
        "best_start_line",
        "best_end_line",
        "name",
        "qualified_name",
        "kind",
        "language",
        "score",
        "provenance",
        "lines",
    }
    assert all(set(result) == expected for result in told["results"])
    assert all(set(line) == {"number", "text"} for result in told["results"] for line in result["lines"])
    assert set(told["indexes"][0]) == {"root", "files", "units", "freshness", "notes"}
    assert set(told["indexes"][0]["freshness"]) == {
        "commit",
        "branch",
        "indexed_at",
        "edited_files",
        "new_files",
        "changed_files",
        "fresh",
        "note",
    }


def test_json_with_why_has_the_ledger(tree):
    results = json.loads(whence("search", "alpha", "--json", "--why", cwd=tree).stdout)["results"]
    for result in results:
        assert sum(line["contribution"] for line in result["why"]) == pytest.approx(result["score"])
        assert all({"signal", "phase", "operation", "value", "weight", "contribution", "because"} == set(line) for line in result["why"])


def test_json_of_a_relaxed_search_says_what_matched(tree):
    done = whence("search", "alpha timeout return missing", "--operator", "and", "--relaxation", ">1", "--json", cwd=tree)
    assert {result["matched"] for result in json.loads(done.stdout)["results"]} == {"alpha timeout return"}


@each(
    "arguments",
    [
        ("search", "alpha"),
        ("search", "-e", "alpha"),
        ("search", "nothere"),
        ("why", "alpha", "client.py"),
        ("index",),
        ("status",),
        ("status", "--plan"),
        ("status", "--files"),
        ("config",),
    ],
)
def test_every_command_gives_one_json_document(tree, arguments):
    done = whence(*arguments, "--json", cwd=tree)
    json.loads(done.stdout)
    assert done.stderr == ""


def test_a_name_that_is_no_unicode_survives_json(tmp_path):
    (tmp_path / os.fsdecode(b"b\xe9ta.py")).write_text("alpha = 1\n")
    told = json.loads(whence("search", "alpha", "--json", cwd=tmp_path).stdout)
    assert os.fsencode(told["results"][0]["path"]) == b"b\xe9ta.py"


# Like grep.
def test_l_prints_paths_alone(tree):
    assert set(whence("search", "alpha", "-l", cwd=tree).stdout.splitlines()) == {"src/app.py", "src/net/client.py", "lib/tool.go"}


def test_n_prints_path_line_and_text(tree):
    assert whence("search", "timeout", "-n", "-e", "timeout", cwd=tree).stdout.splitlines() == [
        "src/net/client.py:1:def alpha(timeout):",
        "src/net/client.py:2:    return timeout",
    ]


def test_c_prints_path_and_count(tree):
    assert whence("search", "-e", "timeout", "-c", cwd=tree).stdout == "src/net/client.py:2\n"


# Exit codes.
@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("search", "alpha"), 0),
        (("search", "nothere"), 1),
        (("search", "-e", "nothere"), 1),
        (("search", "nothere", "--json"), 1),
        (("search", ""), 2),
        (("search", "alpha", "missing-folder"), 2),
        (("search", "alpha", "--operator", "xor"), 2),
        (("search", "-e", "a("), 2),
        (("search", "alpha", "--unknown"), 2),
        (("search", "alpha", "--set", "search.k=none"), 2),
        (("search", "alpha", "--no-refresh", "--set", "index.hidden=true"), 2),
        (("why", "alpha", "client.py"), 0),
        (("why", "alpha", "nowhere.rs"), 2),
        (("find", "alpha"), 2),
        (("--version",), 0),
        (("--help",), 0),
    ],
    ids=str,
)
def test_exit_codes_are_0_found_1_nothing_2_wrong(tree, arguments, code):
    done = whence(*arguments, cwd=tree)
    assert done.returncode == code, done.stderr
    if code == 2:
        assert done.stdout == ""
        assert done.stderr.startswith("whence: ")
        assert "Traceback" not in done.stderr


@pytest.mark.parametrize(("query", "code"), [("alpha", 0), ("nothere", 1), ("", 2)])
def test_a_process_ends_with_the_exit_code(tree, query, code):
    assert whence_process("search", query, cwd=tree).returncode == code


def test_no_command_at_all_shows_the_help(tree):
    done = whence(cwd=tree)
    assert (done.stdout or done.stderr).startswith("Usage: whence [OPTIONS]")


def test_a_query_without_a_command_says_how_to_ask(tree):
    assert "whence search 'alpha beta'" in whence("alpha", "beta", cwd=tree).stderr


def test_nothing_found_names_what_was_not_searched(tree):
    assert "only code was searched (in:all searches everything)" in whence("search", "beta", cwd=tree).stdout
    assert "use --content all" in whence("search", "beta lang:haskell", cwd=tree).stderr
    assert whence("search", "beta", "--content", "all", "-l", cwd=tree).stdout == "docs/guide.md\n"


def test_a_bad_pattern_is_shown_with_its_caret(tree):
    assert whence("search", "-e", "ab(c", cwd=tree).stderr.splitlines()[1:] == ["  ab(c", "    ^"]


# Paths.
def test_paths_are_relative_to_the_caller_in_a_subfolder(repository):
    listed = whence("search", "alpha", "-l", ".", cwd=repository / "src" / "net").stdout.splitlines()
    assert listed == ["client.py"]
    assert set(whence("search", "alpha", "..", "-l", cwd=repository / "src" / "net").stdout.splitlines()) == {"client.py", "../app.py"}


def test_path_arguments_narrow_the_search(repository):
    assert set(whence("search", "alpha", "src", "-l", cwd=repository).stdout.splitlines()) == {"src/app.py", "src/net/client.py"}
    assert whence("search", "alpha", "src/app.py", "-l", cwd=repository).stdout == "src/app.py\n"
    assert set(whence("search", "alpha", "src/net", "lib", "-l", cwd=repository).stdout.splitlines()) == {
        "src/net/client.py",
        "lib/tool.go",
    }


def test_paths_outside_the_caller_begin_with_dots(repository):
    listed = whence("search", "timeout", "../src", "-l", cwd=repository / "docs").stdout
    assert listed == "../src/net/client.py\n"


def test_a_repository_has_one_index_wherever_it_is_asked(repository):
    whence("search", "alpha", cwd=repository / "src")
    root = json.loads(whence("status", "--json", cwd=repository / "lib").stdout)["root"]
    assert Path(root) == repository


# Freshness.
def test_an_answer_says_which_commit_it_is_of(repository):
    commit = git("rev-parse", "HEAD", cwd=repository)
    assert f"commit {commit[:10]} · indexed " in whence("search", "alpha", cwd=repository).stdout
    fresh = json.loads(whence("search", "alpha", "--json", cwd=repository).stdout)["indexes"][0]["freshness"]
    assert (fresh["commit"], fresh["branch"], fresh["changed_files"], fresh["fresh"]) == (commit, "main", 0, True)


def test_an_answer_of_a_folder_without_git_says_so(tree):
    assert "no commit · indexed " in whence("search", "alpha", cwd=tree).stdout
    assert json.loads(whence("search", "alpha", "--json", cwd=tree).stdout)["indexes"][0]["freshness"]["commit"] is None


def test_a_new_commit_is_seen_at_the_next_search(own_repository):
    whence("search", "alpha", cwd=own_repository)
    git("commit", "--allow-empty", "-m", "second", cwd=own_repository)
    commit = git("rev-parse", "HEAD", cwd=own_repository)
    assert f"commit {commit[:10]}" in whence("search", "alpha", cwd=own_repository).stdout


def test_without_refresh_the_answer_counts_the_files_that_changed(own_repository):
    whence("index", cwd=own_repository)
    write(own_repository, {"src/app.py": "changed = 1\n", "src/new.py": "alpha = 1\n"})
    (own_repository / "lib/tool.go").unlink()
    done = whence("search", "alpha", "--no-refresh", cwd=own_repository)
    assert "3 files changed since" in done.stdout
    assert "src/new.py" not in done.stdout
    fresh = json.loads(whence("search", "alpha", "--no-refresh", "--json", cwd=own_repository).stdout)["indexes"][0]["freshness"]
    assert (fresh["changed_files"], fresh["fresh"]) == (3, False)


def test_without_refresh_a_tree_just_written_and_indexed_has_not_changed(tmp_path):
    write(tmp_path, FILES)
    whence("index", cwd=tmp_path)
    assert "up to date" in whence("search", "alpha", "--no-refresh", cwd=tmp_path).stdout


def test_without_refresh_a_file_that_was_only_touched_has_not_changed(own_tree):
    whence("index", cwd=own_tree)
    os.utime(own_tree / "src/app.py")
    assert "up to date" in whence("search", "alpha", "--no-refresh", cwd=own_tree).stdout


def test_with_several_roots_each_line_counts_its_own_files(tmp_path):
    write(tmp_path / "one", {"a.py": "alpha = 1\n", "b.py": "alpha = 2\n"})
    write(tmp_path / "two", {"c.py": "alpha = 3\n"})
    shown = whence("search", "alpha", "../two", ".", cwd=tmp_path / "one").stdout
    assert "one: 2 of 2 files" in shown
    assert "two: 1 of 1 files" in shown


def test_status_tells_what_is_indexed_and_from_when(repository):
    whence("index", cwd=repository)
    shown = whence("status", cwd=repository).stdout
    assert "4 files" in shown
    assert git("rev-parse", "HEAD", cwd=repository)[:10] in shown
    assert "python" in shown


# Help.
@each("command", COMMANDS)
def test_help_of_every_command_has_a_usage_and_a_sentence(tree, command):
    done = whence(command, "--help", cwd=tree)
    assert done.returncode == 0, done.stderr
    usage, _, summary = done.stdout.splitlines()[:3]
    assert usage.startswith(f"Usage: whence {command}")
    assert summary.strip().endswith(".")


def options_of(command: click.Command, name: str) -> Iterator[tuple[str, click.Option]]:
    """Every option of a command and of the commands below it."""
    yield from ((name, option) for option in command.params if isinstance(option, click.Option))
    for below, child in getattr(command, "commands", {}).items():
        yield from options_of(child, f"{name} {below}")


@each("command", COMMANDS)
def test_every_option_says_what_it_does(command):
    found = cli.get_command(click.Context(cli), command)
    assert found is not None
    assert [(name, option.opts) for name, option in options_of(found, command) if not option.help] == []


@pytest.mark.parametrize("command", ["search", "why"])
def test_help_shows_examples_where_arguments_need_them(tree, command):
    shown = whence(command, "--help", cwd=tree).stdout
    assert shown.count(f"  whence {command} ") >= 3


def test_help_lists_every_command_with_its_summary(tree):
    shown = whence("--help", cwd=tree).stdout
    for command in COMMANDS:
        assert re.search(rf"^  {command} +\S+", shown, re.MULTILINE)
    assert "Exit codes" in shown


@each("command", COMMANDS)
def test_the_table_of_commands_repeats_the_first_sentence_of_each_help(command):
    found = cli.get_command(click.Context(cli), command)
    assert found is not None
    assert found.get_short_help_str(1_000) == COMMANDS[command][1]


# Progress.
LARGE = {
    f"part{n % 20}/module_{n}.py": "".join(
        f"def function_{n}_{m}(first, second):\n    return first + second * {m}\n\n\n" for m in range(120)
    )
    for n in range(140)
}


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("large"), LARGE)


def test_long_work_shows_a_bar_on_a_terminal(large):
    written, code = on_a_terminal("index", cwd=large)
    assert code == 0
    assert "indexing" in written
    assert "100%" in written


def test_long_work_shows_nothing_in_a_pipe(large):
    done = whence_process("index", "--force", cwd=large)
    assert done.stderr == ""
    assert "%" not in done.stdout


def test_short_work_shows_no_bar(own_tree):
    whence("index", cwd=own_tree)
    write(own_tree, {"src/new.py": "alpha = 1\n"})
    assert "indexing" not in on_a_terminal("index", cwd=own_tree)[0]


def test_a_pattern_takes_paths_as_grep_does(tree):
    done = whence("search", "-e", "alpha", "src", "lib", "-l", cwd=tree)
    everywhere = whence("search", "-e", "alpha", "-l", cwd=tree).stdout.split()
    assert done.stdout.split() == [path for path in everywhere if path.startswith(("src/", "lib/"))] != []


def test_a_reader_who_has_seen_enough_is_no_failure_and_not_nothing_found(tmp_path):
    write(tmp_path, {f"part_{n}.py": "def session():\n    return 1\n" * 200 for n in range(60)})
    line = f"{sys.executable} -m whence search session -k 60 --set search.lines=100 | head -1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", line], cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False)
    assert done.stdout.splitlines()[-1] == "0", done

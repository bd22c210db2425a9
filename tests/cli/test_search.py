"""`whence search` as one would call grep: what is printed for patterns, line by line."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from sample_trees import whence, write
from small_cases import each

BODY = "\n".join(f"    value_{number} = timeout * {number}" for number in range(1, 9))
FILES = {
    "src/net.py": f'def open_connection(timeout):\n    """Open a connection."""\n{BODY}\n    return timeout\n\n\ndef unrelated():\n    return 1\n',
    "src/words.txt": "one\ntwo\nthree\nfour two\nfive\nsix\nseven two two\n",
    "notes.md": "# Notes\n\nA word, két words, word_two.\n",
}


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("tree"), FILES)


def ran(tree: Path, *arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[str]:
    return whence("search", *arguments, cwd=tree, stdin=stdin, WHENCE_DATA_DIR=str(tree.parent / "data"))


def printed(tree: Path, *arguments: str) -> list[str]:
    return ran(tree, *arguments).stdout.splitlines()


def test_any_of_several_patterns_matches(tree):
    assert printed(tree, "-e", "^three$", "-e", "fi.e", "-n") == ["src/words.txt:3:three", "src/words.txt:5:five"]


def test_lines_before_and_after_are_marked_and_groups_divided(tree):
    path = "src/words.txt"
    assert printed(tree, "-e", "^two|six", "-n", "-A", "1", path) == [
        f"{path}:2:two",
        f"{path}-3-three",
        "--",
        f"{path}:6:six",
        f"{path}-7-seven two two",
    ]
    assert printed(tree, "-e", "^two|four", "-C", "1", path) == [
        f"{path}-one",
        f"{path}:two",
        f"{path}-three",
        f"{path}:four two",
        f"{path}-five",
    ]
    assert printed(tree, "-e", "^two", "-B", "9", path) == [f"{path}-one", f"{path}:two"]


def test_only_what_matches_is_printed_once_for_each_match(tree):
    assert printed(tree, "-e", "two", "-on", "src") == [
        "src/words.txt:2:two",
        "src/words.txt:4:two",
        "src/words.txt:7:two",
        "src/words.txt:7:two",
    ]
    assert printed(tree, "-we", "words?", "-o", "notes.md") == ["notes.md:word", "notes.md:words"]


def test_lines_that_do_not_match_are_found_with_v(tree):
    assert printed(tree, "-ve", "[eo]", "-n", "src/words.txt") == ["src/words.txt:6:six"]
    assert printed(tree, "-ve", "two", "-c", "src/words.txt") == ["src/words.txt:4"]


def test_at_most_so_many_lines_of_a_file_are_printed(tree):
    assert printed(tree, "-e", "o", "-m", "2", "-n", "src/words.txt") == ["src/words.txt:1:one", "src/words.txt:2:two"]
    assert printed(tree, "-e", "o", "--max-count", "1", "-c", "src/words.txt") == ["src/words.txt:1"]


def test_a_nul_follows_each_path(tree):
    assert ran(tree, "-e", "six|Notes", "-l", "-0").stdout == "notes.md\0src/words.txt\0"
    assert ran(tree, "-e", "six", "-n", "-0").stdout == "src/words.txt\x006:six\n"
    assert ran(tree, "-e", "two", "-c", "--null", "src").stdout == "src/words.txt\x003\n"


def test_the_query_comes_from_standard_input(tree):
    found = ran(tree, "-", "-k", "1", "--json", stdin=b"open a connection\n")
    assert json.loads(found.stdout)["results"][0]["path"] == "src/net.py"


def test_with_a_query_some_lines_of_the_unit_are_shown_and_the_others_counted(tree):
    lines = printed(tree, "open a connection", "-e", "timeout")
    assert "open_connection" in lines[0]
    assert [line.split()[0] for line in lines[1:4]] == ["1", "3", "4"]
    assert lines[4].strip() == "7 more lines match"
    (result,) = json.loads(ran(tree, "open a connection", "-e", "timeout", "--json").stdout)["results"]
    assert (len(result["lines"]), result["matching_lines"]) == (3, 10)
    (result,) = json.loads(ran(tree, "open a connection", "-e", "timeout", "--json", "-m", "5").stdout)["results"]
    assert (len(result["lines"]), result["matching_lines"]) == (5, 10)
    assert len(printed(tree, "open a connection", "-e", "timeout", "-n")) == 10


@each(
    ("arguments", "said"),
    [
        (("open", "-v", "-e", "x"), "-v goes with a pattern alone"),
        (("open", "-v"), "speak of a pattern"),
        (("open", "-o"), "-o speaks of a pattern"),
        (("open", "-e", "x", "-A", "1"), "-A goes with lines as grep prints them (add -n)"),
        (("-e", "x", "-C", "1", "--json"), "-C does not go with --json"),
        (("-e", "x", "-o", "-v"), "exclude each other"),
        (("-e", "x", "-m", "0"), "at least one line"),
        (("-e", "a{2000}"), "patterns take linear time"),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_line(tree, arguments, said):
    refused = ran(tree, *arguments)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert said in refused.stderr
    assert refused.stderr.count("\n") == 1

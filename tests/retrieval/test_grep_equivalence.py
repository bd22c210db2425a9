"""A pattern alone finds what grep finds in the indexed files: nothing lost, nothing extra (Q6)."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from campaigns import is_nightly
from sample_trees import SOURCES, whence, write
from small_cases import each
from whence import Index

AWKWARD: dict[str, str | bytes] = {
    "crlf.py": b"def windows():\r\n    return 1\r\n\r\n# the end\r\n",
    "no_final_newline.py": "first = 1\nlast = 2",
    "tabs.go": "package tabs\n\nfunc Tabs() {\n\treturn\t\t1\n}\n",
    "latin1.c": "/* caf\xe9 na\xefve */\nint caf\xe9 = 1; // return\n".encode("latin-1"),
    "unicode.py": "größe = 'naïve café'\n# 日本語 return\nΣ = 1\n",
    "long_lines.js": "var x = '" + "a" * 5_000 + "'; // return TODO\n" + "y" * 9_000 + "\nreturn_z()\n",
    "blank_lines.py": "\n\n\nx = 1\n\n\n   \n\t\ny = 2\n\n\n",
    "form_feed.c": "int a;\x0c\nint b;\x0breturn\n\x1fint c;\n",
    "separators.py": "a = 'x\u2028y\u2029z\x85w'\nb = 'x\ry'\n",
    "one_line.txt": "only",
    "brackets.txt": "a]b [x] {y} (z) a{2} \\w $HOME ^top a.b a+b a*b a?b | pipe\n",
    "just_space.txt": "x\n \n\t\n",
    "notes/README": "return to sender\n",
    "notes/data.yaml": "key: value\nreturn: yes\n",
    # A search reads a NUL as a space; grep, told to read such a file at all, as a character of its own.
    "zero_after.txt": b"text first\n" * 1_000 + b"\x00 binary after\nreturn\n",
}
#: What is searched by day; at night the whole package is.
ROOMS = ("cli", "query", "search", "source")
PATTERNS = [
    "return",
    "def ",
    "^def ",
    "^import|^from",
    "^$",
    "^[ ]*$",
    r"\s$",
    r"^\s+return\b",
    "$",
    "^",
    "x",
    "[A-Z][a-z]+Error",
    "[0-9]+",
    "[^a-z ]{4}",
    r"\(.*\)$",
    r"[[{]",
    r"[]}]",
    "[^]a-z ]b",
    r"\.py",
    r"\bself\b",
    r"\w+_\w+_\w+",
    "(a|b)+c",
    "colou?r",
    "a{3,}",
    "(re)?turn",
    r"\$|\^",
    r"\{[^}]*\}",
    "TODO|FIXME|XXX",
    "caf.",
    "日本語",
    "gr.*e =",
    "1;?$",
    "é",
]


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    root = tmp_path_factory.mktemp("tree")
    for room in sorted(path.name for path in (SOURCES / "whence").iterdir() if path.is_dir()) if is_nightly() else ROOMS:
        shutil.copytree(SOURCES / "whence" / room, root / "package" / room, ignore=shutil.ignore_patterns("__pycache__"))
    write(root / "awkward", AWKWARD)
    with Index.open(root, data_dir=tmp_path_factory.mktemp("data")) as index:
        yield index


def grep(root: Path, *arguments: str) -> set[tuple[str, int]]:
    """(path, line) of every match of the real grep, which also reads files that are not all text."""
    done = subprocess.run(
        ["grep", "-rnaE", *arguments, "."], cwd=root, env={**os.environ, "LC_ALL": "C.UTF-8"}, capture_output=True, check=False
    )
    assert done.returncode in (0, 1), done.stderr
    found = (line.split(b":", 2) for line in done.stdout.split(b"\n") if line)
    return {(path.decode().removeprefix("./"), int(number)) for path, number, _ in found}


def indexed(index: Index) -> set[str]:
    return {path for path, alive in zip(index.snapshot.paths, index.snapshot.alive.tolist(), strict=True) if alive}


def searched(index: Index, pattern: str, **options: bool) -> set[tuple[str, int]]:
    return {(result.path, line) for result in index.search(pattern=pattern, content="all", **options) for line in result.matching_lines}


def test_the_tree_is_indexed_but_for_what_is_no_text(tree):
    assert {f"awkward/{name}" for name in AWKWARD} - indexed(tree) <= {"awkward/zero_after.txt"}


@each("pattern", PATTERNS)
def test_a_pattern_finds_the_lines_that_grep_finds(tree, pattern):
    # To grep a carriage return is a letter of its line, here it is part of the line's end (tests/query/test_patterns.py).
    other = {"awkward/crlf.py"} if "$" in pattern else set()
    expected = {place for place in grep(tree.root, "-e", pattern) if place[0] in indexed(tree) - other}
    found = {place for place in searched(tree, pattern) if place[0] not in other}
    assert sorted(expected - found) == [], "lost"
    # Where a file is not UTF-8, grep's `.` and sets do not match its odd bytes; a search reads them as Latin-1.
    assert sorted(place for place in found - expected if place[0] != "awkward/latin1.c") == [], "extra"


@each(
    "pattern",
    [r"[[:space:]]return", "^[[:alpha:]]+:", "[[:upper:]]{3}", "[^[:space:]]{60}", "[[:digit:]_]+;", r"\<re", r"turn\>", r"\<self\>"],
)
def test_the_classes_and_word_edges_of_grep_are_understood(tree, pattern):
    expected = {place for place in grep(tree.root, "-e", pattern) if place[0] in indexed(tree)}
    assert expected
    assert searched(tree, pattern) == expected


@each("pattern", ["return", "get", "x", "Cart|Index", "re", "1"])
@each(("flag", "option"), [("-w", "word"), ("-i", "ignore_case")])
def test_words_and_case_are_as_in_grep(tree, flag, option, pattern):
    expected = {place for place in grep(tree.root, flag, "-e", pattern) if place[0] in indexed(tree)}
    assert searched(tree, pattern, **{option: True}) == expected


@each("text", ["a.b", "a+b", "[x]", "a{2}", r"\w", "$HOME", "^top", "(", ")", "|", "a*b", "a?b", "'"])
def test_plain_text_is_as_in_grep(tree, text):
    done = subprocess.run(
        ["grep", "-rnaF", "-e", text, "."], cwd=tree.root, env={**os.environ, "LC_ALL": "C.UTF-8"}, capture_output=True, check=False
    )
    lines = (line.split(b":", 2) for line in done.stdout.split(b"\n") if line)
    expected = {(path.decode().removeprefix("./"), int(number)) for path, number, _ in lines}
    assert searched(tree, text, fixed=True) == {place for place in expected if place[0] in indexed(tree)}


def printed_by_grep(root: Path, *arguments: str) -> list[str]:
    done = subprocess.run(["grep", *arguments], cwd=root, env={**os.environ, "LC_ALL": "C"}, capture_output=True, text=True, check=False)
    return sorted(line.removeprefix("./") for line in done.stdout.splitlines())


PLAIN = {
    "a.py": "def one():\n    return 1\n",
    "b/c.go": "package b\n\nfunc B() int {\n\treturn  2\n}\n",
    "d.js": "x = 1; // " + "long " * 200 + "return\n",
}


@pytest.mark.parametrize(("flags", "options"), [("-rnE", ("-n",)), ("-rlE", ("-l",)), ("-rE", ())])
def test_what_is_printed_is_what_grep_prints(tmp_path, flags, options):
    write(tmp_path, PLAIN)
    done = whence("search", "-e", "return", *options, cwd=tmp_path)
    assert sorted(done.stdout.splitlines()) == printed_by_grep(tmp_path, flags, "return", ".")


def test_counts_are_those_of_grep_without_the_zeros(tmp_path):
    write(tmp_path, {**PLAIN, "none.py": "x = 1\n"})
    done = whence("search", "-e", "return|func", "-c", cwd=tmp_path)
    expected = [line for line in printed_by_grep(tmp_path, "-rcE", "return|func", ".") if not line.endswith(":0")]
    assert sorted(done.stdout.splitlines()) == expected


@pytest.mark.parametrize("pattern", ["[[:space:]]return", "[[{]"])
def test_a_pattern_that_python_has_doubts_about_gives_no_warning(tmp_path, pattern):
    write(tmp_path, PLAIN)
    done = whence("search", "-e", pattern, "-l", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")

"""Ignore rules: git's own, ours, and what each says where they disagree. Real git is the judge of its syntax."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from sample_trees import git, write
from whence.source.walk import Walker


def kept(root: Path, *, hidden: bool = False) -> list[str]:
    return sorted(Walker(str(root), max_file_bytes=1_000_000, hidden=hidden, now_ns=time.time_ns()).walk().files)


def reason(root: Path, path: str) -> str:
    tree = Walker(str(root), max_file_bytes=1_000_000, hidden=False, now_ns=time.time_ns()).walk()
    return {one.path: one.reason for one in tree.skipped}[path]


def test_gitignore_leaves_files_out_and_is_named_as_the_reason(tmp_path: Path) -> None:
    write(tmp_path, {".gitignore": "*.log\n", "a.log": "a", "a.py": "a"})
    assert kept(tmp_path) == ["a.py"]
    assert reason(tmp_path, "a.log") == "ignored by .gitignore"


def test_a_deeper_gitignore_overrules_the_one_above(tmp_path: Path) -> None:
    write(tmp_path, {".gitignore": "*.log\n", "lib/.gitignore": "!keep.log\n", "lib/keep.log": "a", "lib/other.log": "b", "keep.log": "c"})
    assert kept(tmp_path) == ["lib/keep.log"]


def test_rules_of_one_folder_do_not_reach_its_neighbour(tmp_path: Path) -> None:
    write(tmp_path, {"a/.gitignore": "x.py\n", "a/x.py": "a", "b/x.py": "b"})
    assert kept(tmp_path) == ["b/x.py"]


def test_whenceignore_leaves_out_what_git_keeps(tmp_path: Path) -> None:
    write(tmp_path, {".whenceignore": "generated/\n", "generated/a.py": "a", "b.py": "b"})
    assert kept(tmp_path) == ["b.py"]
    assert reason(tmp_path, "generated/") == "ignored by .whenceignore"


def test_whenceignore_takes_back_what_gitignore_left_out(tmp_path: Path) -> None:
    write(tmp_path, {".gitignore": "*.sql\n", ".whenceignore": "!schema.sql\n", "schema.sql": "a", "dump.sql": "b"})
    assert kept(tmp_path) == ["schema.sql"]


def test_whenceignore_takes_back_a_folder_that_never_holds_source(tmp_path: Path) -> None:
    write(tmp_path, {".whenceignore": "!vendor/\n", "vendor/ours.py": "a", "lib/vendor/ours.py": "b", "build/c.py": "c"})
    assert kept(tmp_path) == ["lib/vendor/ours.py", "vendor/ours.py"]


def test_whenceignore_takes_back_a_hidden_file(tmp_path: Path) -> None:
    write(tmp_path, {".whenceignore": "!.eslintrc.js\n", ".eslintrc.js": "a", ".other.js": "b"})
    assert kept(tmp_path) == [".eslintrc.js"]


def test_gitignore_does_not_take_back_a_folder_that_never_holds_source(tmp_path: Path) -> None:
    write(tmp_path, {".gitignore": "!node_modules/\n", "node_modules/a.js": "a"})
    assert kept(tmp_path) == []


def test_the_private_rules_of_git_count(tmp_path: Path) -> None:
    write(tmp_path, {".git/info/exclude": "mine.py\n", "mine.py": "a", "b.py": "b"})
    assert kept(tmp_path) == ["b.py"]


def test_comments_and_blank_lines_are_no_rules(tmp_path: Path) -> None:
    write(tmp_path, {".gitignore": "# a.py\n\n   \n", "a.py": "a", "# a.py": "b"})
    assert kept(tmp_path) == ["# a.py", "a.py"]


@pytest.mark.parametrize("rule", [b"a\\\n", b"!\n", b"[\n", b"**[\n", b"\xff\xfe\n", b"/\n", b"a" * 100_000 + b"\n", b"\0\n"])
def test_a_rule_that_makes_no_sense_hides_nothing_else(tmp_path: Path, rule: bytes) -> None:
    write(tmp_path, {".gitignore": rule + b"b.py\n", "a.py": "a", "b.py": "b"})
    assert kept(tmp_path) == ["a.py"]


def test_a_rule_file_that_is_a_folder_or_a_link_is_no_rule_file(tmp_path: Path) -> None:
    write(tmp_path, {".gitignore/a": "x", "outside": "a.py\n", "lib/a.py": "a"})
    (tmp_path / "lib/.gitignore").symlink_to(tmp_path / "outside")
    assert kept(tmp_path) == ["lib/a.py", "outside"]


HARD_RULES = [
    "*.log",
    "!keep.log",
    "/top.py",
    "docs/*.txt",
    "**/cache/**",
    "a/**/z.py",
    "temp*/",
    r"\#hash.py",
    r"\!bang.py",
    "trail.py   ",
    "name[0-9].py",
    "name[!0-9]x.py",
    "q?.py",
]
HARD_PATHS = [
    "x.log", "keep.log", "sub/keep.log", "top.py", "sub/top.py", "docs/a.txt", "docs/sub/a.txt", "cache/x.py", "a/cache/x.py",
    "a/z.py", "a/b/z.py", "a/b/c/z.py", "temp1/x.py", "temp", "#hash.py", "!bang.py", "trail.py", "name1.py", "namea.py",
    "nameax.py", "name1x.py", "q1.py", "q12.py", "sub/q1.py",
]  # fmt: skip


def test_git_and_we_agree_on_every_rule(tmp_path: Path) -> None:
    write(tmp_path, dict.fromkeys(HARD_PATHS, "x") | {".gitignore": "\n".join(HARD_RULES) + "\n"})
    git("init", cwd=tmp_path)
    listed = git("ls-files", "--others", "--exclude-standard", "-z", cwd=tmp_path).split("\0")
    assert kept(tmp_path) == sorted(path for path in listed if path and path != ".gitignore")


def test_git_and_we_agree_that_what_is_inside_an_ignored_folder_cannot_be_taken_back(tmp_path: Path) -> None:
    write(tmp_path, {"logs/a.py": "x", "logs/b.py": "x", "c.py": "x", ".gitignore": "logs/\n!logs/b.py\n"})
    git("init", cwd=tmp_path)
    listed = git("ls-files", "--others", "--exclude-standard", cwd=tmp_path).split("\n")
    assert kept(tmp_path) == [path for path in listed if path != ".gitignore"] == ["c.py"]

"""Trees that were made, or are being changed, to mislead: regressions of what the bench of hostile trees found."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from sample_trees import git, write
from small_cases import each
from whence.parse.units import parse
from whence.source.git import list_branches, read_head
from whence.source.ignore import IgnoreRules
from whence.source.read import open_inside, read_prefix
from whence.source.walk import Walker

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def ignored(rules: str, path: str) -> bool:
    return (
        IgnoreRules().with_file(".gitignore", "", rules).exclusion_reason(path, path.rpartition("/")[2], is_folder=False, hidden=False)
        is not None
    )


@pytest.mark.parametrize(
    "path", ["swap/plan.py", "link.py", "../outside/plan.py", "swap/../../outside/plan.py", "lib", "pipe.py", "", "lib//a.py"]
)
def test_no_file_is_opened_through_a_link_above_the_root_or_where_there_is_none(tmp_path: Path, path: str) -> None:
    write(tmp_path, {"outside/plan.py": "secret", "root/lib/a.py": "a"})
    (tmp_path / "root/swap").symlink_to(tmp_path / "outside")
    (tmp_path / "root/link.py").symlink_to(tmp_path / "outside/plan.py")
    os.mkfifo(tmp_path / "root/pipe.py")
    before = len(list(Path("/proc/self/fd").iterdir()))
    with pytest.raises(OSError, match=r"\w"):
        read_prefix(open_inside(tmp_path / "root", path), 100)
    assert len(list(Path("/proc/self/fd").iterdir())) == before
    assert read_prefix(open_inside(tmp_path / "root", "lib/a.py"), 100) == b"a"


def test_rules_that_are_a_pipe_or_a_link_are_none(tmp_path: Path) -> None:
    write(tmp_path, {"outside": "*.py\n", "root/a.py": "a", "root/lib/b.py": "b"})
    os.mkfifo(tmp_path / "root/.gitignore")
    (tmp_path / "root/lib/.gitignore").symlink_to(tmp_path / "outside")
    tree = Walker(str(tmp_path / "root"), max_file_bytes=1_000, hidden=False, now_ns=time.time_ns()).walk()
    assert list(tree.files) == ["a.py", "lib/b.py"]


@each(
    ("rule", "held", "free"),
    [
        ("a*a*a*a*a*a*a*a*a*b", "a" * 249 + "b", "a" * 250),
        ("a***b**", "axxb.py", "xxb.py"),
        ("*" * 300 + "b", "aaab", "aaac"),
        ("*a" * 120 + "b", "a" * 200 + "b", "a" * 250),
        ("[a-z]*" * 50 + "!", "a" * 200 + "!", "a" * 250),
        ("lib/*a*b*/c*d*e.py", "lib/xaxbx/cxdxe.py", "lib/xbxax/cxdxe.py"),
        ("lib/**/x*y*z", "lib/a/b/xxyyzz", "lib/a/b/xxyy"),
        ("\\*\\**x*y", "**axay", "aaxay"),
        ("/**/a" * 2, "x/a/y/a", "x/b/y/a"),
    ],
)
def test_rules_that_are_written_to_match_slowly_hold_all_the_same(rule: str, held: str, free: str) -> None:
    started = time.thread_time()
    assert (ignored(rule, held), ignored(rule, free)) == (True, False)
    assert time.thread_time() - started < 1


def test_rules_beyond_what_anyone_writes_are_not_asked(tmp_path: Path) -> None:
    started = time.thread_time()
    assert not ignored("/**/a" * 40, "a/" * 90 + "b")
    assert time.thread_time() - started < 1


def test_git_files_that_are_pipes_endless_or_lead_elsewhere_tell_nothing(tmp_path: Path) -> None:
    root = write(tmp_path / "root", {"a.py": "a", ".git/refs/heads/main": COMMIT, ".git/config": ""})
    (tmp_path / "commit").write_text(COMMIT)
    place = root / ".git/HEAD"
    os.mkfifo(place)
    assert read_head(root) is None
    place.unlink()
    for text in ("ref: ../../commit", f"ref: {tmp_path}/commit", "ref: refs/../../../commit", "x" * 1_000_000):
        place.write_text(text)
        assert read_head(root) is None
    place.write_text("ref: refs/heads/main")
    assert read_head(root) is not None
    (root / ".git/refs/heads/main").unlink()
    with (root / ".git/packed-refs").open("wb") as file:
        file.truncate(200_000_000)
    started = time.thread_time()
    assert (read_head(root), list_branches(root)) == (None, frozenset({"main"}))
    assert time.thread_time() - started < 1


def test_a_real_repository_with_packed_references_is_still_read(tmp_path: Path) -> None:
    root = write(tmp_path / "root", {"a.py": "a"})
    git("init", cwd=root)
    git("add", ".", cwd=root)
    git("commit", "-m", "one", cwd=root)
    git("pack-refs", "--all", cwd=root)
    found = read_head(root)
    assert found is not None
    assert found.commit == git("rev-parse", "HEAD", cwd=root)


def test_a_text_that_costs_its_grammar_its_length_squared_is_cut_into_windows_in_time() -> None:
    started = time.thread_time()
    parsed = parse("".join(f"fn f{number * 7919 % 100_003}<T: A<\n" for number in range(5_000)).encode(), "csharp")
    assert time.thread_time() - started < 8
    assert {unit.kind for unit in parsed.units} == {"raw"}


def test_a_text_that_says_the_same_over_and_over_is_not_given_to_a_grammar() -> None:
    started = time.thread_time()
    assert {unit.kind for unit in parse(b"<div>\n" * 20_000, "ocaml").units} == {"raw"}
    assert time.thread_time() - started < 1


def test_conditions_on_the_text_of_a_definition_hold_for_long_ones_too() -> None:
    """`static` functions of a header are no declarations, however long: what they say is compared with what was read."""
    long = "int walrus(" + ", ".join(f"int a{number}" for number in range(2_000)) + ");\n"
    names = [unit.name for unit in parse(f"static {long}{long.replace('walrus', 'tusk')}".encode(), "c").units if unit.name]
    assert names == ["tusk"]

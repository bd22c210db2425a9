"""Which files are there: what a walk takes, what it leaves out and why, and what it sees change."""

from __future__ import annotations

import os
import shutil
import socket
import time
from pathlib import Path

import pytest

from sample_trees import git, write
from whence.core.types import CODE, Skipped
from whence.parse.languages import language_of
from whence.source import git as git_repository
from whence.source.walk import GIT_INDEX, MAX_DEPTH, RACY_NS, FileTree, Walker, list_entries

LATER = 10 * RACY_NS  # a walk that asks this much later trusts the stamps it reads


def walker(root: Path, *, limit: int = 1_000_000, hidden: bool = False, after_ns: int = 0) -> Walker:
    return Walker(str(root), max_file_bytes=limit, hidden=hidden, now_ns=time.time_ns() + after_ns)


def walked(root: Path, *, limit: int = 1_000_000, hidden: bool = False) -> FileTree:
    return walker(root, limit=limit, hidden=hidden).walk()


def reasons(tree: FileTree) -> dict[str, str]:
    return {one.path: one.reason for one in tree.skipped}


def test_files_are_named_relative_to_the_root_with_slashes(tmp_path: Path) -> None:
    write(tmp_path, {"a.py": "a", "lib/deep/b.py": "b"})
    assert list(walked(tmp_path).files) == ["a.py", "lib/deep/b.py"]


def test_an_empty_folder_is_walked(tmp_path: Path) -> None:
    tree = walked(tmp_path)
    assert (tree.files, tree.skipped, list(tree.folders)) == ({}, [], [""])


def test_a_link_to_a_file_is_left_out_and_said(tmp_path: Path) -> None:
    write(tmp_path, {"a.py": "a"})
    (tmp_path / "b.py").symlink_to("a.py")
    tree = walked(tmp_path)
    assert list(tree.files) == ["a.py"]
    assert reasons(tree) == {"b.py": "a symbolic link"}


def test_a_link_out_of_the_root_is_not_followed(tmp_path: Path) -> None:
    write(tmp_path, {"outside/secret.py": "secret", "root/a.py": "a"})
    (tmp_path / "root/out").symlink_to(tmp_path / "outside")
    assert list(walked(tmp_path / "root").files) == ["a.py"]


def test_a_loop_of_links_ends(tmp_path: Path) -> None:
    write(tmp_path, {"lib/a.py": "a"})
    (tmp_path / "lib/again").symlink_to(tmp_path / "lib")
    (tmp_path / "one").symlink_to("two")
    (tmp_path / "two").symlink_to("one")
    tree = walked(tmp_path)
    assert list(tree.files) == ["lib/a.py"]
    assert set(reasons(tree)) == {"lib/again", "one", "two"}


def test_a_pipe_and_a_socket_are_left_out_without_waiting_for_a_writer(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.py")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "s.py"))
        tree = walked(tmp_path)
    assert tree.files == {}
    assert reasons(tree) == {"pipe.py": "not a regular file", "s.py": "not a regular file"}


def test_a_folder_named_like_a_glob_is_a_folder(tmp_path: Path) -> None:
    write(tmp_path, {"***/a.py": "a", "[x]/{b}?.py": "b"})
    assert list(walked(tmp_path).files) == ["***/a.py", "[x]/{b}?.py"]


def test_a_name_with_a_newline_is_a_name(tmp_path: Path) -> None:
    write(tmp_path, {"two\nlines.py": "a"})
    assert list(walked(tmp_path).files) == ["two\nlines.py"]


def test_a_name_that_is_not_utf_8_is_kept_byte_for_byte(tmp_path: Path) -> None:
    name = os.fsdecode(b"caf\xe9.py")
    write(tmp_path, {name: "a"})
    (found,) = walked(tmp_path).files
    assert os.fsencode(found) == b"caf\xe9.py"


def test_a_file_at_the_limit_is_in_and_one_byte_more_is_out(tmp_path: Path) -> None:
    write(tmp_path, {"at.py": "x" * 100, "over.py": "x" * 101})
    tree = walked(tmp_path, limit=100)
    assert list(tree.files) == ["at.py"]
    assert reasons(tree) == {"over.py": "larger than 100 bytes"}


def test_hidden_files_and_folders_are_out_unless_asked_for(tmp_path: Path) -> None:
    write(tmp_path, {".hidden.py": "a", ".folder/b.py": "b", "c.py": "c"})
    assert list(walked(tmp_path).files) == ["c.py"]
    assert sorted(walked(tmp_path, hidden=True).files) == [".folder/b.py", ".hidden.py", "c.py"]


def test_the_folder_of_git_is_out_even_when_hidden_files_are_in(tmp_path: Path) -> None:
    write(tmp_path, {".git/config": "a", "c.py": "c"})
    assert list(walked(tmp_path, hidden=True).files) == ["c.py"]


@pytest.mark.parametrize("name", ["node_modules", "target", "build", "dist", "out", "bin", "obj", ".venv", "__pycache__", "vendor"])
def test_a_folder_that_never_holds_source_is_out(tmp_path: Path, name: str) -> None:
    write(tmp_path, {f"{name}/a.py": "a", f"lib/{name}/b.py": "b"})
    tree = walked(tmp_path)
    assert tree.files == {}
    assert set(reasons(tree)) == {f"{name}/", f"lib/{name}/"}


def test_a_folder_named_output_is_in(tmp_path: Path) -> None:
    write(tmp_path, {"output/a.py": "a", "outer/b.py": "b"})
    assert list(walked(tmp_path).files) == ["outer/b.py", "output/a.py"]


def test_a_file_named_like_a_never_source_folder_is_in(tmp_path: Path) -> None:
    write(tmp_path, {"build": "#!/bin/sh\n", "lib/target": "x"})
    assert list(walked(tmp_path).files) == ["build", "lib/target"]


def test_a_minified_file_is_known_by_its_name(tmp_path: Path) -> None:
    write(tmp_path, {"app.min.js": "a", "app.js": "b", "app.js.map": "{}"})
    tree = walked(tmp_path)
    assert list(tree.files) == ["app.js"]
    assert set(reasons(tree)) == {"app.min.js", "app.js.map"}


def test_folders_deeper_than_the_limit_are_left_out_and_said(tmp_path: Path) -> None:
    deepest = "/".join(["d"] * (MAX_DEPTH + 1))
    write(tmp_path, {f"{deepest}/a.py": "a", "b.py": "b"})
    tree = walked(tmp_path)
    assert list(tree.files) == ["b.py"]
    assert reasons(tree) == {f"{deepest}/": f"more than {MAX_DEPTH} folders deep"}


def test_every_file_and_folder_is_described_as_in_or_out(tmp_path: Path) -> None:
    write(tmp_path, {"a.py": "a", ".b.py": "b", "build/c.py": "c"})
    assert list(list_entries(walked(tmp_path))) == [(".b.py", "hidden"), ("a.py", ""), ("build/", "a folder that never holds source")]


def test_a_root_that_is_gone_is_an_empty_tree_with_a_reason(tmp_path: Path) -> None:
    tree = walked(tmp_path / "gone")
    assert tree.files == {}
    assert reasons(tree) == {".": "cannot be listed: No such file or directory"}


def test_a_refresh_with_nothing_changed_reports_nothing(tmp_path: Path) -> None:
    write(tmp_path, {"a.py": "a", "lib/b.py": "b"})
    known = walker(tmp_path, after_ns=LATER).walk()
    found = walker(tmp_path, after_ns=LATER).refresh(known)
    assert (found.changed, found.deleted, found.files) == ([], [], known.files)


def test_a_file_written_just_before_it_was_seen_is_looked_at_again(tmp_path: Path) -> None:
    write(tmp_path, {"a.py": "a"})
    assert walker(tmp_path).refresh(walked(tmp_path)).changed == ["a.py"]


def test_a_refresh_sees_a_new_file_in_a_folder_it_knows(tmp_path: Path) -> None:
    write(tmp_path, {"lib/a.py": "a"})
    known = walker(tmp_path, after_ns=LATER).walk()
    write(tmp_path, {"lib/b.py": "b"})
    found = walker(tmp_path, after_ns=LATER).refresh(known)
    assert (found.changed, found.deleted) == (["lib/b.py"], [])


def test_a_refresh_sees_a_new_folder_inside_a_new_folder(tmp_path: Path) -> None:
    write(tmp_path, {"a.py": "a"})
    known = walker(tmp_path, after_ns=LATER).walk()
    write(tmp_path, {"new/newer/b.py": "b"})
    assert walker(tmp_path, after_ns=LATER).refresh(known).changed == ["new/newer/b.py"]


def test_a_refresh_sees_an_edit_a_deletion_and_a_renaming(tmp_path: Path) -> None:
    write(tmp_path, {"edited.py": "a", "deleted.py": "b", "old.py": "c", "same.py": "d"})
    known = walker(tmp_path, after_ns=LATER).walk()
    write(tmp_path, {"edited.py": "aa"})
    (tmp_path / "deleted.py").unlink()
    (tmp_path / "old.py").rename(tmp_path / "new.py")
    found = walker(tmp_path, after_ns=LATER).refresh(known)
    assert (sorted(found.changed), sorted(found.deleted)) == (["edited.py", "new.py"], ["deleted.py", "old.py"])


def test_a_refresh_sees_an_edit_of_equal_size_whose_time_was_set_back(tmp_path: Path) -> None:
    write(tmp_path, {"a.py": "abc"})
    before = (tmp_path / "a.py").stat()
    known = walker(tmp_path, after_ns=LATER).walk()
    write(tmp_path, {"a.py": "xyz"})
    os.utime(tmp_path / "a.py", ns=(before.st_atime_ns, before.st_mtime_ns))
    assert walker(tmp_path, after_ns=LATER).refresh(known).changed == ["a.py"]


def test_a_refresh_sees_a_file_that_became_a_link(tmp_path: Path) -> None:
    write(tmp_path, {"a.py": "a", "b.py": "b"})
    known = walker(tmp_path, after_ns=LATER).walk()
    (tmp_path / "b.py").unlink()
    (tmp_path / "b.py").symlink_to("a.py")
    found = walker(tmp_path, after_ns=LATER).refresh(known)
    assert (list(found.files), found.deleted) == (["a.py"], ["b.py"])


def test_a_refresh_sees_a_file_that_grew_beyond_the_limit(tmp_path: Path) -> None:
    write(tmp_path, {"a.py": "a"})
    known = walker(tmp_path, limit=100, after_ns=LATER).walk()
    write(tmp_path, {"a.py": "a" * 101})
    found = walker(tmp_path, limit=100, after_ns=LATER).refresh(known)
    assert found.deleted == ["a.py"]
    assert reasons(found) == {"a.py": "larger than 100 bytes"}


@pytest.mark.parametrize("rules", [".gitignore", ".whenceignore", "lib/.gitignore"])
def test_a_refresh_sees_that_a_rule_file_changed(tmp_path: Path, rules: str) -> None:
    write(tmp_path, {"lib/a.py": "a", "lib/b.py": "b", rules: "b.py\n"})
    known = walker(tmp_path, after_ns=LATER).walk()
    assert list(known.files) == ["lib/a.py"]
    write(tmp_path, {rules: "a.py\n"})
    found = walker(tmp_path, after_ns=LATER).refresh(known)
    assert (found.changed, found.deleted) == (["lib/b.py"], ["lib/a.py"])


def test_a_refresh_sees_that_git_got_private_rules(tmp_path: Path) -> None:
    write(tmp_path, {".git/HEAD": "ref: refs/heads/main\n", "a.py": "a", "b.py": "b"})
    known = walker(tmp_path, after_ns=LATER).walk()
    write(tmp_path, {".git/info/exclude": "b.py\n"})
    assert walker(tmp_path, after_ns=LATER).refresh(known).deleted == ["b.py"]


# What git tracks.
@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = write(
        tmp_path / "repository",
        {
            ".gitignore": "made/\n*.gen.py\n",
            ".tools/check.py": "x = 1\n",
            "src/bin/main.rs": "fn main() {}\n",
            "build/rules.py": "def rule():\n    pass\n",
            "made/kept.py": "x = 1\n",
            "one.gen.py": "x = 1\n",
            "own/plan.py": "x = 1\n",
            "lib/a.min.js": "x = 1\n",
        },
    )
    git("init", "-q", cwd=root)
    git("add", "-f", ".", cwd=root)
    untracked = ("build/output.py", "made/fresh.py", "two.gen.py", "src/bin/deep/new.rs", ".tools/own.py", "dist/d.py", ".env")
    return write(root, dict.fromkeys(untracked, "x = 2\n"))


TRACKED = [".gitignore", ".tools/check.py", "build/rules.py", "made/kept.py", "one.gen.py", "own/plan.py", "src/bin/main.rs"]


def test_what_git_tracks_is_in_whatever_its_folder_is_called_or_a_rule_says(repository: Path) -> None:
    tree = walked(repository)
    assert sorted(tree.files) == TRACKED
    assert reasons(tree) == {
        ".env": "hidden",
        ".git/": "a folder that never holds source",
        ".tools/own.py": "in an excluded folder, and not tracked by git",
        "build/output.py": "in an excluded folder, and not tracked by git",
        "dist/": "a folder that never holds source",
        "lib/a.min.js": "generated or minified (by its name)",
        "made/fresh.py": "ignored by .gitignore",
        "src/bin/deep/": "in an excluded folder, and not tracked by git",
        "two.gen.py": "ignored by .gitignore",
    }


def test_our_own_rules_exclude_what_git_tracks(repository: Path) -> None:
    write(repository, {".whenceignore": "own/\nbuild/\nmain.rs\n.*\n"})
    assert sorted(walked(repository).files) == ["made/kept.py", "one.gen.py"]


def test_our_own_rules_take_back_a_folder_with_all_that_is_in_it(repository: Path) -> None:
    write(repository, {".whenceignore": "!build/\n"})
    assert "build/output.py" in walked(repository).files


def test_a_root_below_the_top_of_a_repository_has_its_tracked_files(repository: Path) -> None:
    assert sorted(walked(repository / "src").files) == ["bin/main.rs"]


@pytest.mark.parametrize("arguments", [("update-index", "--split-index"), ()])
def test_where_git_cannot_tell_names_of_folders_decide(repository: Path, arguments: tuple[str, ...]) -> None:
    if arguments:
        git(*arguments, cwd=repository)
    else:
        shutil.rmtree(repository / ".git")
    assert sorted(walked(repository).files) == ["own/plan.py"]


REFRESHED: dict[str, tuple[tuple[str, ...], list[str], list[str]]] = {
    "another file of a folder that is left out": (("add", "-f", "made/fresh.py"), ["made/fresh.py"], []),
    "the first file of a folder that is left out": (("add", "-f", "dist/d.py"), ["dist/d.py"], []),
    "a hidden file": (("add", "-f", ".env"), [".env"], []),
    "a file that is no longer tracked": (("rm", "-q", "--cached", "build/rules.py"), [], ["build/rules.py"]),
    "a file that would be in anyway": (("rm", "-q", "--cached", "own/plan.py"), [], []),
    "an index that says the same": (("update-index", "--index-version", "4"), [], []),
}


@pytest.mark.parametrize("case", REFRESHED)
def test_a_refresh_sees_what_git_tracks_now(repository: Path, case: str) -> None:
    arguments, changed, deleted = REFRESHED[case]
    known = walker(repository, after_ns=LATER).walk()
    git(*arguments, cwd=repository)
    assert walker(repository).tracking_changed(known) == bool(changed or deleted)
    tree = walker(repository, after_ns=2 * LATER).refresh(known)
    assert (tree.changed, tree.deleted) == (changed, deleted)
    assert sorted(tree.files) == sorted(walked(repository).files)
    again = walker(repository, after_ns=2 * LATER)
    assert not again.tracking_changed(tree)
    assert "_tracked" not in vars(again)  # its state was enough


def test_a_refresh_of_a_folder_that_is_left_out_takes_only_what_git_tracks(repository: Path) -> None:
    known = walker(repository, after_ns=LATER).walk()
    write(repository, {"build/more.py": "x = 3\n", "made/inner/m.py": "x = 3\n", ".tools/more.py": "x = 3\n"})
    tree = walker(repository, after_ns=2 * LATER).refresh(known)
    assert sorted(tree.files) == TRACKED
    assert reasons(tree) == reasons(walked(repository))


def test_a_refresh_sees_that_a_folder_became_a_repository(tmp_path: Path) -> None:
    write(tmp_path, {"build/rules.py": "x = 1\n", "a.py": "x = 1\n"})
    known = walker(tmp_path, after_ns=LATER).walk()
    git("init", "-q", cwd=tmp_path)
    git("add", ".", cwd=tmp_path)
    assert walker(tmp_path, after_ns=2 * LATER).refresh(known).changed == ["build/rules.py"]


def test_a_tree_walked_by_an_older_version_is_walked_again(repository: Path) -> None:
    known = walker(repository, after_ns=LATER).walk()
    del known.rules[GIT_INDEX]
    known.skipped.append(Skipped("src/bin/", "a folder that never holds source"))
    assert walker(repository, after_ns=LATER).tracking_changed(known)


def test_every_source_file_of_this_repository_that_git_tracks_is_walked() -> None:
    top = git_repository.repository_root(Path(__file__).resolve())
    tracked = git_repository.tracked_files(top) if top is not None else None
    if top is None or tracked is None:
        pytest.skip("the tests lie in no git repository")
    tree = walked(top, limit=1_500_000)
    missing = [path for path in tracked.files - tree.files.keys() if (top / path).is_file() and language_of(path).content == CODE]
    assert [path for path in missing if "minified" not in reasons(tree).get(path, "") and (top / path).stat().st_size <= 1_500_000] == []

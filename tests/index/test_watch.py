"""Following a tree: what the indexer would see changed is said at once, and nothing else is."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hindrances import environment
from sample_trees import git, write
from whence.app.index import Index
from whence.index.watch import TreeWatcher, shared_file_system

noted_by_the_kernel = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a tree is looked through")
MOST_LOOKS = 10
OF_GIT = len([".git", ".git/info", ".git/refs", ".git/refs/heads"])


class Tree:
    """A small repository with its index and what follows it."""

    def __init__(self, root: Path, **settings: object) -> None:
        self.root = root
        files = {".gitignore": "*.log\n/made/\n", "app.py": "def app(): pass\n", "lib/deep/b.py": "b = 1\n", "lib/c.py": "c = 1\n"}
        write(root, {**files, "made/out.py": "o", "lib/large.py": "#" * 5_000})
        git("init", "-q", ".", cwd=root)
        git("add", ".", cwd=root)
        git("commit", "-qm", "first", cwd=root)
        write(root, {"node_modules/one/two/i.js": "i"})
        self.index = Index.open(root, settings={"index.model": "none", "index.max_file_bytes": 2_000, **settings})
        self.follower = TreeWatcher(self.index.writer)

    def settle(self) -> Tree:
        """Look until nothing is left to be looked at."""
        for _ in range(MOST_LOOKS):
            if not self.follower.has_changed():
                return self
            self.index.refresh()
        raise AssertionError("it never settles")

    def watched(self) -> int:
        """How many folders the kernel watches for it."""
        return Path(f"/proc/self/fdinfo/{self.follower.handle}").read_text(encoding="ascii").count("inotify wd")


@pytest.fixture
def tree(tmp_path: Path) -> Iterator[Tree]:
    tree = Tree(tmp_path / "shop").settle()
    yield tree
    tree.follower.close()
    tree.index.close()


def move_in(root: Path) -> None:
    write(root.parent / "elsewhere", {"kit/k.py": "k", "kit/deep/l.py": "l"})
    (root.parent / "elsewhere/kit").rename(root / "kit")


def another_of_its_name(root: Path) -> None:
    (root / "lib").rename(root / "library")
    write(root, {"lib/new.py": "new"})


CHANGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "edited": (lambda root: write(root, {"app.py": "def other(): pass\n"}), ""),
    "edited, of equal size": (lambda root: write(root, {"app.py": "def every(): pass\n"}), ""),
    "created": (lambda root: write(root, {"lib/new.py": "n"}), "+lib/new.py"),
    "renamed": (lambda root: (root / "lib/new.py").rename(root / "lib/newer.py"), "-lib/new.py +lib/newer.py"),
    "saved by renaming": (lambda root: write(root, {"lib/.c~": "c = 3"}) and (root / "lib/.c~").rename(root / "lib/c.py"), ""),
    "deleted": (lambda root: (root / "lib/newer.py").unlink(), "-lib/newer.py"),
    "small enough now": (lambda root: write(root, {"lib/large.py": "#"}), "+lib/large.py"),
    "new folders": (lambda root: write(root, {"one/two/t.py": "t"}), "+one/two/t.py"),
    "created in a new folder": (lambda root: write(root, {"one/two/u.py": "u"}), "+one/two/u.py"),
    "folder moved in": (move_in, "+kit/deep/l.py +kit/k.py"),
    "edited in a folder moved in": (lambda root: write(root, {"kit/deep/l.py": "lll"}), ""),
    "folder renamed": (lambda root: (root / "kit").rename(root / "tools"), "-kit/deep/l.py -kit/k.py +tools/deep/l.py +tools/k.py"),
    "edited in a renamed folder": (lambda root: write(root, {"tools/deep/l.py": "l"}), ""),
    "folder deleted": (lambda root: shutil.rmtree(root / "tools"), "-tools/deep/l.py -tools/k.py"),
    "folder in place of another": (
        another_of_its_name,
        "-lib/c.py -lib/deep/b.py -lib/large.py +lib/new.py +library/c.py +library/deep/b.py +library/large.py",
    ),
    "created in a folder in place of another": (lambda root: write(root, {"lib/newer.py": "n"}), "+lib/newer.py"),
    "rules changed": (lambda root: write(root, {".gitignore": "*.log\n/one/\n"}), "+made/out.py -one/two/t.py -one/two/u.py"),
    "rules in a folder": (lambda root: write(root, {"lib/.whenceignore": "newer.py\n"}), "-lib/newer.py"),
    "edited where rules let it in": (lambda root: write(root, {"made/out.py": "oo"}), ""),
    "git's private rules": (lambda root: write(root, {".git/info/exclude": "made/\n"}), "-made/out.py"),
    "git tracks a file of a folder that is left out": (lambda root: git("add", "node_modules/one", cwd=root), "+node_modules/one/two/i.js"),
    "edited in a folder that is left out": (lambda root: write(root, {"node_modules/one/two/i.js": "ii"}), ""),
    "git tracks it no more": (lambda root: git("rm", "-rqf", "--cached", "node_modules", cwd=root), "-node_modules/one/two/i.js"),
    "a name that is no Unicode": (lambda root: (root / os.fsdecode(b"\xff.py")).write_text("f"), "+" + os.fsdecode(b"\xff.py")),
}


@noted_by_the_kernel
def test_every_change_that_the_indexer_would_see_is_said_at_once_and_once(tree):
    for name, (change, expected) in CHANGES.items():
        before = set(tree.index.tree.files)
        change(tree.root)
        assert tree.follower.has_changed(), name
        tree.index.refresh()
        tree.settle()
        assert tree.watched() == len(tree.index.tree.folders) + OF_GIT, name
        after = set(tree.index.tree.files)
        assert sorted(f"-{path}" for path in before - after) + sorted(f"+{path}" for path in after - before) == sorted(
            expected.split(), key=lambda one: (one[0] == "+", one)
        ), name


@noted_by_the_kernel
def test_what_the_indexer_leaves_out_is_not_said_and_costs_no_watch(tree):
    watched = tree.watched()
    left_out = {
        "made/more.py": "m",
        "node_modules/three/four/f.js": "f",
        "lib/deep/run.log": "r",
        "lib/.b.py.swp": "s",
        "lib/large.py": "#" * 6_000,
        ".venv/lib/v.py": "v",
        "lib/__pycache__/b.pyc": "c",
    }
    write(tree.root, left_out)
    (tree.root / "lib/link.py").symlink_to("c.py")
    write(tree.root, {"lib/4913": "written by an editor to see whether it may"})
    (tree.root / "lib/4913").unlink()
    (tree.root / "app.py").read_bytes()
    git("status", cwd=tree.root)
    assert not tree.follower.has_changed()
    assert tree.watched() == watched == len(tree.index.tree.folders) + OF_GIT


@noted_by_the_kernel
def test_in_a_folder_walked_for_what_git_tracks_the_rest_is_not_said(tree):
    git("add", "node_modules/one", cwd=tree.root)
    assert tree.follower.has_changed()
    tree.index.refresh()
    tree.settle()
    write(tree.root, {"node_modules/one/two/j.js": "j", "node_modules/three/t.js": "t", "lib/new.py": "n"})
    assert tree.follower.has_changed()
    tree.index.refresh()
    tree.settle()
    write(tree.root, {"node_modules/one/two/j.js": "jj", "node_modules/one/k.js": "k"})
    assert not tree.follower.has_changed()
    git("add", "lib/new.py", cwd=tree.root)
    assert not tree.follower.has_changed(), "it was in anyway"
    assert tree.watched() == len(tree.index.tree.folders) + OF_GIT


@noted_by_the_kernel
def test_another_commit_or_branch_is_said(tree, tmp_path):
    def said(*arguments: str, cwd: Path = tree.root) -> bool:
        git(*arguments, cwd=cwd)
        changed = tree.follower.has_changed()
        tree.index.refresh()
        tree.settle()
        return changed

    assert said("commit", "-q", "--allow-empty", "-m", "second")
    assert said("checkout", "-qb", "topic/one"), "another branch of the same commit"
    assert said("commit", "-q", "--allow-empty", "-m", "third"), "in a folder of refs that was not there at first"
    git("pack-refs", "--all", cwd=tree.root)
    tree.settle()
    assert said("commit", "-q", "--allow-empty", "-m", "fourth"), "where git had packed all refs"
    assert said("checkout", "-q", "--detach", "HEAD~1")
    assert not said("branch", "unrelated")
    assert tree.index.freshness.commit == git("rev-parse", "HEAD", cwd=tree.root)
    git("worktree", "add", "-q", str(tmp_path / "beside"), "-b", "beside", cwd=tree.root)
    with Index.open(tmp_path / "beside", settings={"index.model": "none"}) as index, TreeWatcher(index.writer) as follower:
        assert follower.has_changed()
        index.refresh()
        assert not follower.has_changed()
        git("commit", "-q", "--allow-empty", "-m", "fifth", cwd=tmp_path / "beside")
        assert follower.has_changed()


@noted_by_the_kernel
def test_what_changes_while_it_is_looked_at_is_said_afterwards(tree):
    write(tree.root, {"fresh/a.py": "a"})
    assert tree.follower.has_changed()
    tree.index.refresh()
    write(tree.root, {"fresh/b.py": "b"})  # the folder was walked, and is not watched yet
    assert tree.follower.has_changed()
    tree.index.refresh()
    assert "fresh/b.py" in tree.index.tree.files
    write(tree.root, {"fresh/b.py": "changed after it was read"})
    assert tree.follower.has_changed()


@noted_by_the_kernel
def test_when_it_cannot_know_it_says_changed(tree, tmp_path):
    fresh = TreeWatcher(tree.index)
    assert fresh.has_changed(), "the first time"
    fresh.mark_changed()
    assert fresh.has_changed(), "what was said could not be taken in"
    assert not fresh.has_changed()
    write(tree.root, {"0.log": "left out", "1.log": "left out"})
    most = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text(encoding="ascii"))
    if most <= 50_000:
        for count in range(most + 10):
            os.utime(tree.root / f"{count % 2}.log")
        write(tree.root, {"app.py": "more was noted before than the kernel keeps"})
        assert fresh.has_changed()
        tree.index.refresh()
        assert not fresh.has_changed()
        write(tree.root, {"lib/deep/b.py": "after that"})
        assert fresh.has_changed()
    shutil.copytree(tree.root, tmp_path / "copy/shop")
    tree.index.refresh()
    tree.root.rename(tmp_path / "moved")
    (tmp_path / "copy/shop").rename(tree.root)
    assert fresh.has_changed(), "another folder is in its place"
    tree.index.refresh()
    write(tree.root, {"lib/deep/b.py": "after that, too"})
    assert fresh.has_changed()
    shutil.rmtree(tree.root)
    assert fresh.has_changed(), "everything is gone"
    fresh.close()
    assert fresh.has_changed(), "closed and asked again"
    fresh.close()


def open_handles() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


@noted_by_the_kernel
def test_it_needs_one_handle_no_thread_and_microseconds(tree):
    handles, threads = open_handles(), threading.active_count()
    with TreeWatcher(tree.index) as another:
        assert open_handles() == handles + 1
        assert threading.active_count() == threads
        another.has_changed()
        began = time.process_time()
        assert not any(another.has_changed() for _ in range(1_000))
        assert (time.process_time() - began) / 1_000 < 0.000_1
    assert open_handles() == handles


def test_a_tree_with_too_many_folders_is_not_watched_at_all(tmp_path):
    tree = Tree(tmp_path / "shop", **{"watch.max_folders": 3})
    assert all(tree.follower.has_changed() for _ in range(3))
    assert (tree.follower.handle, tree.follower.folder_count) == (None, 0)
    if sys.platform == "linux":
        assert tree.follower.polling_reason == "it has 7 folders to watch, and watch.max_folders is 3"


@noted_by_the_kernel
def test_a_tree_that_grows_beyond_the_limit_is_not_watched_any_more(tmp_path):
    tree = Tree(tmp_path / "shop", **{"watch.max_folders": 10}).settle()
    assert tree.follower.folder_count == 7
    write(tree.root, {f"many/{number}/m.py": "m" for number in range(10)})
    assert tree.follower.has_changed()
    tree.index.refresh()
    assert all(tree.follower.has_changed() for _ in range(3))
    assert tree.follower.handle is None


@noted_by_the_kernel
def test_where_the_kernel_refuses_the_tree_is_looked_through(tmp_path):
    """The limits of a user are set to little, in a namespace of its own."""
    write(tmp_path, {"lib/deep/b.py": "b"})
    program = f"""
from pathlib import Path
from whence.app.index import Index
from whence.index.watch import TreeWatcher
index = Index.open({str(tmp_path)!r}, settings={{"index.model": "none"}})
for limit, most in (("instances", 0), ("instances", 10), ("watches", 2)):
    Path("/proc/sys/user/max_inotify_" + limit).write_text(str(most))
    with TreeWatcher(index.writer) as follower:
        print(follower.has_changed(), follower.has_changed(), follower.handle is None, follower.polling_reason)
"""
    command = ["unshare", "--user", "--map-root-user", sys.executable, "-c", program]
    if not shutil.which("unshare") or subprocess.run([*command[:3], "true"], capture_output=True, check=False).returncode:
        pytest.skip("no namespace of users to be had")
    done = subprocess.run(command, capture_output=True, text=True, env=environment(), check=False, timeout=60)
    if "/proc/sys/user" in done.stderr:
        pytest.skip(f"limits cannot be set: {done.stderr.splitlines()[-1]}")
    refused = "True True True the system gives no more watches: "
    assert done.stdout.splitlines() == [f"{refused}Too many open files", "True False False ", f"{refused}No space left on device"], (
        done.stderr
    )


@noted_by_the_kernel
def test_an_index_inside_its_own_tree_does_not_keep_itself_busy(tmp_path):
    write(tmp_path, {"a.py": "a"})
    with Index.open(tmp_path, data_dir=tmp_path / "kept", settings={"index.model": "none"}) as index, TreeWatcher(index.writer) as follower:
        for _ in range(MOST_LOOKS):
            if not follower.has_changed():
                break
            index.refresh()
        assert not follower.has_changed()


def test_a_file_system_that_others_write_to_is_looked_through():
    mounts = """27 1 254:0 / / rw,relatime - ext4 /dev/vda rw
28 27 0:25 / /home/me/far rw,nosuid - nfs4 server:/ rw
29 27 0:26 / /home/me/near/a\\040b rw - fuse.sshfs other: rw"""
    assert shared_file_system("/home/me/far/shop", [""], mounts) == "nfs4"
    assert shared_file_system("/home/me/near", ["", "lib"], mounts) == ""
    assert shared_file_system("/home/me/near", ["", "a b"], mounts) == "fuse.sshfs"
    assert shared_file_system("/home/me/farther", [""], mounts) == ""
    assert shared_file_system("", [""], mounts) == ""

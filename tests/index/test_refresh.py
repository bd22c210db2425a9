"""Keeping an index true to its tree: what is read again, what is said, and that answers are those of a clean build."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from hindrances import environment, obeying_permissions
from sample_trees import git, truth, whence, write
from whence import Index
from whence.app.presenters.text import freshness_json, freshness_words
from whence.core.errors import IndexBusy, StorageError
from whence.index.layout import Layout
from whence.source.walk import RACY_NS

FILES = {
    "lib/http_client.py": "class HttpClient:\n    def retry(self, request):\n        return send(request)\n",
    "lib/parser.py": "def parse(text):\n    # parse the text of a request\n    return text.split()\n",
    "lib/store.py": "def save(record):\n    return write(record)\n\ndef load(key):\n    return read(key)\n",
    "lib/limits.py": "RETRY_LIMIT = 3\n\ndef within(limit):\n    return limit < RETRY_LIMIT\n",
    "docs/guide.md": "# Guide\n\nHow to retry a request.\n",
    "web/app.js": "function render(record) { return parse(record) }\n",
}
QUERIES = ("retry a request", "parse text", "RETRY_LIMIT", "save record", "render", "walrus")

Answers = dict[str, list[tuple[str, float]]]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return write(tmp_path / "tree", FILES)


def answers(root: Path, data_dir: Path | None = None) -> Answers:
    with Index.open(root, data_dir=data_dir) as index:
        return asked(index)


def asked(index: Index) -> Answers:
    return {query: [(found.path, found.score) for found in index.search(query, content="all")] for query in QUERIES}


def paths(index: Index, query: str) -> list[str]:
    return [found.path for found in index.search(query, content="all")]


def directory_of(root: Path, data_dir: Path) -> Path:
    return Layout(data_dir, root.resolve()).directory


# What changed is read, and nothing else (I3).


def test_the_first_opening_reads_every_file(tree: Path) -> None:
    with Index.open(tree) as index:
        assert index.last_refresh.read == len(FILES)
        assert index.notes == []


def test_a_new_file_is_found(tree: Path) -> None:
    Index.open(tree).close()
    write(tree, {"lib/walrus.py": "def walrus(): pass\n"})
    with Index.open(tree) as index:
        assert paths(index, "walrus") == ["lib/walrus.py"]
        assert index.last_refresh.read == 1


def test_an_edited_file_is_found_by_its_new_words_and_no_longer_by_its_old(tree: Path) -> None:
    Index.open(tree).close()
    write(tree, {"web/app.js": "function walrus() {}\n"})
    with Index.open(tree) as index:
        assert paths(index, "walrus") == ["web/app.js"]
        assert paths(index, "render") == []
        assert index.last_refresh.read == 1


def test_a_deleted_file_is_no_longer_found(tree: Path) -> None:
    Index.open(tree).close()
    (tree / "web/app.js").unlink()
    with Index.open(tree) as index:
        assert paths(index, "render") == []
        assert (index.last_refresh.read, index.last_refresh.deleted) == (0, 1)


def test_a_renamed_file_is_found_under_its_new_name(tree: Path) -> None:
    Index.open(tree).close()
    (tree / "web/app.js").rename(tree / "web/view.js")
    with Index.open(tree) as index:
        assert paths(index, "render") == ["web/view.js"]


def test_a_renamed_folder_takes_its_files_along(tree: Path) -> None:
    Index.open(tree).close()
    (tree / "lib").rename(tree / "core")
    with Index.open(tree) as index:
        assert paths(index, "save record")[0] == "core/store.py"
        assert not [path for path in paths(index, "retry a request") if path.startswith("lib/")]


def test_a_file_that_became_a_folder_and_back_is_followed(tree: Path) -> None:
    Index.open(tree).close()
    (tree / "web/app.js").unlink()
    write(tree, {"web/app.js/inner.js": "function walrus() {}\n"})
    with Index.open(tree) as index:
        assert (paths(index, "render"), paths(index, "walrus")) == ([], ["web/app.js/inner.js"])
    (tree / "web/app.js/inner.js").unlink()
    (tree / "web/app.js").rmdir()
    write(tree, FILES)
    with Index.open(tree) as index:
        assert (paths(index, "render"), paths(index, "walrus")) == (["web/app.js"], [])


def test_an_edit_of_equal_size_in_the_same_second_is_seen(tree: Path) -> None:
    Index.open(tree).close()
    path = tree / "web/app.js"
    before = path.stat()
    path.write_text(path.read_text().replace("render", "walrus"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert path.stat().st_size == before.st_size
    with Index.open(tree) as index:
        assert paths(index, "walrus") == ["web/app.js"]


def test_a_new_time_stamp_alone_makes_nothing_be_read(tree: Path) -> None:
    time.sleep(1.1 * RACY_NS / 1e9)  # a stamp is trusted only when it was some time old when it was read
    Index.open(tree).close()
    os.utime(tree / "lib/store.py")
    with Index.open(tree) as index:
        assert (index.last_refresh.read, index.last_refresh.touched) == (0, 1)
    with Index.open(tree) as index:
        assert (index.last_refresh.read, index.last_refresh.touched) == (0, 1)  # the new stamp is young now
        assert index.notes == []


def test_an_open_index_takes_in_changes_when_asked_to(tree: Path) -> None:
    with Index.open(tree) as index:
        write(tree, {"lib/walrus.py": "def walrus(): pass\n"})
        assert paths(index, "walrus") == []
        assert index.refresh().read == 1
        assert paths(index, "walrus") == ["lib/walrus.py"]


def test_without_a_refresh_the_index_answers_as_it_was_and_says_how_far_behind_it_is(tree: Path) -> None:
    Index.open(tree).close()
    write(tree, {"lib/walrus.py": "def walrus(): pass\n"})
    (tree / "web/app.js").unlink()
    with Index.open(tree, refresh=False) as index:
        assert paths(index, "render") == ["web/app.js"]
        assert index.freshness.changed >= 2
        assert not index.freshness.fresh


def test_uncommitted_files_are_counted_as_git_would(tmp_path: Path) -> None:
    root = write(
        tmp_path / "repository", {f"part_{n}.py": f"def part_{n}(): pass\n" for n in range(6)} | {"crlf.py": b"a = 1\r\nb = 2\r\n"}
    )
    for command in (("init", "-b", "main"), ("config", "core.autocrlf", "input"), ("add", "."), ("commit", "-m", "first")):
        git(*command, cwd=root)

    def counts() -> tuple[int, int]:
        with Index.open(root) as index:
            return index.freshness.edited, index.freshness.new

    assert counts() == (0, 0)
    write(root, {"part_0.py": "def changed(): pass\n", "part_1.py": "def staged(): pass\n", "new.py": "def new(): pass\n"})
    (root / "part_2.py").unlink()
    git("add", "part_1.py", cwd=root)
    assert counts() == (3, 1)
    git("add", "new.py", cwd=root)
    git("commit", "-m", "second", cwd=root)  # part_1 and new
    assert counts() == (2, 0)
    git("checkout", ".", cwd=root)
    assert counts() == (0, 0)
    write(root, {"part_3.py": "def changed(): pass\n"})
    git("commit", "-am", "third", cwd=root)
    assert counts() == (0, 0)
    with Index.open(root, data_dir=tmp_path / "other") as index:  # one that never saw the file as it is in the commit
        assert (index.freshness.edited, index.freshness.new) == (0, 0)
    write(root, {"part_4.py": "def changed(): pass\n"})
    assert whence("index", "--force", cwd=root).returncode == 0
    assert counts() == (1, 0)
    git("checkout", ".", cwd=root)
    assert counts() == (0, 0)


def test_a_first_build_that_was_cut_off_has_no_time(tree: Path) -> None:
    with Index.open(tree) as index:
        with index.store.transaction():
            index.store.delete_meta("indexed_at")
        assert "first build not finished" in freshness_words(index.freshness, time.time())
        assert freshness_json(index.freshness)["indexed_at"] is None


def test_the_commit_of_an_answer_follows_git(tree: Path) -> None:
    git("init", cwd=tree)
    git("add", ".", cwd=tree)
    git("commit", "-m", "first", cwd=tree)
    with Index.open(tree) as index:
        assert index.freshness.commit == git("rev-parse", "HEAD", cwd=tree)
    git("commit", "--allow-empty", "-m", "second", cwd=tree)
    with Index.open(tree) as index:
        assert index.freshness.commit == git("rev-parse", "HEAD", cwd=tree)
        assert index.last_refresh.read == 0


# However it came to be, an index answers like one built afresh.


def edit_one(root: Path) -> None:
    write(root, {"lib/parser.py": "def parse(text, walrus):\n    return retry(text)\n"})


def edit_all(root: Path) -> None:
    write(root, {name: text.replace("request", "walrus") for name, text in FILES.items()})


def add_many(root: Path) -> None:
    write(root, {f"more/part_{number}.py": f"def retry_{number}(request):\n    return walrus({number})\n" for number in range(30)})


def delete_half(root: Path) -> None:
    for name in list(FILES)[::2]:
        (root / name).unlink()


def delete_all(root: Path) -> None:
    for name in FILES:
        (root / name).unlink()


def move(root: Path) -> None:
    (root / "lib").rename(root / "retry")


def ignore(root: Path) -> None:
    write(root, {".gitignore": "lib/parser.py\n*.js\n"})


EDITS = [edit_one, edit_all, add_many, delete_half, delete_all, move, ignore]


@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: edit.__name__)
def test_after_an_edit_the_answers_are_those_of_a_clean_build(tree: Path, tmp_path: Path, edit: Callable[[Path], None]) -> None:
    Index.open(tree).close()
    edit(tree)
    assert answers(tree) == answers(tree, tmp_path / "clean")


def test_after_many_edits_one_after_the_other_the_answers_are_those_of_a_clean_build(tree: Path, tmp_path: Path) -> None:
    for edit in (edit_one, add_many, edit_all, ignore, move, delete_half):
        write(tree, {"lib/again.py": f"def again(): return {edit.__name__!r}\n"})
        if edit is delete_half:
            write(tree, FILES)
        edit(tree)
        Index.open(tree).close()
    assert answers(tree) == answers(tree, tmp_path / "clean")


def test_a_clean_build_tells_one_tree_from_another(tree: Path, tmp_path: Path) -> None:
    before = answers(tree)
    edit_one(tree)
    assert answers(tree, tmp_path / "clean") != before


# Where it is kept (I6).


def test_the_index_is_in_the_data_directory_and_nothing_is_written_to_the_tree(tree: Path, own_data_dir: Path) -> None:
    before = sorted(tree.rglob("*"))
    Index.open(tree).close()
    assert sorted(tree.rglob("*")) == before
    assert (directory_of(tree, own_data_dir) / "truth.db").is_file()


def test_two_roots_of_one_name_have_two_indexes(tmp_path: Path) -> None:
    one = write(tmp_path / "a/app", {"x.py": "def walrus(): pass\n"})
    other = write(tmp_path / "b/app", {"y.py": "def zebra(): pass\n"})
    Index.open(one).close()
    with Index.open(other) as index:
        assert (paths(index, "walrus"), paths(index, "zebra")) == ([], ["y.py"])


def test_a_root_with_a_name_that_is_not_utf_8_is_indexed(tmp_path: Path) -> None:
    root = write(tmp_path / os.fsdecode(b"caf\xe9"), {"x.py": "def walrus(): pass\n"})
    with Index.open(root) as index:
        assert paths(index, "walrus") == ["x.py"]


def test_a_read_only_tree_is_indexed(tree: Path) -> None:
    for path in [*tree.rglob("*"), tree]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    done = strictly("search", "render", cwd=tree)
    assert (done.returncode, done.stderr) == (0, "")
    assert "web/app.js" in done.stdout


def strictly(*arguments: str, cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run the command as a user for whom permissions hold, root or not."""
    return subprocess.run(
        [sys.executable, "-m", "whence", *arguments],
        cwd=cwd,
        env=environment(**variables),
        preexec_fn=obeying_permissions(),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def read_only(directory: Path) -> None:
    for path in [*directory.rglob("*"), directory]:
        path.chmod(0o555 if path.is_dir() else 0o444)


def test_a_read_only_data_directory_with_an_index_still_answers(tree: Path, own_data_dir: Path) -> None:
    assert whence("index", cwd=tree).returncode == 0
    read_only(own_data_dir)
    done = strictly("search", "render", cwd=tree)
    assert done.returncode == 0, done.stderr
    assert "web/app.js" in done.stdout


def test_a_read_only_data_directory_answers_from_before_an_edit_and_says_so(tree: Path, own_data_dir: Path) -> None:
    assert whence("index", cwd=tree).returncode == 0
    read_only(own_data_dir)
    write(tree, {"web/view.js": "function walrus() {}\n"})
    done = strictly("search", "render", cwd=tree)
    assert done.returncode == 0, done.stderr
    assert "web/app.js" in done.stdout
    assert "cannot be written" in done.stderr


def test_a_read_only_data_directory_without_an_index_gives_one_line(tree: Path, own_data_dir: Path) -> None:
    read_only(own_data_dir)
    done = strictly("search", "render", cwd=tree)
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1
    assert "WHENCE_DATA_DIR" in done.stderr


def test_a_file_in_place_of_the_data_directory_gives_one_line(tree: Path, tmp_path: Path) -> None:
    """Needs no permission to hinder: holds for root too."""
    (tmp_path / "file").write_text("x")
    done = whence("search", "render", cwd=tree, WHENCE_DATA_DIR=str(tmp_path / "file"))
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1
    assert "WHENCE_DATA_DIR" in done.stderr


# An index that does not fit any more, or is damaged, is built again, and that is said (I4).


def change_format(directory: Path) -> None:
    with truth(directory / "truth.db") as database:
        database.execute("UPDATE meta SET value = 'older' WHERE key = 'format'")
    database.close()


def flip_bit(directory: Path) -> None:
    path = segment(directory)
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 2] ^= 1
    path.write_bytes(raw)


def truncate_segment(directory: Path) -> None:
    path = segment(directory)
    path.write_bytes(path.read_bytes()[:-100])


def empty_segment(directory: Path) -> None:
    segment(directory).write_bytes(b"")


def delete_segment(directory: Path) -> None:
    segment(directory).unlink()


def delete_shared(directory: Path) -> None:
    next(directory.glob("segments/*.shared")).unlink()


def delete_segments(directory: Path) -> None:
    for path in directory.glob("segments/*"):
        path.unlink()
    (directory / "segments").rmdir()


def delete_database(directory: Path) -> None:
    for path in directory.glob("truth.db*"):
        path.unlink()


def garble_database(directory: Path) -> None:
    (directory / "truth.db").write_bytes(b"no database at all\n" * 1000)


def empty_database(directory: Path) -> None:
    (directory / "truth.db").write_bytes(b"")


def garble_a_page(directory: Path) -> None:
    raw = bytearray((directory / "truth.db").read_bytes())
    raw[4096:] = b"\xff" * (len(raw) - 4096)
    (directory / "truth.db").write_bytes(raw)


def drop_a_table(directory: Path) -> None:
    with truth(directory / "truth.db") as database:
        database.execute("DROP TABLE files")
    database.close()


def segment(directory: Path) -> Path:
    return next(directory.glob("segments/*.segment"))


DAMAGES = [
    change_format, flip_bit, truncate_segment, empty_segment, delete_segment, delete_shared, delete_segments, delete_database,
    garble_database, empty_database, garble_a_page, drop_a_table,
]  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_a_damaged_index_is_rebuilt_says_so_and_answers_as_before(tree: Path, own_data_dir: Path, damage: Callable[[Path], None]) -> None:
    before = answers(tree)
    damage(directory_of(tree, own_data_dir))
    with Index.open(tree) as index:
        assert [note for note in index.notes if "rebuilt" in note], index.notes
        assert asked(index) == before
    with Index.open(tree) as index:
        assert index.notes == []
        assert asked(index) == before


def test_changed_index_settings_rebuild_the_index_and_say_so(tree: Path) -> None:
    write(tree, {".hidden.py": "def walrus(): pass\n"})
    Index.open(tree).close()
    with Index.open(tree, settings={"index.hidden": True}) as index:
        assert index.notes == ["the index was built with other index settings; rebuilt"]
        assert index.last_refresh.read == len(FILES) + 1
        assert paths(index, "walrus") == [".hidden.py"]


def test_settings_that_do_not_shape_the_index_leave_it_alone(tree: Path) -> None:
    Index.open(tree).close()
    with Index.open(tree, settings={"index.workers": 1, "search.k": 3}) as index:
        assert (index.last_refresh.read, index.notes) == (0, [])


def test_without_a_refresh_an_index_that_does_not_fit_is_refused_with_a_hint(tree: Path, own_data_dir: Path) -> None:
    Index.open(tree).close()
    change_format(directory_of(tree, own_data_dir))
    with pytest.raises(StorageError, match="another version of whence"):
        Index.open(tree, refresh=False)


# What cannot be indexed is counted and listed, and stops nothing (I7).


def test_one_bad_file_never_stops_an_index_run(tree: Path) -> None:
    write(
        tree,
        {
            "latin.py": "def größe_walrus(): pass\n".encode("latin-1"),
            "wrong.py": b"def walrus_wrong(): return '\xff\xfe\xfd'\n",
            "binary.py": b"\x7fELF\0\0\0walrus",
            "late_nul.py": b"x = 1\n" * 2000 + b"# \0 " * 3000 + b"\ndef walrus_late(): pass\n",
            "empty.py": b"",
            "deep.json": b"[" * 10_000,
            "long.js": b"var walrus = '" + b"x" * 50_000 + b"';\n",
            os.fsdecode(b"caf\xe9_walrus.py"): b"def walrus_name(): pass\n",
            "two\nlines.py": b"def walrus_lines(): pass\n",
            "***/stars.py": b"def walrus_stars(): pass\n",
        },
    )
    with Index.open(tree) as index:
        found = set(index_paths := paths(index, "walrus"))
        assert len(found) == len(index_paths)
        assert {"latin.py", "wrong.py", os.fsdecode(b"caf\xe9_walrus.py"), "two\nlines.py", "***/stars.py"} <= found
        assert not found & {"binary.py", "long.js"}
        left_out = {one.path: one.reason for one in index.store.skipped_files()}
        assert set(left_out) >= {"binary.py", "empty.py", "long.js"}
        assert paths(index, "save record")[0] == "lib/store.py"


def test_a_file_that_cannot_be_read_is_listed_and_the_rest_is_indexed(tree: Path) -> None:
    (tree / "lib/store.py").chmod(0)
    (tree / "web").chmod(0)
    done = strictly("search", "retry", cwd=tree)
    assert (done.returncode, done.stderr) == (0, "")
    assert "lib/http_client.py" in done.stdout
    status = strictly("status", cwd=tree)
    assert "Permission denied" in status.stdout
    (tree / "web").chmod(0o755)


def test_a_file_that_can_be_read_again_is_indexed(tree: Path) -> None:
    (tree / "lib/store.py").chmod(0)
    assert strictly("search", "save", cwd=tree).returncode == 1
    (tree / "lib/store.py").chmod(0o644)
    assert "lib/store.py" in strictly("search", "save", cwd=tree).stdout


# One writer at a time (Z6).

HOLD = """
import sys, time
from pathlib import Path
from whence.index.layout import Layout
with Layout(Path(sys.argv[1]), Path(sys.argv[2])).write_lock(0):
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def holder(tree: Path, own_data_dir: Path) -> Callable[[], subprocess.Popen[str]]:
    def start() -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", HOLD, str(own_data_dir), str(tree.resolve())], env=environment(), stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        return process

    return start


def test_a_lock_held_by_a_live_process_is_refused_by_its_number(tree: Path, holder: Callable[[], subprocess.Popen[str]]) -> None:
    with holder() as process:
        try:
            with pytest.raises(IndexBusy, match=f"process {process.pid}"):
                Index.open(tree, settings={"index.lock_wait": 0})
        finally:
            process.kill()
    with Index.open(tree, settings={"index.lock_wait": 0}) as index:
        assert index.last_refresh.read == len(FILES)


def test_an_index_that_is_being_written_still_answers_and_says_who_writes(tree: Path, holder: Callable[[], subprocess.Popen[str]]) -> None:
    before = answers(tree)
    write(tree, {"lib/walrus.py": "def walrus(): pass\n"})
    with holder() as process:
        try:
            with Index.open(tree, settings={"index.lock_wait": 0}) as index:
                assert asked(index) == before
                assert f"process {process.pid}" in index.freshness.note
                assert not index.freshness.fresh
        finally:
            process.kill()


def test_waiting_for_a_fresh_index_waits_for_the_one_who_writes_and_gives_up_in_time(
    tree: Path, holder: Callable[[], subprocess.Popen[str]]
) -> None:
    Index.open(tree).close()
    write(tree, {"lib/walrus.py": "def walrus(): pass\n"})
    with holder() as process:
        try:
            refused = whence("search", "walrus", "--wait-fresh", "--set", "index.fresh_wait=0.2", cwd=tree)
            assert (refused.returncode, refused.stdout) == (2, "")
            assert "is not up to date after 0.2 s" in refused.stderr
            ending = threading.Timer(0.5, process.kill)
            ending.start()
            found = whence("search", "walrus", "--wait-fresh", cwd=tree)
            assert "lib/walrus.py" in found.stdout
        finally:
            process.kill()


def test_waiting_without_a_refresh_leaves_the_work_to_another(tree: Path) -> None:
    with Index.open(tree) as index:
        write(tree, {"lib/walrus.py": "def walrus(): pass\n"})
        with pytest.raises(IndexBusy):
            index.wait_fresh(0.1, refresh=False)
        other = threading.Timer(0.2, lambda: Index.open(tree).close())
        other.start()
        index.wait_fresh(20, refresh=False)
        assert paths(index, "walrus") == ["lib/walrus.py"]
        other.join()
